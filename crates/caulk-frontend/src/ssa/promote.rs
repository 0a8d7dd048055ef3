//! Promotes locals whose address is only loaded from and stored to into SSA values.
//!
//! Phis are placed on the iterated dominance frontier of the stores, as in Cytron et al., "Efficiently Computing Static
//! Single Assignment Form and the Control Dependence Graph", and dropped where nothing reads them.
//! What the source did stays visible: a store to a promoted variable leaves a `Bind`, the end of its scope an `Unbind`.

use caulk_ir::{BlockId, Body, Constant, EntityVec, Inst, InstId, Operand, Type};
use smallvec::SmallVec;

use super::draft::Draft;
use super::frontiers::Frontiers;

pub(crate) fn run(draft: &mut Draft) {
    let types = promotable(draft);
    if types.values().all(Option::is_none) {
        return;
    }
    let locals = Locals::collect(draft, &types);
    let tree = Frontiers::new(draft);
    let phis = place_phis(draft, &locals, &tree);
    let mut replaced = rename(draft, &locals, &phis, &tree);
    remove_trivial_phis(draft, &mut replaced, &phis);
    rewrite(draft, &types, &mut replaced, &phis);
}

/// The type of each local that can be promoted.
fn promotable(draft: &Draft) -> EntityVec<InstId, Option<Type>> {
    #[derive(Clone, Copy)]
    enum Use {
        None,
        As(Type),
        Memory,
    }
    let mut uses: EntityVec<InstId, Use> = vec![Use::Memory; draft.insts.len()].into();
    let in_blocks = || draft.blocks.values().flatten().copied();
    for id in in_blocks() {
        if matches!(draft.insts[id], Inst::Local { count: None, .. }) {
            uses[id] = Use::None;
        }
    }
    let mut accessed = |at: Operand, ty: Type, volatile: bool| {
        let Operand::Value(local) = at else { return };
        uses[local] = match uses[local] {
            Use::None if !volatile => Use::As(ty),
            Use::As(old) if old == ty && !volatile => Use::As(ty),
            _ => Use::Memory,
        };
    };
    let mut leaked = Vec::new();
    for id in in_blocks() {
        match &draft.insts[id] {
            Inst::Load { ty, address, volatile } => accessed(*address, *ty, *volatile),
            Inst::Store { ty, value, address, volatile } => {
                accessed(*address, *ty, *volatile);
                leaked.extend(value.value());
            }
            Inst::ScopeStart { .. } | Inst::ScopeEnd { .. } => {}
            other => other.for_each_operand(|o| leaked.extend(o.value())),
        }
    }
    leaked.into_iter().for_each(|v| uses[v] = Use::Memory);
    let as_type = |u: &Use| match u {
        Use::As(ty) => Some(*ty),
        // Never read nor written: it goes, with its scope marks.
        Use::None => Some(Type::Void),
        Use::Memory => None,
    };
    uses.values().map(as_type).collect::<Vec<_>>().into()
}

/// The promoted locals that are read or written, numbered densely.
struct Locals {
    number: EntityVec<InstId, Option<u32>>,
    list: Vec<PromotedLocal>,
}

struct PromotedLocal {
    ty: Type,
    /// Blocks that store to it, in rising order.
    stored_in: Vec<BlockId>,
    /// Whether some block loads it before storing to it: only then can a phi be needed.
    enters_a_block: bool,
}

impl Locals {
    fn collect(draft: &Draft, types: &EntityVec<InstId, Option<Type>>) -> Self {
        let mut number: EntityVec<InstId, Option<u32>> = vec![None; draft.insts.len()].into();
        let mut list = Vec::new();
        for (id, ty) in types.iter() {
            if let Some(ty) = ty.filter(|ty| *ty != Type::Void) {
                number[id] = Some(list.len() as u32);
                list.push(PromotedLocal { ty, stored_in: Vec::new(), enters_a_block: false });
            }
        }
        let mut locals = Self { number, list };
        for (block, insts) in draft.blocks.iter() {
            for &id in insts {
                match draft.insts[id] {
                    Inst::Store { address, .. } => {
                        if let Some(n) = locals.at(address) {
                            let stored_in = &mut locals.list[n].stored_in;
                            if stored_in.last() != Some(&block) {
                                stored_in.push(block);
                            }
                        }
                    }
                    Inst::Load { address, .. } => {
                        if let Some(n) = locals.at(address) {
                            let local = &mut locals.list[n];
                            local.enters_a_block |= local.stored_in.last() != Some(&block);
                        }
                    }
                    _ => {}
                }
            }
        }
        locals
    }

