//! Classes whose destructor does not free what a field of the class alone owns.
//!
//! The object may be made in one function and deleted in another, through a base class or by a container, so no path from the
//! allocation to the loss is looked for. What tells is the class as a whole: a field that receives fresh memory and nothing
//! else, whose contents go nowhere else, and a destructor that leaves it as it was. Containers of pointers that are fields are
//! judged likewise ([`crate::shelves`]).

use std::collections::BTreeMap;

use caulk_ir::Inst;
use caulk_memory::{Cell, Offset, PathRoot};
use caulk_models::is_own_pointer_template;
use caulk_program::{FuncId, Program, TypeId, is_destructor};
use caulk_rules::Rule;
use caulk_summary::{Destination, Subject};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::adopted::Adopted;
use crate::algorithms::taken_by_algorithms;
use crate::bounds::BOUNDS;
use crate::candidate::{Candidate, Loss};
use crate::destructors::stays;
use crate::freed_sisters::Lenders;
use crate::ground::Ground;
use crate::handed_elements::adopted_elements;
use crate::never_deleted::Undeleted;
use crate::own_shelves::{embedded_class, is_array_field};
use crate::schedule::Analysis;
use crate::shelves::{holds_pointers_to, may_hold};
use crate::shown_fields::given_by_results;
use crate::slot_table::SlotTable;
use crate::slots::{AllocationLine, OwnedFields, Slot};
use crate::summarize::{Summarizer, World};

/// Where the contents of fields go, over the whole program.
pub(crate) struct Flows {
    foreign: FxHashSet<Slot>,
    lent: FxHashSet<Slot>,
    returned: FxHashSet<Slot>,
    taken: FxHashSet<Slot>,
    moved: FxHashSet<Slot>,
    inside: FxHashSet<Slot>,
    /// Fields that the contents of a field are stored in too.
    shared: FxHashMap<Slot, Vec<Slot>>,
    /// Structures that some function frees, or that are given to unknown code.
    ended: FxHashSet<TypeId>,
    /// Classes of which some method deletes its own object.
    self_deleting: FxHashSet<TypeId>,
    shelves: Shelves,
    undeleted: Undeleted,
    lenders: Lenders,
    /// Fields that functions return whose results something may end or keep.
    given: FxHashSet<Slot>,
}

/// The outcome of elements of containers that are fields, over the whole program.
struct Shelves {
    /// Containers that receive fresh blocks, and where first. By class, in the order of their offsets.
    filled: FxHashMap<TypeId, Vec<(Slot, AllocationLine)>>,
    foreign: FxHashSet<Slot>,
    /// Containers whose elements some function may free, take out or pass on, or others may that have the container.
    taken: FxHashSet<Slot>,
    /// Containers that others have as a whole, or of which a function gives elements that others free.
    shared: FxHashSet<Slot>,
    /// Templates of the program's own of which some member frees elements.
    releasing: FxHashSet<TypeId>,
    /// Classes of which some object deletes itself, and their bases.
    loose: FxHashSet<TypeId>,
}

impl Shelves {
    fn new(program: &Program, analysis: &Analysis, self_deleting: &FxHashSet<TypeId>) -> Self {
        let uses = || analysis.reports.values().map(|report| &report.slots.shelves);
        let mut filled: BTreeMap<Slot, AllocationLine> = BTreeMap::new();
        for (index, shelves) in uses().enumerate() {
            for (slot, line) in &shelves.filled {
                filled.entry(*slot).or_insert((FuncId(index as u32), *line));
            }
        }
        let mut foreign: FxHashSet<Slot> = uses().flat_map(|s| s.foreign.iter().copied()).collect();
        for (slot, origin) in adopted_elements(analysis) {
            match origin {
                Some(origin) => {
                    filled.entry(slot).or_insert(origin);
                }
                None => {
                    foreign.insert(slot);
                }
            }
        }
        let mut by_class: FxHashMap<TypeId, Vec<(Slot, AllocationLine)>> = FxHashMap::default();
        for (slot, origin) in filled {
            by_class.entry(slot.0).or_default().push((slot, origin));
        }
        let ended: FxHashSet<FuncId> = uses().flat_map(|s| s.ended.iter().copied()).collect();
        let by_results = uses().enumerate().filter(|(index, _)| ended.contains(&FuncId(*index as u32)));
        let mut taken: FxHashSet<Slot> = by_results.flat_map(|(_, s)| s.returned.iter().copied()).collect();
        let mut shared = taken.clone();
        shared.extend(uses().flat_map(|s| s.shown.iter().copied()));
        taken.extend(uses().flat_map(|s| s.taken.iter().chain(&s.shown).copied()));
        taken.extend(taken_by_algorithms(program, analysis));
        let releasing = program.functions().filter_map(|f| releasing_template(program, analysis, f)).collect();
        let loose = self_deleting.iter().flat_map(|ty| with_bases(program, *ty)).collect();
        Self { shared, filled: by_class, foreign, taken, releasing, loose }
    }

