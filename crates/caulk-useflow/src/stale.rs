//! Which facts a call may make untrue: what they are about is read from memory that the callee may write.

use caulk_ir::{BlockId, Inst, InstId};
use caulk_memory::{Cell, Class, Offset, Relation, ValueNode};
use caulk_program::FuncId;
use caulk_summary::{Action, Destination, Subject};
use smallvec::SmallVec;

use crate::fact_list::learn;
use crate::facts::{FactList, Key, KeyId};
use crate::function::View;
use crate::modified::WriteId;
use crate::saved::{Initial, SavedLoads};

/// For 64 keys: whether it is known if a call makes facts about them untrue, and if so, whether it does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    known: u64,
    stale: u64,
}

/// The memory that the value of a key is read from.
#[derive(Debug, Default)]
struct KeyPlaces {
    /// Fields and globals, by their numbers; those that nothing writes are left out.
    numbers: SmallVec<[WriteId; 2]>,
    /// Cells that a callee can write when it is given a pointer to them.
    given: SmallVec<[Given; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Given {
    cell: Cell,
    /// Code that has a pointer to the object writes such a field by its type; only a pointer to the field itself writes it as
    /// plain memory.
    is_field: bool,
    /// The field, where the object is a local.
    number: Option<WriteId>,
}

impl View<'_> {
    /// Drops the facts that a call may have made untrue.
    pub(crate) fn forget_written(&mut self, call: InstId, facts: &mut FactList) {
        let assigned = self.assigned_by(call, facts);
        self.forget_stale(call, facts);
        for fact in assigned {
            facts.retain(|known| known.0 != fact.0);
            learn(facts, fact, self.config.max_facts);
        }
    }

    fn forget_stale(&mut self, call: InstId, facts: &mut FactList) {
        if facts.is_empty() {
            return;
        }
        let Some(site) = self.program.call_site(self.id, call) else { return };
        let program = self.program;
        let targets = program.targets(site);
        if !facts.iter().any(|(key, _)| self.is_stale(call, targets, *key)) {
            return;
        }
        let mut carried = FactList::new();
        for &(key, relation) in facts.iter() {
            if self.is_stale(call, targets, key)
                && let Key::Loaded(cell) = self.keys.get(key)
            {
                carried.extend(self.carry_over(cell, relation));
            }
        }
        facts.retain(|(key, _)| !self.is_stale(call, targets, *key));
        for fact in carried {
            learn(facts, fact, self.config.max_facts);
        }
    }

    /// Whether a call may write what a key is read from; asked often, so the answers are kept.
    fn is_stale(&mut self, call: InstId, targets: &[FuncId], key: KeyId) -> bool {
        let (word, bit) = (key.index() / 64, 1u64 << (key.index() % 64));
        let answers = self.stale[call].get_or_insert_default();
        if answers.len() <= word {
            answers.resize(word + 1, Answers::default());
        }
        if answers[word].known & bit != 0 {
            return answers[word].stale & bit != 0;
        }
        let is_stale = self.asks_stale(call, targets, key);
        if let Some(answers) = &mut self.stale[call] {
            answers[word].known |= bit;
            answers[word].stale |= if is_stale { bit } else { 0 };
        }
        is_stale
    }

    fn asks_stale(&self, call: InstId, targets: &[FuncId], key: KeyId) -> bool {
        let mut places = KeyPlaces::default();
        self.keys.depends_on(key, &mut |k| {
            if let Key::Loaded(cell) = k {
                self.add_places(cell, &mut places);
            }
        });
        self.may_write(call, targets, &places)
    }

    /// What is known of a cell that is being written goes on to be known of the values that were read from it, and of what it
    /// held on entry.
    pub(crate) fn carry_over(&mut self, cell: Cell, relation: Relation) -> FactList {
        let here = self.keys.here;
        let loads: SmallVec<[InstId; 2]> = self.keys.saved.current(cell, here).collect();
        let mut carried: FactList = loads.into_iter().map(|load| (self.keys.of_inst(load), relation)).collect();
        // What is written only where there is null, and is null now, was null from the first.
        if self.is_initial(cell, here) || (relation == Relation::ZERO && self.is_first_filled(cell)) {
            carried.push((self.keys.of_initial(cell), relation));
        }
        carried
    }

    /// Whether the function and what it calls write a cell that a caller can name only where it is null.
    pub(crate) fn is_first_filled(&mut self, cell: Cell) -> bool {
        if !matches!(self.values.root(cell.base), ValueNode::Param(_)) {
            return false;
        }
        let by_type = || match cell.offset {
            Offset::Known(offset) => Some((self.values.structure(cell.base)?, u64::try_from(offset).ok()?)),
            Offset::Any => None,
        };
        let field = self.values.own_field(cell).or_else(|| self.asked_fields.get(&cell).copied()).or_else(by_type);
        let Some((ty, offset)) = field else { return false };
        let Class::Field(ty, offset) = Class::of_field(self.program, ty, offset) else { return false };
        if !self.modified.keeps_full(self.id, ty, offset) {
            return false;
        }
        if let Some(known) = self.first_filled.get(&cell) {
            return *known;
        }
        // Code that was not read is not among those whose writes are known.
        let is_unread = |inst: InstId| match self.program.call_site(self.id, inst) {
            Some(site) => {
                let targets = self.program.targets(site);
                targets.is_empty() || targets.iter().any(|t| !self.program.has_body(*t))
            }
            None => false,
        };
        let is_first_filled = !self.body.insts.keys().any(|inst| is_unread(inst) && self.writes_cell(inst, cell));
        self.first_filled.insert(cell, is_first_filled);
        is_first_filled
    }

    /// Whether a cell that a caller can name surely holds here what it held when the function was entered.
    pub(crate) fn is_initial(&mut self, cell: Cell, here: (BlockId, InstId)) -> bool {
        if !matches!(self.values.root(cell.base), ValueNode::Param(_)) {
            return false;
        }
        if !self.initial.contains_key(&cell) {
            // What was freed is not read again: it writes nothing that a caller could ask for.
            let may_write = |inst| !self.only_frees(inst) && self.writes_cell(inst, cell);
            let initial = Initial::new(self.body, &self.homes, may_write);
            self.initial.insert(cell, initial);
        }
        self.initial[&cell].holds(here)
    }

    /// Whether a call does nothing but free its argument: `free(p)`.
    fn only_frees(&self, inst: InstId) -> bool {
        let frees = |action: &Action| match (&action.subject, &action.to) {
            (Subject::Value(path), Destination::Free { .. }) => path.steps.is_empty(),
            _ => false,
        };
        let Some(site) = self.program.call_site(self.id, inst) else { return false };
        let is_library = !self.program.targets(site).iter().any(|target| self.program.has_body(*target));
        let actions = self.calls[inst].as_ref().map(|effect| &effect.summary.actions);
        is_library && actions.is_some_and(|actions| !actions.is_empty() && actions.iter().all(frees))
    }

    /// Finds the values that are used after the memory they were read from may have been written.
    pub(crate) fn find_saved_loads(&mut self) {
        let saved = SavedLoads::new(self.body, &self.values, self.liveness(), &self.homes, |inst, cell| {
            self.writes_cell(inst, cell)
        });
        self.keys.saved = saved;
    }

    /// Whether an instruction may write a cell.
    fn writes_cell(&self, inst: InstId, cell: Cell) -> bool {
        match &self.body.insts[inst] {
            Inst::Store { address, .. } => {
                let is_cell = |c: Cell| c.base == cell.base && c.offset.meets(cell.offset);
                self.values.of_operand(*address).is_some_and(|c| is_cell(c) || self.also_written(c).any(is_cell))
            }
            Inst::Copy { dst, .. } | Inst::Fill { dst, .. } => {
                let is_cell = |c: Cell| c.base == cell.base;
                self.values.of_operand(*dst).is_some_and(|c| is_cell(c) || self.also_written(c).any(is_cell))
            }
            _ => {
                let Some(site) = self.program.call_site(self.id, inst) else { return false };
                let mut places = KeyPlaces::default();
                self.add_places(cell, &mut places);
                self.may_write(inst, self.program.targets(site), &places)
            }
        }
    }

    fn may_write(&self, call: InstId, targets: &[FuncId], places: &KeyPlaces) -> bool {
        let writes = |number: WriteId| targets.iter().any(|t| self.modified.has(*t, number));
        if places.numbers.iter().any(|n| writes(*n)) {
            return true;
        }
        // Unknown code writes all of what it is given.
        let is_unseen = targets.is_empty() || targets.iter().any(|t| !self.program.has_body(*t));
        let writes_plain = targets.is_empty() || self.modified.number(Class::Other).is_some_and(&writes);
        places.given.iter().any(|given| {
            let may_write = writes_plain || given.number.is_some_and(&writes);
            may_write && self.is_given(call, given.cell, given.is_field && !is_unseen)
        })
    }

    /// Whether an argument points into the object that a cell is in, or to just that cell.
    fn is_given(&self, call: InstId, cell: Cell, exactly: bool) -> bool {
        let Some(data) = self.body.insts[call].call() else { return false };
        let points = |arg: Cell| {
            arg.base == cell.base && (!exactly || (arg.offset == cell.offset && arg.offset != Offset::ZERO))
        };
        data.args.iter().any(|arg| self.values.of_operand(*arg).is_some_and(points))
    }

    /// The place of a cell, and of every pointer on the way to it.
    fn add_places(&self, mut cell: Cell, places: &mut KeyPlaces) {
        loop {
            let node = self.values.node(cell.base);
            let field = self.values.own_field(cell).or_else(|| self.asked_fields.get(&cell).copied());
            let field = field.map(|(ty, offset)| Class::of_field(self.program, ty, offset));
            let number = field.and_then(|place| self.modified.number(place));
            // What is given back by value is in a place that only this function has.
            let is_local = match node {
                ValueNode::Local(_) => true,
                ValueNode::Param(index) => self.is_result(index),
                _ => false,
            };
            match (node, field) {
                (ValueNode::Global(global), None) => places.numbers.extend(self.modified.number(Class::Global(global))),
                (_, Some(_)) if !is_local => places.numbers.extend(number),
                _ => {}
            }
            let is_field = field.is_some() && !is_local;
            places.given.push(Given { cell, is_field, number: number.filter(|_| is_local) });
            match node {
                ValueNode::Load(base, offset) => cell = Cell { base, offset },
                _ => return,
            }
        }
    }
}
