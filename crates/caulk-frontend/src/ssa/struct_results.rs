//! Structures that come back in registers are written through a hidden last parameter instead, as large ones are.
//!
//! The engines follow memory field by field, and a structure that is one value has no fields: the tag beside a pointer would
//! be lost on the way to the caller. The signature says so too (`lower/signature.rs`).

use caulk_ir::{AddressStep, BlockId, Body, CallData, Callee, Constant, EntityVec, Inst, InstId, Operand, Type};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::draft::Draft;

/// Whether a function of this type, or a call of one, gets the parameter. Behind `...` nothing can be added.
pub(crate) fn has_opaque_result(ret: Type, is_variadic: bool) -> bool {
    matches!(ret, Type::Aggregate(_)) && !is_variadic
}

/// `result` is the hidden parameter, if the function has one.
pub(crate) fn run(draft: &mut Draft, result: Option<InstId>) {
    if let Some(result) = result {
        for block in draft.blocks.keys().collect::<Vec<_>>() {
            write_result(draft, block, result);
        }
    }
    let calls: Vec<(BlockId, InstId)> = draft
        .blocks
        .iter()
        .flat_map(|(block, insts)| insts.iter().map(move |&id| (block, id)))
        .filter(|&(_, id)| draft.insts[id].call().is_some_and(returns_structure))
        .collect();
    if calls.is_empty() {
        return;
    }
    let uses = Uses::of(draft);
    for (block, call) in calls {
        take_result(draft, &uses, block, call);
    }
}

fn returns_structure(call: &CallData) -> bool {
    has_opaque_result(call.ret, call.variadic) && !matches!(call.callee, Callee::Assembly(_))
}

/// A return writes the structure where the caller wants it.
fn write_result(draft: &mut Draft, block: BlockId, result: InstId) {
    let end = draft.terminator(block);
    let Inst::Return { value: Some(value) } = draft.insts[end] else { return };
    draft.insts[end] = Inst::Return { value: None };
    let loaded = value.value().and_then(|v| match draft.insts[v] {
        Inst::Load { ty: Type::Aggregate(bytes), address, .. } => Some((v, address, bytes)),
        _ => None,
    });
    let at_load = loaded.and_then(|(load, ..)| draft.blocks[block].iter().position(|&id| id == load));
    match (loaded, at_load) {
        (Some((load, src, bytes)), Some(at)) => {
            let len = length(draft, bytes);
            let copy = draft.add_inst(Inst::Copy { dst: result.into(), src, len }, draft.inst_places[load]);
            draft.blocks[block][at] = copy;
        }
        _ => {
            let Some(ty) = value.value().map(|v| draft.insts[v].result_type()).or(constant_type(draft, value)) else {
                return;
            };
            let store = Inst::Store { ty, value, address: result.into(), volatile: false };
            let store = draft.add_inst(store, draft.inst_places[end]);
            let at = draft.blocks[block].len() - 1;
            draft.blocks[block].insert(at, store);
        }
    }
}

/// The type of a constant structure; None: it says nothing of its parts.
fn constant_type(draft: &Draft, value: Operand) -> Option<Type> {
    let Operand::Const(id) = value else { return None };
    match draft.consts[id] {
        Constant::Zero(ty) | Constant::Opaque(ty) => Some(ty),
        _ => None,
    }
}

fn length(draft: &mut Draft, bytes: u32) -> Operand {
    draft.constant(Constant::Int { bits: 64, value: u64::from(bytes) })
}

/// Where values are used, found once for all calls.
struct Uses {
    /// How often each value is.
    count: EntityVec<InstId, u32>,
    /// The users of each structure that a call returns.
    users: FxHashMap<InstId, Vec<(BlockId, InstId)>>,
    preds: EntityVec<BlockId, Vec<BlockId>>,
}

impl Uses {
    fn of(draft: &Draft) -> Self {
        let mut count: EntityVec<InstId, u32> = vec![0; draft.insts.len()].into();
        let mut users: FxHashMap<InstId, Vec<(BlockId, InstId)>> = FxHashMap::default();
        for (block, insts) in draft.blocks.iter() {
            for &id in insts {
                draft.insts[id].for_each_operand(|operand| {
                    let Operand::Value(value) = *operand else { return };
                    count[value] += 1;
                    if draft.insts[value].call().is_some_and(returns_structure) {
                        users.entry(value).or_default().push((block, id));
                    }
                });
            }
        }
        Self { count, users, preds: draft.predecessors() }
    }

    /// Where execution goes on after a call that returns: in the same block, or in one that nothing else leads to.
    fn after(&self, draft: &Draft, block: BlockId, call: InstId) -> Option<(BlockId, usize)> {
        match draft.insts[call] {
            Inst::Invoke { normal, .. } => (self.preds[normal].len() == 1).then_some((normal, 0)),
            _ => draft.blocks[block].iter().position(|&id| id == call).map(|at| (block, at + 1)),
        }
    }
}