    /// Containers of a class whose elements nothing ever frees or takes.
    fn left(&self, program: &Program, ty: TypeId) -> Vec<(Slot, AllocationLine)> {
        let is_released = |slot: &Slot| embedded_class(program, *slot).is_some_and(|ty| self.releasing.contains(&ty));
        let may_go = |slot: &Slot| self.loose.iter().any(|ty| may_hold(program, *slot, *ty));
        let is_elsewhere = |slot: &Slot| self.foreign.contains(slot) || self.taken.contains(slot);
        let is_left = |slot: &Slot| !is_elsewhere(slot) && !is_released(slot) && !may_go(slot);
        self.filled.get(&ty).into_iter().flatten().filter(|(slot, _)| is_left(slot)).copied().collect()
    }
}

impl Flows {
    pub(crate) fn new(program: &Program, analysis: &Analysis, adopted: Adopted) -> Self {
        let slots = || analysis.reports.values().map(|report| &report.slots);
        let mut shared: FxHashMap<Slot, Vec<Slot>> = FxHashMap::default();
        for (from, to) in slots().flat_map(|s| &s.traffic.shared) {
            shared.entry(*from).or_default().push(*to);
        }
        let self_deleting = program.functions().filter_map(|f| deletes_itself(program, analysis, f)).collect();
        Self {
            shared,
            taken: slots().flat_map(|s| s.traffic.taken.iter().copied()).collect(),
            moved: slots().flat_map(|s| s.traffic.moved.iter().copied()).collect(),
            inside: slots().flat_map(|s| s.traffic.inside.iter().copied()).collect(),
            foreign: adopted.into_foreign(),
            lent: slots().flat_map(|s| s.traffic.lent.iter().copied()).collect(),
            returned: slots().flat_map(|s| s.traffic.returned.iter().copied()).collect(),
            ended: slots().flat_map(|s| s.maybe_ended.iter().copied()).collect(),
            shelves: Shelves::new(program, analysis, &self_deleting),
            undeleted: Undeleted::new(program, analysis),
            lenders: Lenders::new(analysis),
            given: given_by_results(analysis),
            self_deleting,
        }
    }

    /// Whether what a field holds was made for it, and nothing else ever has it.
    pub(crate) fn is_private(&self, program: &Program, slot: Slot) -> bool {
        !self.lent.contains(&slot) && self.is_made_for(program, slot)
    }

    /// The same, though callers may be shown it that do nothing to it.
    fn is_only_shown(&self, program: &Program, slot: Slot) -> bool {
        let field = program.type_info(slot.0).fields.iter().find(|field| field.offset == slot.1);
        let target = field.and_then(|field| field.target);
        let may_be_ended = target.is_some_and(|ty| self.self_deleting.contains(&ty)) || self.given.contains(&slot);
        !self.lent.contains(&slot) && !self.foreign.contains(&slot) && !may_be_ended
    }

    /// Whether what a field holds was made for it, and other code only has what it has of a field of the same type that the destructor frees.
    fn goes_with_freed(&self, program: &Program, slot: Slot, freed: &[Slot]) -> bool {
        self.is_made_for(program, slot)
            && !self.given.contains(&slot)
            && self.lenders.has_freed_sister(program, slot, freed)
    }

