//! Promotes locals whose address is only loaded from and stored to into SSA values.
//!
//! Phis are made on demand, as in Braun et al., "Simple and Efficient Construction of Static Single Assignment Form",
//! but for the finished control flow, so no block is ever unsealed and no recursion is needed.
//! What the source did stays visible: a store to a promoted variable leaves a `Bind`, the end of its scope an `Unbind`.

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, Constant, EntityVec, Inst, InstId, Operand, Type};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::draft::Draft;

pub fn run(draft: &mut Draft) {
    let types = promotable(draft);
    if types.values().all(Option::is_none) {
        return;
    }
    let mut promotion = Promotion::new(draft, types);
    promotion.collect_stores();
    promotion.resolve_loads();
    promotion.fill_phis();
    let Promotion { replaced, phis, types, .. } = promotion;
    let replaced = remove_trivial_phis(draft, replaced, &phis);
    rewrite(draft, &types, &replaced, &phis);
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

struct Promotion<'a> {
    draft: &'a mut Draft,
    types: EntityVec<InstId, Option<Type>>,
    preds: EntityVec<BlockId, Vec<BlockId>>,
    /// What a local holds when a block is left, where the block stores to it.
    at_end: FxHashMap<(BlockId, InstId), Operand>,
    /// What a local holds when a block is entered, where that was asked.
    at_entry: FxHashMap<(BlockId, InstId), Operand>,
    /// What takes the place of a load.
    replaced: FxHashMap<InstId, Operand>,
    /// New phis: (phi, block, local).
    phis: Vec<(InstId, BlockId, InstId)>,
}

impl<'a> Promotion<'a> {
    fn new(draft: &'a mut Draft, types: EntityVec<InstId, Option<Type>>) -> Self {
        let preds = draft.predecessors();
        Self {
            draft,
            types,
            preds,
            at_end: FxHashMap::default(),
            at_entry: FxHashMap::default(),
            replaced: FxHashMap::default(),
            phis: Vec::new(),
        }
    }

    fn promoted(&self, address: Operand) -> Option<(InstId, Type)> {
        let local = address.value()?;
        self.types.get(local).copied().flatten().map(|ty| (local, ty))
    }

    fn collect_stores(&mut self) {
        for (block, insts) in self.draft.blocks.iter() {
            for &id in insts {
                if let Inst::Store { value, address, .. } = self.draft.insts[id]
                    && let Some((local, _)) = self.promoted(address)
                {
                    self.at_end.insert((block, local), value);
                }
            }
        }
    }

