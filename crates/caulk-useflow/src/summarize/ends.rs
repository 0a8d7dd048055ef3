//! What has become of an object at the end of the function, and the candidates that follow from it.

use caulk_ir::{InstId, Operand, Type};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, ValueId, ValueNode};
use caulk_models::Resource;
use caulk_program::{FuncId, TypeId, is_constructor};

use super::{Exit, Summarizer};
use crate::alternative::{Alternative, Status};
use crate::candidate::{Candidate, Kind, Loss};
use crate::guards::returned;
use crate::objects::Fresh;
use caulk_rules::Rule;
use caulk_summary::Event;

pub(crate) enum Ownership {
    /// Freed, kept or given away.
    Settled,
    /// Held by another object of this function.
    Held,
    /// The caller can reach it by these paths.
    HandedOut(Vec<AccessPath>),
    Leaked,
}

impl Summarizer<'_> {
    /// What has become of a live object at an exit.
    pub(crate) fn ownership(&mut self, (exit, alternative): &Exit, own_cell: Option<Cell>) -> Ownership {
        if alternative.status != Status::Live {
            return Ownership::Settled;
        }
        let value = returned(&self.view, *exit);
        let mut paths = Vec::new();
        let mut passed_down = Vec::new();
        let mut held = false;
        if let Some(Operand::Value(v)) = value
            && alternative.has_name(v)
        {
            paths.push(AccessPath::root(PathRoot::Return));
        }
        let returned_base = value.and_then(|v| self.view.values.of_operand(v)).map(|c| c.base);
        for cell in alternative.holders() {
            if Some(*cell) == own_cell {
                continue;
            }
            if let Some(path) = self.view.values.cell_path(*cell) {
                // What main sets stays set until the program ends.
                let is_passed_down = matches!(path.root, PathRoot::Global(g) if self.view.program.only_passes_down(g))
                    && path.steps.len() == 1
                    && !self.view.program.is_entry(self.view.id);
                if is_passed_down { &mut passed_down } else { &mut paths }.push(path);
                continue;
            }
            match self.path_from_result(*cell, returned_base) {
                Some(path) => paths.push(path),
                // A local dies with the function; what a local leads to goes on holding it. A neighbour that is known by the
                // object alone (`list->next->previous`) holds it for the owner of the neighbour: stage two looks which that is.
                None => {
                    let is_local = matches!(self.view.values.node(cell.base), ValueNode::Local(_) | ValueNode::Nothing);
                    let is_own = alternative.own.is_some_and(|own| self.view.values.is_reached_from(cell.base, own));
                    let mut hangs = || alternative.own.is_some_and(|own| self.view.hangs_on(cell.base, own));
                    held |= !is_local && !is_own && !hangs();
                }
            }
        }
        match (paths.is_empty(), held) {
            (false, _) => {
                paths.extend(passed_down);
                Ownership::HandedOut(paths)
            }
            // A variable that is not read again before it is set again holds nothing.
            (true, true) => Ownership::Held,
            _ => Ownership::Leaked,
        }
    }

    /// The path of a cell from the returned value.
    pub(super) fn path_from_result(&self, cell: Cell, result: Option<ValueId>) -> Option<AccessPath> {
        let result = result?;
        let mut steps: Vec<(Offset, Option<(TypeId, u64)>)> = vec![(cell.offset, self.view.values.field(cell))];
        let mut base = cell.base;
        while base != result {
            let ValueNode::Load(next, offset) = self.view.values.node(base) else { return None };
            steps.push((offset, self.view.values.field(Cell { base: next, offset })));
            base = next;
        }
        let root = AccessPath::root(PathRoot::Return);
        Some(steps.into_iter().rev().fold(root, |path, (offset, field)| path.then(offset, field)))
    }

    pub(super) fn add_candidate(&mut self, object: &Fresh, exit: InstId, alternative: &Alternative, in_loop: bool) {
        let (place, overwritten) = alternative.lost.unwrap_or((exit, in_loop));
        let ends_program = self.view.program.is_entry(self.view.id);
        // What a program still holds when main returns is given back by the system.
        let is_at_exit = ends_program
            && (alternative.lost.is_none() || place == exit || self.leads_only_to(place, exit))
            && !in_loop;
        // A part is given back with the object that holds it, and what was overwritten just before the end is held no more.
        if is_at_exit && (!self.view.config.at_exit || object.is_part || overwritten) {
            return;
        }
        let kind = match (is_at_exit, overwritten) {
            (true, _) => Kind::AtExit,
            (false, true) => Kind::Lost,
            (false, false) => Kind::Forgotten,
        };
        let variable = self.variable_of(object, alternative);
        let new = Candidate {
            function: self.view.id,
            allocation: object.call,
            block: object.block,
            family: object.family,
            chain: object.chain.clone(),
            place,
            exit,
            kind,
            variable,
            loss: Loss::Path,
            hidden: object.hidden
                || object.is_callers_choice
                || alternative.rests_on_opaque
                || alternative.rests_on_unnamed,
            ground: None,
            is_part: object.is_part,
            trail: self.history.trail(alternative.event),
        };
        // Numbers in memory are not followed here, so that of two ends of a pipe neither seems to be closed: stage two is asked about each.
        let is_number = self.world.models.family(object.family).resource == Some(Resource::Descriptor);
        let is_same = |c: &Candidate| {
            (c.allocation, c.place) == (new.allocation, new.place) && (!is_number || c.block == new.block)
        };
        if !self.report.candidates.iter().any(is_same) {
            self.report.candidates.push(new);
        }
    }

    /// Asks stage two about an object that was given to a callee which tells by its status how it went, but takes it on paths
    /// that its summary cannot distinguish.
    pub(super) fn ask(&mut self, object: &Fresh, exit: InstId, alternative: &Alternative) {
        let is_whole = !object.hidden && !object.is_callers_choice && !object.is_part;
        let is_taken = alternative.rests_on_opaque && matches!(alternative.status, Status::Kept | Status::Freed);
        if !is_whole || !is_taken || !self.world.config.rules.is_on(Rule::Questions) {
            return;
        }
        let trail = self.history.trail(alternative.event);
        let taken_by = trail.iter().rev().find(|(_, event)| matches!(event, Event::Kept | Event::Freed));
        if !taken_by.is_some_and(|(call, _)| self.is_small_callee(*call) && self.is_given(*call, object)) {
            return;
        }
        let before = self.report.candidates.len();
        self.add_candidate(object, exit, alternative, false);
        if self.report.candidates[before..].iter().any(|c| c.kind == Kind::AtExit) {
            self.report.candidates.truncate(before);
        }
        self.report.candidates[before..].iter_mut().for_each(|c| c.loss = Loss::Question);
        self.world.config.rules.note(Rule::Questions, self.report.candidates.len() - before);
    }

    /// An exception leaves the function while nothing outside of the function owns the object. What a constructor has put into its object is lost
    /// too: the destructor does not run.
    pub(super) fn leave_by_throw(&mut self, object: &Fresh, exit: InstId, alternative: &Alternative) {
        let values = &self.view.values;
        let in_constructor = is_constructor(self.view.program.function(self.view.id).symbol);
        let is_lost_with = |cell: &Cell| match values.node(cell.base) {
            ValueNode::Local(_) | ValueNode::Nothing => true,
            ValueNode::Param(0) => in_constructor,
            _ => alternative.own.is_some_and(|own| values.is_reached_from(cell.base, own)),
        };
        // An exception that leaves main ends the program.
        if self.view.program.is_entry(self.view.id) {
            return;
        }
        // What a callee may have put into a container of the function's own is there if anything is.
        let places = &object.first.cells;
        let is_element = !places.is_empty() && places.iter().all(|cell| cell.offset == Offset::Any);
        let is_certain = !object.is_opaque || is_element;
        let is_whole = !object.hidden && !object.is_callers_choice && !object.is_part && is_certain;
        if !is_whole || !alternative.holders().all(is_lost_with) {
            return;
        }
        let before = self.report.candidates.len();
        self.add_candidate(object, exit, alternative, false);
        for candidate in &mut self.report.candidates[before..] {
            candidate.loss = Loss::Thrown;
            candidate.kind = Kind::Forgotten;
            candidate.place = alternative.thrown_by.unwrap_or(exit);
        }
    }

    /// Whether the call is given the object itself, and answers with a status.
    fn is_given(&self, call: InstId, object: &Fresh) -> bool {
        let Some(data) = self.view.body.insts[call].call() else { return false };
        let is_object = |arg: &Operand| {
            let base = self.view.values.of_operand(*arg).map(|cell| cell.base);
            base.is_some() && base == object.first.own
        };
        matches!(data.ret, Type::Int(_)) && data.args.iter().any(is_object)
    }

    fn is_small_callee(&self, call: InstId) -> bool {
        let program = self.view.program;
        let targets = program.call_site(self.view.id, call).map(|site| program.targets(site)).unwrap_or_default();
        let is_small =
            |f: &FuncId| program.has_body(*f) && program.body_size(*f).1 <= self.view.config.max_question_size;
        targets.len() == 1 && targets.iter().all(is_small)
    }

    /// Whether a scope end lies in the same block as the exit: it is the exit's own.
    pub(super) fn leads_only_to(&self, place: InstId, exit: InstId) -> bool {
        self.view.homes[place] == self.view.homes[exit]
    }

    /// The variable that held the object last.
    pub(super) fn variable_of(&self, object: &Fresh, alternative: &Alternative) -> Option<caulk_ir::VarId> {
        alternative.vars.first().copied().or(alternative.last_variable).or(object.first.last_variable)
    }
}