    /// The same, though other fields may have it that nothing frees, and callers may be shown it.
    pub(crate) fn is_sole_owner(&self, program: &Program, table: &SlotTable, slot: Slot) -> bool {
        !self.taken.contains(&slot) && self.is_unshared(program, table, slot)
    }

    /// The same, or some function frees what the field holds: then what code does with it that nothing tells of is no reason
    /// to think that it owns it.
    pub(crate) fn is_owner(&self, program: &Program, table: &SlotTable, slot: Slot) -> bool {
        let may_be_elsewhere = match table.is_freed_by_some(&slot) {
            true => self.moved.contains(&slot),
            false => self.taken.contains(&slot),
        };
        !may_be_elsewhere && self.is_unshared(program, table, slot)
    }

    /// Whether a field receives what is made for it, and no other field has it that something frees.
    fn is_unshared(&self, program: &Program, table: &SlotTable, slot: Slot) -> bool {
        let frees = |to: &Slot| table.is_freed(to) || self.taken.contains(to) || self.shared.contains_key(to);
        let is_freed_elsewhere = self.shared.get(&slot).is_some_and(|others| others.iter().any(frees));
        // What another member of a union frees is the same.
        let is_member = program.type_info(slot.0).is_union;
        !is_member && !is_freed_elsewhere && self.is_made_for(program, slot)
    }

    /// Whether a field holds what was made for it, and nothing ends that without the field.
    fn is_made_for(&self, program: &Program, slot: Slot) -> bool {
        let field = program.type_info(slot.0).fields.iter().find(|field| field.offset == slot.1);
        let target = field.and_then(|field| field.target);
        let may_be_ended_elsewhere = target.is_some_and(|ty| {
            self.self_deleting.contains(&ty) || (self.returned.contains(&slot) && self.ended.contains(&ty))
        });
        !self.foreign.contains(&slot) && !may_be_ended_elsewhere
    }

    /// Where a container that is a field first receives a block, if it receives nothing but blocks made for it and no other code has it.
    pub(crate) fn own_elements(&self, slot: Slot) -> Option<AllocationLine> {
        let filled = self.shelves.filled.get(&slot.0).into_iter().flatten();
        let (_, origin) = filled.into_iter().find(|(filled, _)| *filled == slot)?;
        let is_shared = self.shelves.foreign.contains(&slot) || self.shelves.shared.contains(&slot);
        (!is_shared).then_some(*origin)
    }

    /// Whether elements of a container may delete themselves.
    pub(crate) fn may_go(&self, program: &Program, slot: Slot) -> bool {
        self.shelves.loose.iter().any(|ty| may_hold(program, slot, *ty))
    }

    /// Whether code that nothing tells of may have the contents of a field.
    pub(crate) fn is_taken(&self, slot: Slot) -> bool {
        self.taken.contains(&slot)
    }

    /// Whether a field may point to a part of its own structure, which is no block.
    pub(crate) fn may_point_inside(&self, slot: Slot) -> bool {
        self.inside.contains(&slot)
    }

    /// Whether some function returns what a field holds.
    pub(crate) fn is_returned(&self, slot: Slot) -> bool {
        self.returned.contains(&slot)
    }

    /// Whether some function may free structures of the kind that a field points to.
    pub(crate) fn is_target_ended(&self, program: &Program, slot: Slot) -> bool {
        let field = program.type_info(slot.0).fields.iter().find(|field| field.offset == slot.1);
        field.and_then(|field| field.target).is_some_and(|ty| self.ended.contains(&ty))
    }
}

/// The template of the program's own that a function is a member of, if it frees elements.
fn releasing_template(program: &Program, analysis: &Analysis, function: FuncId) -> Option<TypeId> {
    let freed = &analysis.reports[function].slots.shelves.freed_types;
    let class = class_of(program, function).filter(|_| !freed.is_empty())?;
    let name = program.type_name(class);
    let holds = |ty: &TypeId| holds_pointers_to(name, program.type_name(*ty));
    (is_own_pointer_template(name) && freed.iter().any(holds)).then_some(class)
}

