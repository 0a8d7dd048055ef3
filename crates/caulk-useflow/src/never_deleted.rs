//! Fields of a class that hold objects of a class which nothing in the program ever deletes.
//!
//! An object that its constructor enters into a list, or gives to a parent, is held by more than the field it is put into, so no path shows whose
//! it is. But where no code deletes objects of its class, by whatever pointer, the list does not either. Then a destructor that leaves
//! the field loses the object.

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, Offset, PathRoot, ValueId, ValueNode};
use caulk_program::{FuncId, Program, TypeId, is_constructor, is_destructor};
use caulk_summary::{Destination, Subject};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::classes::{class_of, with_bases};
use crate::exceptions::is_destructor_call;
use crate::function::View;
use crate::schedule::Analysis;
use crate::slots::{AllocationLine, Slot, structures_at};

/// What one function tells of this. All sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectUse {
    /// Fields of its own object that are set to a new object, with its class and the line of the allocation.
    pub placed: Vec<(Slot, TypeId, u32)>,
    /// Classes of objects that are deleted, or given to code that nothing tells of.
    pub deleted: Vec<TypeId>,
}

pub(crate) fn object_use(view: &View<'_>) -> ObjectUse {
    let mut found = ObjectUse::default();
    for (id, inst) in view.body.insts.iter() {
        match inst {
            Inst::Store { value, address, ty: Type::Ptr, .. } => found.placed.extend(placed(view, *value, *address)),
            _ if inst.call().is_some() => deleted_by(view, id, &mut found.deleted),
            _ => {}
        }
    }
    found.placed.sort_unstable();
    found.placed.dedup();
    found.deleted.sort_unstable();
    found.deleted.dedup();
    found
}

/// A field of the method's object that a store sets to a new object.
fn placed(view: &View<'_>, value: Operand, address: Operand) -> Option<(Slot, TypeId, u32)> {
    let to = view.values.of_operand(address)?;
    if !matches!(view.values.node(to.base), ValueNode::Param(0)) {
        return None;
    }
    let slot = view.values.own_field(to)?;
    let object = view.values.of_operand(value).filter(|cell| cell.offset == Offset::ZERO)?;
    let ValueNode::Opaque(made) = view.values.node(object.base) else { return None };
    let is_made = view.calls[made].as_ref().is_some_and(|effect| effect.summary.returns_fresh());
    let ty = made_class(view, object.base).filter(|ty| is_made && *ty != slot.0)?;
    Some((slot, ty, view.line_below(made)))
}

/// The class whose constructor is called on a new block.
fn made_class(view: &View<'_>, object: ValueId) -> Option<TypeId> {
    let mut made = view.program.call_sites(view.id).iter().filter_map(|site| {
        let [target] = view.program.targets(site) else { return None };
        let this = view.values.of_operand(view.argument(site.inst, 0)?)?;
        let is_object = this.base == object && this.offset == Offset::ZERO;
        (is_object && is_constructor(view.program.function(*target).symbol)).then_some(*target)
    });
    class_of(view.program, made.next()?)
}

/// Classes of what a call may delete.
fn deleted_by(view: &View<'_>, call: InstId, found: &mut Vec<TypeId>) {
    let Some(effect) = view.calls[call].as_ref() else { return };
    let Some(data) = view.body.insts[call].call() else { return };
    if is_destructor_call(view.program, view.id, call) {
        let object = view.argument(call, 0).and_then(|this| view.values.of_operand(this));
        let is_part = object.is_some_and(|cell| match view.values.node(cell.base) {
            ValueNode::Local(_) => true,
            // Bases and members go with their object.
            ValueNode::Param(0) => is_destructor(view.program.function(view.id).symbol),
            _ => false,
        });
        let targets = view.program.call_site(view.id, call).map(|site| view.program.targets(site)).unwrap_or_default();
        found.extend(targets.iter().filter(|_| !is_part).filter_map(|target| class_of(view.program, *target)));
    }
    // A library of C knows of no destructors: what it is given it keeps for callbacks at most.
    let is_open = !is_of_c(view, call);
    let may_end = |index: usize| {
        effect.unknown && is_open
            || effect.summary.actions.iter().any(|action| {
                let ends = match action.to {
                    Destination::Free { .. } => true,
                    Destination::Unknown => is_open,
                    _ => false,
                };
                let is_this_param =
                    |path: &AccessPath| path.root == PathRoot::Param(index as u32) && path.steps.is_empty();
                ends && matches!(&action.subject, Subject::Value(path) if is_this_param(path))
            })
    };
    // The part of a destructor that gives the memory back.
    let is_own_end = |base: ValueId| {
        matches!(view.values.node(base), ValueNode::Param(0)) && is_destructor(view.program.function(view.id).symbol)
    };
    for (_, argument) in data.args.iter().enumerate().filter(|(index, _)| may_end(*index)) {
        let Some(cell) = view.values.of_operand(*argument) else { continue };
        if !matches!(view.values.node(cell.base), ValueNode::Local(_)) && !is_own_end(cell.base) {
            found.extend(structures_at(view, cell.base));
        }
    }
}

/// Whether a call only reaches functions of C that were not read.
fn is_of_c(view: &View<'_>, call: InstId) -> bool {
    let targets = view.program.call_site(view.id, call).map(|site| view.program.targets(site)).unwrap_or_default();
    let is_of_c = |f: &FuncId| !view.program.has_body(*f) && !view.program.function(*f).symbol.starts_with("_Z");
    !targets.is_empty() && targets.iter().all(is_of_c)
}

/// The same over the whole program.
pub(crate) struct Undeleted {
    placed: FxHashMap<TypeId, Vec<(Slot, TypeId, AllocationLine)>>,
    deleted: FxHashSet<TypeId>,
}

impl Undeleted {
    pub(crate) fn new(program: &Program, analysis: &Analysis) -> Self {
        let mut found = Self { placed: FxHashMap::default(), deleted: FxHashSet::default() };
        for (function, report) in analysis.reports.iter() {
            let objects = &report.slots.objects;
            found.deleted.extend(objects.deleted.iter().copied());
            found.deleted.extend(deleted_by_table(program, function));
            for (slot, ty, line) in &objects.placed {
                found.placed.entry(slot.0).or_default().push((*slot, *ty, (function, *line)));
            }
        }
        found
    }

    /// Fields of a class that are set to objects which nothing deletes, with where first.
    pub(crate) fn fields_of(&self, program: &Program, class: TypeId) -> Vec<(Slot, AllocationLine)> {
        let mut fields: Vec<(Slot, AllocationLine)> = Vec::new();
        let all = self.placed.get(&class).map(Vec::as_slice).unwrap_or_default();
        let is_deleted =
            |slot: Slot| all.iter().any(|(other, ty, _)| *other == slot && self.may_be_deleted(program, *ty));
        for (slot, _, origin) in all {
            if !fields.iter().any(|(known, _)| known == slot) && !is_deleted(*slot) {
                fields.push((*slot, *origin));
            }
        }
        fields
    }

    /// Whether some code may delete objects of a class, by a pointer to it or to one of its bases.
    pub(crate) fn may_be_deleted(&self, program: &Program, ty: TypeId) -> bool {
        with_bases(program, ty).iter().any(|base| self.deleted.contains(base))
    }
}

/// The class that a deleting destructor is of, where some call may reach it.
fn deleted_by_table(program: &Program, function: FuncId) -> Option<TypeId> {
    let symbol = program.function(function).symbol;
    let is_deleting = is_destructor(symbol) && symbol.ends_with("D0Ev");
    (is_deleting && program.callers(function).next().is_some()).then(|| class_of(program, function)).flatten()
}
