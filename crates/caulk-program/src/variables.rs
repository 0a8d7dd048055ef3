//! What the whole program does with each of its plain variables: who reads it, who writes it, and whether its address
//! goes anywhere, so that others might.
//!
//! Only variables of at most one word that are no structures are looked at: flags, counters and single pointers.

use caulk_ir::{Body, Constant, EntityVec, Initialiser, Inst, Linkage, Operand, Type};

use crate::facts::{Facts, World};
use crate::ids::{FuncId, GlobalVarId};
use crate::link::UnitMap;

/// What a function does with a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    Reads,
    Writes,
    /// Writes a constant.
    Sets,
    /// Its address is used otherwise, or it is volatile: anything may happen to it.
    Escapes,
}

pub(crate) type VariableUse = (GlobalVarId, FuncId, Access);

/// The uses of plain variables, by variable.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    uses: Vec<VariableUse>,
    /// Mentioned where no function tells: in initialisers, or under a second name.
    is_shared: EntityVec<GlobalVarId, bool>,
}

/// Notes what one body does with plain variables.
pub(crate) fn note_uses(world: &World<'_>, map: &UnitMap, id: FuncId, body: &Body, uses: &mut Vec<VariableUse>) {
    if !body.consts.values().any(|c| matches!(c, Constant::Global { .. })) {
        return;
    }
    let mut note = |operand: &Operand, access: Access| {
        if let Some(Constant::Global { global, offset }) = body.constant(*operand) {
            let access = if offset == 0 { access } else { Access::Escapes };
            let meant = map.globals.get(global).iter().filter(|g| world.globals[**g].is_plain);
            uses.extend(meant.map(|g| (*g, id, access)));
        }
    };
    for inst in body.insts.values() {
        match inst {
            Inst::Load { address, volatile: false, .. } => note(address, Access::Reads),
            Inst::Store { value, address, volatile: false, .. } => {
                note(address, if body.constant(*value).is_some() { Access::Sets } else { Access::Writes });
                note(value, Access::Escapes);
            }
            other => other.for_each_operand(|operand| note(operand, Access::Escapes)),
        }
    }
}

impl Variables {
    pub(crate) fn new(world: &World<'_>, facts: &[Facts]) -> Self {
        let mut uses: Vec<VariableUse> = facts.iter().flat_map(|f| f.variables.iter().copied()).collect();
        uses.sort_unstable();
        uses.dedup();
        let mut is_shared: EntityVec<GlobalVarId, bool> = vec![false; world.globals.len()].into();
        for (id, _) in world.globals.iter() {
            let map = world.map(world.linked.globals[id].unit);
            world.for_each_item(id, |_, value| {
                if let Constant::Global { global, .. } = value {
                    map.globals.get(global).iter().for_each(|g| is_shared[*g] = true);
                }
            });
        }
        for (index, unit) in world.units.iter().enumerate() {
            for alias in &unit.unit.aliases {
                if let caulk_ir::AliasTarget::Global(global) = alias.target {
                    world.linked.units[index].globals.get(global).iter().for_each(|g| is_shared[*g] = true);
                }
            }
        }
        Self { uses, is_shared }
    }

    pub(crate) fn uses(&self, variable: GlobalVarId) -> &[VariableUse] {
        let start = self.uses.partition_point(|u| u.0 < variable);
        let end = self.uses.partition_point(|u| u.0 <= variable);
        &self.uses[start..end]
    }

    /// Variables with uses, each with all of them, where nothing but these can touch the variable.
    pub(crate) fn private(&self) -> impl Iterator<Item = (GlobalVarId, &[VariableUse])> {
        let groups = self.uses.chunk_by(|a, b| a.0 == b.0).map(|group| (group[0].0, group));
        groups.filter(|(id, group)| !self.is_shared[*id] && group.iter().all(|u| u.2 != Access::Escapes))
    }

    /// The function that a hook holds unless code outside sets another: a pointer of one unit, to which nothing but its
    /// first value is ever assigned by name. It is in terms of the unit.
    pub(crate) fn hook(&self, world: &World<'_>, variable: GlobalVarId) -> Option<Constant> {
        let global = world.global(variable);
        let is_own = global.linkage == Linkage::Internal && !self.is_shared[variable] && !global.thread_local;
        let is_left_alone = |u: &VariableUse| matches!(u.2, Access::Reads | Access::Writes);
        if !is_own || !self.uses(variable).iter().all(is_left_alone) {
            return None;
        }
        let Initialiser::Items { items, .. } = &global.init else { return None };
        match items.as_slice() {
            [item] if item.offset == 0 => Some(item.value).filter(|c| matches!(c, Constant::Function(_))),
            _ => None,
        }
    }

    /// The number a variable always holds: one that cannot be written, or that is never written. What has external linkage
    /// and is no constant may be written by code that was not read, unless all of that is known (`is_closed`).
    pub(crate) fn constant(&self, world: &World<'_>, variable: GlobalVarId, is_closed: bool) -> Option<Constant> {
        let global = world.global(variable);
        if !world.linked.globals[variable].is_defined || matches!(global.linkage, Linkage::Weak | Linkage::Common) {
            return None;
        }
        let is_closed = is_closed || global.linkage == Linkage::Internal;
        let never_written = || {
            is_closed
                && !self.is_shared[variable]
                && !global.thread_local
                && self.uses(variable).iter().all(|u| u.2 == Access::Reads)
        };
        if !global.is_const && !never_written() {
            return None;
        }
        match &global.init {
            Initialiser::Zero if global.pointee.depth == 0 => Some(Constant::int(8 * global.size as u16, 0)),
            Initialiser::Zero => Some(Constant::Null),
            Initialiser::Items { items, complete: true } => match items.as_slice() {
                [item] if item.offset == 0 => is_number(item.value).then_some(item.value),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Constants that mean the same in every unit.
pub(crate) fn is_number(constant: Constant) -> bool {
    matches!(constant, Constant::Int { .. } | Constant::Null | Constant::Pointer(_))
}

/// What every return of a body gives back, if that is one number.
pub fn constant_result(body: &Body) -> Option<Constant> {
    let mut result = None;
    for (block, _) in body.blocks.iter() {
        let Inst::Return { value } = body.terminator(block) else { continue };
        let number = body.constant((*value)?).filter(|c| is_number(*c))?;
        if result.is_some_and(|known| known != number) {
            return None;
        }
        result = Some(number);
    }
    result.filter(|c| c.ty() != Type::Void)
}