    /// The number of the promoted local at an address.
    fn at(&self, address: Operand) -> Option<usize> {
        self.number.get(address.value()?).copied().flatten().map(|n| n as usize)
    }
}

/// The new phis of each block: (phi, number of the local).
type Phis = EntityVec<BlockId, Vec<(InstId, usize)>>;

fn place_phis(draft: &mut Draft, locals: &Locals, tree: &Frontiers) -> Phis {
    let mut phis: Phis = vec![Vec::new(); draft.blocks.len()].into();
    let mut work = Vec::new();
    for (number, local) in locals.list.iter().enumerate().filter(|(_, local)| local.enters_a_block) {
        work.extend_from_slice(&local.stored_in);
        while let Some(block) = work.pop() {
            for &join in &tree.frontiers[block] {
                if phis[join].last().is_some_and(|(_, last)| *last == number) {
                    continue;
                }
                let first = draft.blocks[join][0];
                let empty = Inst::Phi { ty: local.ty, incoming: SmallVec::new() };
                let phi = draft.add_inst(empty, draft.inst_places[first]);
                phis[join].push((phi, number));
                work.push(join);
            }
        }
    }
    phis
}

/// What takes the place of a load or of a phi that can only have one value.
type Replaced = EntityVec<InstId, Option<Operand>>;

/// Walks the dominator tree with the value of every local, fills the phis, and returns the value of every load.
fn rename(draft: &mut Draft, locals: &Locals, phis: &Phis, tree: &Frontiers) -> Replaced {
    enum Step {
        Enter(BlockId),
        /// Takes back what a block and those below it did.
        Leave(usize),
    }
    let mut replaced: Replaced = vec![None; draft.insts.len()].into();
    let mut current: Vec<Operand> = locals.list.iter().map(|l| draft.constant(Constant::Undef(l.ty))).collect();
    let mut undo: Vec<(usize, Operand)> = Vec::new();
    let mut work = vec![Step::Enter(Body::ENTRY)];
    while let Some(step) = work.pop() {
        let block = match step {
            Step::Enter(block) => block,
            Step::Leave(mark) => {
                undo.drain(mark..).rev().for_each(|(number, old)| current[number] = old);
                continue;
            }
        };
        work.push(Step::Leave(undo.len()));
        let mut set = |current: &mut Vec<Operand>, number: usize, value: Operand| {
            undo.push((number, std::mem::replace(&mut current[number], value)));
        };
        for &(phi, number) in &phis[block] {
            set(&mut current, number, Operand::Value(phi));
        }
        for &id in &draft.blocks[block] {
            match draft.insts[id] {
                Inst::Store { value, address, .. } => {
                    if let Some(number) = locals.at(address) {
                        set(&mut current, number, value);
                    }
                }
                Inst::Load { address, .. } => {
                    if let Some(number) = locals.at(address) {
                        replaced[id] = Some(current[number]);
                    }
                }
                _ => {}
            }
        }
        for next in draft.successors(block) {
            for &(phi, number) in &phis[next] {
                let Inst::Phi { incoming, .. } = &mut draft.insts[phi] else { continue };
                // A switch may lead to one block several times; core IR has one edge for all of them.
                if incoming.last().is_none_or(|(from, _)| *from != block) {
                    incoming.push((block, current[number]));
                }
            }
        }
        work.extend(tree.children[block].iter().rev().map(|&child| Step::Enter(child)));
    }
    for &(phi, _) in phis.values().flatten() {
        if let Inst::Phi { incoming, .. } = &mut draft.insts[phi] {
            incoming.sort_by_key(|(from, _)| *from);
        }
    }
    replaced
}