/// A class and all that it inherits from.
pub(crate) fn with_bases(program: &Program, ty: TypeId) -> Vec<TypeId> {
    let mut found = vec![ty];
    let mut at = 0;
    while let Some(&ty) = found.get(at) {
        let bases = program.type_info(ty).fields.iter().filter(|field| field.is_base).filter_map(|field| field.target);
        let new: Vec<TypeId> = bases.filter(|base| !found.contains(base)).collect();
        found.extend(new);
        at += 1;
    }
    found
}

/// The class of a method that frees its own object.
fn deletes_itself(program: &Program, analysis: &Analysis, function: FuncId) -> Option<TypeId> {
    let symbol = program.function(function).symbol;
    if !symbol.starts_with("_ZN") || is_destructor(symbol) {
        return None;
    }
    let frees_this = analysis.summary(function).actions.iter().any(|action| {
        let is_this =
            matches!(&action.subject, Subject::Value(path) if path.root == PathRoot::Param(0) && path.steps.is_empty());
        is_this && matches!(action.to, Destination::Free { .. })
    });
    let class = frees_this.then(|| class_of(program, function)).flatten();
    class.filter(|class| !is_told_to(program, function, *class))
}

/// Whether a method only deletes its object, where others tell it to: `void destroy() { delete this; }` is a name for `delete`.
fn is_told_to(program: &Program, method: FuncId, class: TypeId) -> bool {
    let is_kin = |caller: FuncId| {
        class_of(program, caller).is_some_and(|other| {
            with_bases(program, other).contains(&class) || with_bases(program, class).contains(&other)
        })
    };
    let mut callers = program.callers(method).peekable();
    program.body_size(method).1 <= BOUNDS.deleting_method_insts && callers.peek().is_some() && !callers.any(is_kin)
}

/// The class whose method a function is.
pub(crate) fn class_of(program: &Program, function: FuncId) -> Option<TypeId> {
    let info = program.function(function);
    let pointee = info.declaration.params.first()?.pointee;
    let ty = pointee.target.filter(|_| pointee.depth == 1)?;
    Some(program.resolve_struct(info.unit, ty))
}

/// Candidates of all classes. `known`: what was found before.
pub(crate) fn missed_by_classes(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    flows: &Flows,
    known: &[Candidate],
) -> Vec<Candidate> {
    let owned = table.by_type();
    let concerns = |f: &FuncId| {
        let symbol = world.program.function(*f).symbol;
        // The others call this one.
        let is_common = is_destructor(symbol) && symbol.ends_with("D2Ev");
        is_common && !is_library(symbol) && world.program.has_body(*f)
    };
    let functions: Vec<FuncId> = world.program.functions().filter(concerns).collect();
    let found: Vec<Vec<Candidate>> = functions
        .par_iter()
        .with_max_len(4)
        .map(|f| of_destructor(world, analysis, table, &owned, flows, *f))
        .collect();
    let seen = seen_elsewhere(analysis, known);
    found.into_iter().flatten().filter(|c| !c.chain.iter().any(|origin| seen.contains(origin))).collect()
}

/// Allocations that other candidates name: those tell where an object of the class is lost, which is easier to believe.
pub(crate) fn seen_elsewhere(analysis: &Analysis, known: &[Candidate]) -> FxHashSet<AllocationLine> {
    let reported = analysis.reports.values().flat_map(|report| &report.candidates);
    let shown = reported.chain(known).filter(|candidate| !candidate.hidden && candidate.loss != Loss::Thrown);
    shown.flat_map(|candidate| candidate.chain.iter().copied()).collect()
}

/// Classes with a destructor of their own. Code frees the raw memory of such objects after it has destroyed them, as containers do.
pub(crate) fn with_destructors(program: &Program) -> FxHashSet<TypeId> {
    let is_destructor = |f: &FuncId| {
        let symbol = program.function(*f).symbol;
        is_destructor(symbol) && symbol.ends_with("D2Ev")
    };
    program.functions().filter(is_destructor).filter_map(|f| class_of(program, f)).collect()
}

fn is_library(symbol: &str) -> bool {
    symbol.starts_with("_ZNSt") || symbol.starts_with("_ZN9__gnu_cxx")
}