/// A call writes its structure to the variable that takes it, or to a piece of stack of its own.
fn take_result(draft: &mut Draft, uses: &Uses, block: BlockId, call: InstId) {
    let Some(Type::Aggregate(bytes)) = draft.insts[call].call().map(|c| c.ret) else { return };
    let target = match Taken::find(draft, uses, block, call) {
        Some(taken) => taken.apply(draft, block, call),
        None => {
            let local =
                draft.add_inst(Inst::Local { size: u64::from(bytes), count: None, var: None }, draft.inst_places[call]);
            draft.blocks[Body::ENTRY].insert(0, local);
            read_parts(draft, uses, (block, call), local, bytes);
            local
        }
    };
    if let Inst::Call(data) | Inst::Invoke { call: data, .. } = &mut draft.insts[call] {
        data.args.push(target.into());
        data.arg_types.push(Type::Ptr);
        data.ret = Type::Void;
        data.flags.read_only = false;
        data.flags.no_memory = false;
    }
}

/// The parts of a result that are stored to a variable right after the call, each where it belongs.
struct Taken {
    local: InstId,
    /// Where in the variable the structure begins.
    offset: i64,
    block: BlockId,
    gone: Vec<InstId>,
}

impl Taken {
    fn find(draft: &Draft, uses: &Uses, block: BlockId, call: InstId) -> Option<Self> {
        let (block, from) = uses.after(draft, block, call)?;
        let mut gone = Vec::new();
        let (mut parts, mut taken) = (0, None);
        for &id in &draft.blocks[block][from..] {
            match draft.insts[id] {
                Inst::Address { .. } => {}
                Inst::Extract { aggregate, .. } if aggregate == call.into() && uses.count[id] == 1 => gone.push(id),
                Inst::Store { value: Operand::Value(value), address, volatile: false, .. } => {
                    let part = match draft.insts[value] {
                        _ if value == call => 0,
                        Inst::Extract { aggregate, offset, .. } if aggregate == call.into() => i64::from(offset),
                        _ => break,
                    };
                    let (local, offset) = local_place(draft, address)?;
                    let place = (local, offset - part);
                    if *taken.get_or_insert(place) != place {
                        return None;
                    }
                    parts += 1;
                    gone.push(id);
                }
                _ => break,
            }
        }
        let (local, offset) = taken?;
        (parts == uses.count[call]).then_some(Self { local, offset, block, gone })
    }

    fn apply(self, draft: &mut Draft, block: BlockId, call: InstId) -> InstId {
        draft.blocks[self.block].retain(|id| !self.gone.contains(id));
        if self.offset == 0 {
            return self.local;
        }
        let steps = smallvec![AddressStep::Bytes { offset: self.offset, stride: 1 }];
        let address = draft.add_inst(Inst::Address { base: self.local.into(), steps }, draft.inst_places[call]);
        let at = draft.blocks[block].iter().position(|&id| id == call).unwrap_or(0);
        draft.blocks[block].insert(at, address);
        address
    }
}

/// A place at a constant distance in a local.
fn local_place(draft: &Draft, mut address: Operand) -> Option<(InstId, i64)> {
    let mut offset = 0i64;
    loop {
        let at = address.value()?;
        match &draft.insts[at] {
            Inst::Local { count: None, .. } => return Some((at, offset)),
            Inst::Address { base, steps } => {
                for step in steps {
                    offset = offset.checked_add(match *step {
                        AddressStep::Field { offset, .. } => i64::try_from(offset).ok()?,
                        AddressStep::Bytes { offset, .. } => offset,
                        AddressStep::Index { .. } => return None,
                    })?;
                }
                address = *base;
            }
            _ => return None,
        }
    }
}

/// Parts of the result are read from where the call wrote them.
fn read_parts(draft: &mut Draft, uses: &Uses, (block, call): (BlockId, InstId), local: InstId, bytes: u32) {
    let mut others = Vec::new();
    for &(block, id) in uses.users.get(&call).into_iter().flatten() {
        match draft.insts[id] {
            Inst::Extract { ty, offset, .. } => {
                let steps: SmallVec<[AddressStep; 1]> =
                    smallvec![AddressStep::Bytes { offset: i64::from(offset), stride: 1 }];
                let address = Inst::Address { base: local.into(), steps };
                let address = draft.add_inst(address, draft.inst_places[id]);
                draft.insts[id] = Inst::Load { ty, address: address.into(), volatile: false };
                let at = draft.blocks[block].iter().position(|&inst| inst == id).unwrap_or(0);
                draft.blocks[block].insert(at, address);
            }
            Inst::Store { value, address, .. } if value == call.into() => {
                let len = length(draft, bytes);
                draft.insts[id] = Inst::Copy { dst: address, src: local.into(), len };
            }
            _ => others.push(id),
        }
    }
    if others.is_empty() {
        return;
    }
    let load = Inst::Load { ty: Type::Aggregate(bytes), address: local.into(), volatile: false };
    let load = draft.add_inst(load, draft.inst_places[call]);
    for id in others {
        draft.insts[id].for_each_operand_mut(|operand| {
            if *operand == call.into() {
                *operand = load.into();
            }
        });
    }
    let (block, at) = match draft.insts[call] {
        Inst::Invoke { normal, .. } => {
            let is_phi = |id: &InstId| matches!(draft.insts[*id], Inst::Phi { .. });
            (normal, draft.blocks[normal].iter().take_while(|id| is_phi(id)).count())
        }
        _ => (block, draft.blocks[block].iter().position(|&id| id == call).map_or(0, |at| at + 1)),
    };
    draft.blocks[block].insert(at, load);
}