/// Replaces phis that can only have one value by that value.
fn remove_trivial_phis(draft: &Draft, replaced: &mut Replaced, phis: &Phis) {
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &(phi, _) in phis.values().flatten() {
            if replaced[phi].is_some() {
                continue;
            }
            let Inst::Phi { incoming, .. } = &draft.insts[phi] else { continue };
            let mut only = None;
            let trivial = incoming.iter().all(|(_, value)| {
                let value = resolve(replaced, *value);
                value == Operand::Value(phi) || *only.get_or_insert(value) == value
            });
            if let (true, Some(value)) = (trivial, only) {
                replaced[phi] = Some(value);
                changed = true;
            }
        }
    }
}

/// Follows replacements to their end, shortening the way for the next.
fn resolve(replaced: &mut Replaced, operand: Operand) -> Operand {
    let mut end = operand;
    while let Operand::Value(v) = end
        && let Some(next) = replaced[v]
    {
        end = next;
    }
    let mut step = operand;
    while let Operand::Value(v) = step
        && step != end
        && let Some(next) = replaced[v].replace(end)
    {
        step = next;
    }
    end
}

fn rewrite(draft: &mut Draft, types: &EntityVec<InstId, Option<Type>>, replaced: &mut Replaced, phis: &Phis) {
    let mut is_live: EntityVec<InstId, bool> = vec![false; draft.insts.len()].into();
    let mut is_phi = is_live.clone();
    phis.values().flatten().for_each(|(phi, _)| is_phi[*phi] = true);
    let mut live = Vec::new();
    let mut use_operand = |operand: &mut Operand, live: &mut Vec<InstId>| {
        *operand = resolve(replaced, *operand);
        if let Operand::Value(v) = *operand
            && is_phi[v]
            && !std::mem::replace(&mut is_live[v], true)
        {
            live.push(v);
        }
    };
    for block in draft.blocks.keys().collect::<Vec<_>>() {
        let mut insts = std::mem::take(&mut draft.blocks[block]);
        insts.retain(|&id| {
            let stays = rewrite_inst(draft, types, id);
            if stays {
                draft.insts[id].for_each_operand_mut(|o| use_operand(o, &mut live));
            }
            stays
        });
        draft.blocks[block] = insts;
    }
    // A phi lives when something that lives reads it.
    while let Some(phi) = live.pop() {
        draft.insts[phi].for_each_operand_mut(|o| use_operand(o, &mut live));
    }
    for (block, phis) in phis.iter() {
        let living = phis.iter().map(|(phi, _)| *phi).filter(|phi| is_live[*phi]);
        draft.blocks[block].splice(0..0, living);
    }
}

/// Makes of an instruction what promotion leaves of it; false when that is nothing.
fn rewrite_inst(draft: &mut Draft, types: &EntityVec<InstId, Option<Type>>, id: InstId) -> bool {
    let promoted = |local: InstId| types.get(local).copied().flatten();
    let var_of = |local: InstId| match draft.insts[local] {
        Inst::Local { var, .. } => var,
        _ => None,
    };
    let left = match draft.insts[id] {
        Inst::Local { .. } if promoted(id).is_some() => None,
        Inst::Load { address: Operand::Value(local), .. } if promoted(local).is_some() => None,
        Inst::ScopeStart { local } if promoted(local).is_some() => None,
        Inst::ScopeEnd { local } if promoted(local) == Some(Type::Void) => None,
        Inst::ScopeEnd { local } if promoted(local).is_some() => var_of(local).map(|var| Inst::Unbind { var }),
        Inst::Store { value, address: Operand::Value(local), .. } if promoted(local).is_some() => {
            var_of(local).map(|var| Inst::Bind { var, value })
        }
        _ => return true,
    };
    let stays = left.is_some();
    if let Some(inst) = left {
        draft.insts[id] = inst;
    }
    stays
}