/// Fields of a class that its destructor leaves as they were.
fn of_destructor(
    world: &World<'_>,
    analysis: &Analysis,
    table: &SlotTable,
    owned: &OwnedFields,
    flows: &Flows,
    function: FuncId,
) -> Vec<Candidate> {
    let program = world.program;
    let Some(ty) = class_of(program, function) else { return Vec::new() };
    let fields: &[(Slot, AllocationLine)] = owned.get(&ty).map(Vec::as_slice).unwrap_or_default();
    // An array that the destructor leaves is a finding of its own, or is not the class's.
    let frees = |slot: &Slot| analysis.reports[function].slots.freed.contains(slot);
    let mut shelves = flows.shelves.left(program, ty);
    shelves.retain(|(slot, _)| !is_array_field(program, *slot) || frees(slot));
    let frees_others = |slot: Slot| analysis.reports[function].slots.freed.iter().any(|freed| freed.0 == slot.0);
    let is_other = |slot: Slot| !fields.iter().any(|(known, _)| *known == slot);
    let mut undeleted = flows.undeleted.fields_of(program, ty);
    let ends = |slot: Slot| frees_others(slot) || flows.undeleted.may_be_deleted(program, ty);
    undeleted.retain(|(slot, _)| is_other(*slot) && ends(*slot) && !flows.foreign.contains(slot));
    if fields.is_empty() && shelves.is_empty() && undeleted.is_empty() {
        return Vec::new();
    }
    let Some(body) = program.body(function) else { return Vec::new() };
    let Some(end) = body.insts.iter().find(|(_, inst)| matches!(inst, Inst::Return { .. })).map(|(id, _)| id) else {
        return Vec::new();
    };
    let is_suspect = |slot: Slot| {
        let is_shown = || frees_others(slot) && flows.is_only_shown(program, slot);
        let has_sister = || flows.goes_with_freed(program, slot, &analysis.reports[function].slots.freed);
        let rules = &world.config.rules;
        flows.is_private(program, slot)
            || rules.applies(Rule::ShownFields, is_shown())
            || rules.applies(Rule::FreedSisters, has_sister())
    };
    let suspects: Vec<&(Slot, AllocationLine)> = fields.iter().filter(|(slot, _)| is_suspect(*slot)).collect();
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let mut summarizer = Summarizer::new(world, function, &body, &summary_of, analysis.special(function));
    let lost = |(slot, origin)| {
        Candidate::of_structure(function, end, Loss::MissedByDestructor(slot), origin, Some(Ground::LeftElements))
    };
    let mut found: Vec<Candidate> = shelves.into_iter().map(lost).collect();
    let rules = &world.config.rules;
    undeleted.retain(|(slot, _)| is_left(&mut summarizer, *slot) && rules.applies(Rule::UndeletedClasses, true));
    let left = |(slot, origin)| {
        Candidate::of_structure(function, end, Loss::MissedByDestructor(slot), origin, Some(Ground::NeverDeleted))
    };
    found.extend(undeleted.into_iter().map(left));
    for &(slot, origin) in suspects {
        if is_left(&mut summarizer, slot) {
            // Freed by a method that leaves the object alive: its users may be meant to call that first. And a destructor that frees
            // nothing leaves that to others.
            let is_left_to_others = table.is_freed(&slot) && (table.is_emptied(&slot) || !frees_others(slot));
            let is_left_full = is_left_to_others && table.is_left_by_fillers(&slot);
            let hidden = is_left_to_others && !world.config.rules.applies(Rule::FillersRelease, is_left_full);
            let ground = (!hidden).then_some(Ground::LeftByDestructor);
            found.push(Candidate::of_structure(function, end, Loss::MissedByDestructor(slot), origin, ground));
        }
    }
    found
}

/// Whether a destructor leaves a field of its object alone.
fn is_left(summarizer: &mut Summarizer<'_>, slot: Slot) -> bool {
    match summarizer.view.values.parameter(0) {
        Some(base) => stays(summarizer, Cell { base, offset: Offset::Known(slot.1 as i64) }),
        // Nothing in the destructor even looks at the object.
        None => true,
    }
}
