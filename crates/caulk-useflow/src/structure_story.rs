//! What a function that ends a structure does with the fields that own memory, and why the rules for destructors report a field or
//! do not: for `caulk why` on a line that frees.

use std::fmt;

use caulk_program::{FuncId, Program, TypeId, is_destructor};
use caulk_rules::Rule;

use crate::adopted::Adopted;
use crate::candidate::Candidate;
use crate::classes::{Flows, class_of};
use crate::destructors::{comes_from_maker, is_head, is_lost_with_its_structure};
use crate::explain::Explainer;
use crate::schedule::Analysis;
use crate::slot_table::SlotTable;
use crate::slots::{Destroyed, Slot};
use crate::summarize::{Summarizer, World};

/// A structure that a function ends, or of which it frees fields.
#[derive(Clone, Debug)]
pub struct StructureStory {
    pub ty: TypeId,
    pub end: StructureEnd,
    /// In the order of their offsets.
    pub fields: Vec<FieldStory>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StructureEnd {
    /// It is freed in this line.
    Freed(u32),
    /// The function is the destructor of the class.
    Destructed,
    /// It lives on.
    Left,
}

/// A field that receives new memory somewhere.
#[derive(Clone, Debug)]
pub struct FieldStory {
    pub slot: Slot,
    /// Where it receives that first.
    pub filled: (FuncId, u32),
    pub outcome: FieldOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldOutcome {
    Freed,
    /// `hidden`: it rests on too little to be shown by default.
    Candidate {
        hidden: bool,
    },
    NotReported(&'static str),
}

impl fmt::Display for FieldOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Freed => f.write_str("freed by this function"),
            Self::Candidate { hidden: false } => f.write_str("not freed: reported"),
            Self::Candidate { hidden: true } => f.write_str("not freed: reported with --min-confidence low only"),
            Self::NotReported(why) => write!(f, "not freed, and not reported: {why}"),
        }
    }
}

impl Explainer<'_> {
    /// The structures that a function ends, and those of which it frees fields. Empty where no field of theirs owns memory.
    pub fn structures(&self, function: FuncId) -> Vec<StructureStory> {
        let world = self.world();
        let (program, analysis) = (self.program(), self.analysis());
        let Some(body) = program.body(function) else { return Vec::new() };
        let adopted = Adopted::new(program, analysis, world.config.rules.is_on(Rule::AdoptedFields));
        let table = SlotTable::new(program, analysis, &adopted);
        let flows = Flows::new(program, analysis, adopted);
        let facts = Facts { world: &world, analysis, table: &table, flows: &flows, function };
        let summary_of = |f: FuncId| Some(analysis.summary(f));
        let mut summarizer = Summarizer::new(&world, function, &body, &summary_of, analysis.special(function));
        let slots = &analysis.reports[function].slots;
        let mut stories = Vec::new();
        for destroyed in &slots.destroyed {
            let line = body.place(destroyed.call).line;
            stories.push(facts.story(destroyed.ty, StructureEnd::Freed(line), |slot| {
                facts.why_freed_without(&mut summarizer, destroyed, slot)
            }));
        }
        let class = class_of(program, function).filter(|_| is_destructor(program.function(function).symbol));
        stories.extend(class.map(|ty| facts.story(ty, StructureEnd::Destructed, |slot| facts.why_not_of_class(slot))));
        let is_told = |ty: TypeId| stories.iter().any(|story: &StructureStory| story.ty == ty);
        let released: Vec<TypeId> = slots.released.iter().map(|r| r.ty).filter(|ty| !is_told(*ty)).collect();
        let left = "the structure lives on, and this function does not free most of its other fields";
        stories.extend(released.into_iter().map(|ty| facts.story(ty, StructureEnd::Left, |_| left)));
        stories.retain(|story| !story.fields.is_empty());
        stories.sort_by_key(|story| (story.end, story.ty));
        stories.dedup_by_key(|story| (story.end, story.ty));
        stories
    }
}

/// What is known of the whole program, for one function.
struct Facts<'a> {
    world: &'a World<'a>,
    analysis: &'a Analysis,
    table: &'a SlotTable,
    flows: &'a Flows,
    function: FuncId,
}

impl Facts<'_> {
    fn program(&self) -> &Program {
        self.world.program
    }

    fn story(&self, ty: TypeId, end: StructureEnd, mut why: impl FnMut(Slot) -> &'static str) -> StructureStory {
        let owned = self.table.by_type();
        let fields = owned.get(&ty).into_iter().flatten().map(|(slot, (maker, line))| {
            let filled = (*maker, self.program().line_of(*maker, *line));
            let outcome = self.known(*slot).unwrap_or_else(|| FieldOutcome::NotReported(why(*slot)));
            FieldStory { slot: *slot, filled, outcome }
        });
        StructureStory { ty, end, fields: fields.collect() }
    }

    fn known(&self, slot: Slot) -> Option<FieldOutcome> {
        let report = &self.analysis.reports[self.function];
        if report.slots.freed.contains(&slot) {
            return Some(FieldOutcome::Freed);
        }
        let is_of_slot = |candidate: &&Candidate| candidate.loss.slot() == Some(slot);
        let candidate = report.candidates.iter().filter(is_of_slot).min_by_key(|candidate| candidate.hidden)?;
        Some(FieldOutcome::Candidate { hidden: candidate.hidden })
    }

    /// Why a field of a structure that is freed is not reported, in the order in which the rule asks.
    fn why_freed_without(&self, summarizer: &mut Summarizer<'_>, destroyed: &Destroyed, slot: Slot) -> &'static str {
        let is_freed = self.table.is_freed(&slot);
        if !self.world.config.rules.is_on(Rule::MissedFields) {
            "the rule `missed-fields` is switched off"
        } else if !destroyed.seen_to.leaves(slot.1) {
            "another call that is given the structure frees what it holds"
        } else if comes_from_maker(self.program(), self.analysis, self.function, destroyed) {
            "the structure comes from a function that makes such structures, and may hold nothing yet"
        } else if !is_freed && !destroyed.frees_fields {
            "nothing in the program frees it, and this function frees no other field of the structure"
        } else if !is_freed && self.flows.is_taken(slot) {
            "nothing in the program frees it, and other code gets what it holds"
        } else if is_head(self.program(), self.analysis, self.function, &slot) {
            "the structure is the head of a list, and its nodes hold the memory"
        } else if !is_lost_with_its_structure(summarizer, destroyed, slot) {
            "on some path this function uses what it holds, and may move, keep or free it"
        } else {
            "this function frees fewer fields than it leaves, so only one of them is reported"
        }
    }

    /// Why a field that a class's destructor leaves is not reported.
    fn why_not_of_class(&self, slot: Slot) -> &'static str {
        if !self.world.config.rules.is_on(Rule::ClassFields) {
            "the rule `class-fields` is switched off"
        } else if !self.flows.is_private(self.program(), slot) {
            "other code may have what it holds"
        } else {
            "the destructor uses it, or the loss of an object of this class is reported where it happens"
        }
    }
}