    fn resolve_loads(&mut self) {
        let blocks: Vec<BlockId> = self.draft.blocks.keys().collect();
        let mut here: FxHashMap<InstId, Operand> = FxHashMap::default();
        for block in blocks {
            here.clear();
            for index in 0..self.draft.blocks[block].len() {
                let id = self.draft.blocks[block][index];
                match self.draft.insts[id] {
                    Inst::Store { value, address, .. } => {
                        if let Some((local, _)) = self.promoted(address) {
                            here.insert(local, value);
                        }
                    }
                    Inst::Load { address, .. } => {
                        if let Some((local, ty)) = self.promoted(address) {
                            let value = match here.get(&local) {
                                Some(value) => *value,
                                None => self.value_at_entry(block, local, ty),
                            };
                            self.replaced.insert(id, value);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn value_at_entry(&mut self, block: BlockId, local: InstId, ty: Type) -> Operand {
        let mut passed: SmallVec<[BlockId; 8]> = SmallVec::new();
        let mut current = block;
        let value = loop {
            if let Some(known) = self.at_entry.get(&(current, local)) {
                break *known;
            }
            passed.push(current);
            match self.preds[current].as_slice() {
                [] => break self.draft.constant(Constant::Undef(ty)),
                [only] if *only != current => match self.at_end.get(&(*only, local)) {
                    Some(stored) => break *stored,
                    None => current = *only,
                },
                _ => break self.new_phi(current, local, ty),
            }
        };
        for block in passed {
            self.at_entry.insert((block, local), value);
        }
        value
    }

    fn new_phi(&mut self, block: BlockId, local: InstId, ty: Type) -> Operand {
        let first = self.draft.blocks[block].first().copied();
        let place = self.draft.inst_places[first.expect("every block of a draft ends in a terminator")];
        let phi = self.draft.add_inst(Inst::Phi { ty, incoming: SmallVec::new() }, place);
        self.types.push(None);
        self.phis.push((phi, block, local));
        let value = Operand::Value(phi);
        self.at_entry.insert((block, local), value);
        value
    }

    fn fill_phis(&mut self) {
        let mut next = 0;
        // Filling one phi may ask for further ones, which are appended.
        while let Some(&(phi, block, local)) = self.phis.get(next) {
            next += 1;
            let ty = self.draft.insts[phi].result_type();
            let preds = self.preds[block].clone();
            let mut filled = SmallVec::with_capacity(preds.len());
            for from in preds {
                let value = match self.at_end.get(&(from, local)) {
                    Some(value) => *value,
                    None => self.value_at_entry(from, local, ty),
                };
                filled.push((from, value));
            }
            self.draft.insts[phi] = Inst::Phi { ty, incoming: filled };
        }
    }
}

/// Replaces phis that can only have one value by that value.
fn remove_trivial_phis(
    draft: &Draft,
    mut replaced: FxHashMap<InstId, Operand>,
    phis: &[(InstId, BlockId, InstId)],
) -> FxHashMap<InstId, Operand> {
    loop {
        let mut changed = false;
        for &(phi, ..) in phis {
            if replaced.contains_key(&phi) {
                continue;
            }
            let Inst::Phi { incoming, .. } = &draft.insts[phi] else { continue };
            let mut only = None;
            let trivial = incoming.iter().all(|(_, value)| {
                let value = resolve(&mut replaced, *value);
                value == Operand::Value(phi) || *only.get_or_insert(value) == value
            });
            if let (true, Some(value)) = (trivial, only) {
                replaced.insert(phi, value);
                changed = true;
            }
        }
        if !changed {
            return replaced;
        }
    }
}

/// Follows replacements to their end, shortening the way for the next.
fn resolve(replaced: &mut FxHashMap<InstId, Operand>, operand: Operand) -> Operand {
    let mut end = operand;
    while let Operand::Value(v) = end
        && let Some(next) = replaced.get(&v)
    {
        end = *next;
    }
    let mut step = operand;
    while let Operand::Value(v) = step
        && step != end
        && let Some(next) = replaced.insert(v, end)
    {
        step = next;
    }
    end
}

fn rewrite(
    draft: &mut Draft,
    types: &EntityVec<InstId, Option<Type>>,
    replaced: &FxHashMap<InstId, Operand>,
    phis: &[(InstId, BlockId, InstId)],
) {
    let is_promoted = |operand: Operand| operand.value().is_some_and(|v| types[v].is_some());
    let var_of = |draft: &Draft, local: InstId| match draft.insts[local] {
        Inst::Local { var, .. } => var,
        _ => None,
    };
    for block in draft.blocks.keys().collect::<Vec<_>>() {
        let old = std::mem::take(&mut draft.blocks[block]);
        let mut new = Vec::with_capacity(old.len());
        for id in old {
            match draft.insts[id] {
                Inst::Local { .. } if types[id].is_some() => continue,
                Inst::Load { address, .. } if is_promoted(address) => continue,
                Inst::ScopeStart { local } if types[local].is_some() => continue,
                Inst::ScopeEnd { local } if types[local].is_some() => match var_of(draft, local) {
                    Some(var) if types[local] != Some(Type::Void) => draft.insts[id] = Inst::Unbind { var },
                    _ => continue,
                },
                Inst::Store { value, address: Operand::Value(local), .. } if types[local].is_some() => {
                    match var_of(draft, local) {
                        Some(var) => draft.insts[id] = Inst::Bind { var, value },
                        None => continue,
                    }
                }
                _ => {}
            }
            new.push(id);
        }
        draft.blocks[block] = new;
    }
    let mut in_order: Vec<(BlockId, InstId)> =
        phis.iter().filter(|p| !replaced.contains_key(&p.0)).map(|p| (p.1, p.0)).collect();
    in_order.sort();
    // From the last: each is put at the front of its block, and so they end in rising order.
    for (block, phi) in in_order.into_iter().rev() {
        draft.blocks[block].insert(0, phi);
    }
    let mut replaced = replaced.clone();
    for id in 0..draft.insts.len() {
        draft.insts[InstId::from_index(id)].for_each_operand_mut(|o| *o = resolve(&mut replaced, *o));
    }
}
