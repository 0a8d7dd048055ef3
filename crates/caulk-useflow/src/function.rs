//! Everything stage one knows of a function while it works on it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::{Deref, Range};
use std::rc::Rc;

use caulk_ir::{BinaryOp, Body, EntityVec, Inst, InstId, Operand, Outline, Step, Type, line_below};
use caulk_memory::{AccessPath, Cell, PathRoot, Relation, ValueId, ValueNode, ValueTable};
use caulk_program::{FuncId, Program, copied_errnos};
use caulk_rules::Rule;
use caulk_summary::{Guard, Summary};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::apart::Apart;
use crate::asked_numbers::AssignedBy;
use crate::bounds::BOUNDS;
use crate::call_effect::{CallEffect, effect_of, without_sealed_blocks};
use crate::callbacks::{Special, special};
use crate::config::UseflowConfig;
use crate::exceptions::{Throwing, throwing_calls};
use crate::facts::{FactList, Keys, number_of};
use crate::freeing_loops::FreeingLoops;
use crate::modified::Modified;
use crate::saved::Initial;
use crate::settled::settled_pointers;
use crate::slots::Slot;
use crate::stale::Answers;
use crate::steps::Steps;
use crate::survey::Survey;
use crate::which_way::Ways;

pub(crate) struct View<'a> {
    pub program: &'a Program,
    pub config: &'a UseflowConfig,
    pub modified: &'a Modified,
    pub survey: &'a Survey,
    pub id: FuncId,

    pub body: &'a Body,
    pub values: ValueTable,
    pub keys: Keys,
    pub outline: Outline<'a>,
    pub steps: Steps,
    pub freeing_loops: FreeingLoops,
    /// What is known of parameters where paths meet: see [`crate::apart`].
    pub apart: Apart,
    /// The effect of each call, by instruction; None where there is none.
    pub calls: EntityVec<InstId, Option<Rc<CallEffect<'a>>>>,
    /// Blocks run so far, for all objects.
    pub block_runs: u32,
    /// More objects than the configuration allows: some are not followed.
    pub too_many_objects: bool,
    /// Some guard was told loosely.
    pub loosely_told: bool,
    /// Calls of functions that only compute, and the arguments whose zero they keep.
    pub zero_keepers: FxHashMap<InstId, SmallVec<[usize; 2]>>,
    /// Loads of `errno` that are copied, not compared.
    pub copied_errnos: Vec<InstId>,
    /// Which facts each call makes untrue, as far as was asked.
    pub stale: EntityVec<InstId, Option<Vec<Answers>>>,
    /// Calls that may end in an exception.
    pub throwing: Throwing,
    /// Numbers of status objects that calls set.
    pub assigned: AssignedBy,
    /// The fields that callees know numbers of status objects by.
    pub asked_fields: FxHashMap<Cell, Slot>,
    /// Where else a store through a choice between pointers may go, by the choice.
    pub choices: FxHashMap<ValueId, Vec<Cell>>,
    /// Where cells that were asked for may have been written since the entry.
    pub initial: FxHashMap<Cell, Initial>,
    /// For cells that were asked about, whether the function writes them only where they are null.
    pub first_filled: FxHashMap<Cell, bool>,
    /// Blocks that hang on an object, as far as was asked: see [`crate::backlinks`].
    pub hanging: FxHashMap<(ValueId, ValueId), bool>,
    /// Parts of an object that are put elsewhere, as far as was asked, and where values are mentioned: see there, too.
    pub put_elsewhere: FxHashMap<(ValueId, ValueId), bool>,
    pub mentions: OnceCell<FxHashMap<ValueId, Vec<InstId>>>,
    /// Cells of local variables that one address is stored to, and nothing else: see [`settled_pointers`].
    pub settled: FxHashMap<Cell, Option<Cell>>,
}

/// A view is the outline of the body, and what stage one knows besides.
impl<'a> Deref for View<'a> {
    type Target = Outline<'a>;

    fn deref(&self) -> &Outline<'a> {
        &self.outline
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(
        program: &'a Program,
        config: &'a UseflowConfig,
        survey: &'a Survey,
        id: FuncId,
        body: &'a Body,
        summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
        known: &Special,
    ) -> Self {
        let unit = program.function(id).unit;
        let mut calls: EntityVec<InstId, Option<Rc<CallEffect<'a>>>> = vec![None; body.insts.len()].into();
        let mut keys = Keys::default();
        let outline = Outline::new(body);
        keys.ways = Ways::new(body, &outline);
        for site in program.call_sites(id) {
            let effect = match special(known, site.inst) {
                Some(summary) => Some(CallEffect { summary: Cow::Owned(Summary::clone(summary)), unknown: false }),
                None => effect_of(program, config, site, summary_of)
                    .map(|effect| without_sealed_blocks(program, config, body, site, effect, summary_of)),
            };
            calls[site.inst] = effect.map(Rc::new);
            if let [only] = program.targets(site)
                && summary_of(*only).is_some_and(|s| !s.impure && s.actions.is_empty())
            {
                keys.set_pure(site.inst, *only);
            }
        }
        let zero_keepers = zero_keepers(program, id, body);
        let inside = |inst: InstId| calls[inst].as_ref().and_then(|c| c.summary.result_inside);
        let values = ValueTable::new(program, unit, body, &inside);
        let settled = settled_pointers(body, &values, &calls);
        let choices = stored_choices(body, &values);
        let throwing = throwing_calls(program, id, body, summary_of, &config.rules);
        let mut view = Self {
            program,
            config,
            modified: &survey.modified,
            survey,
            id,

            body,
            values,
            keys,
            outline,
            steps: Steps::new(body),
            freeing_loops: FreeingLoops::default(),
            apart: Apart::new(body),
            calls,
            zero_keepers,
            copied_errnos: copied_errnos(program.unit(unit), body),
            stale: vec![None; body.insts.len()].into(),
            throwing,
            assigned: FxHashMap::default(),
            asked_fields: FxHashMap::default(),
            choices,
            initial: FxHashMap::default(),
            first_filled: FxHashMap::default(),
            hanging: FxHashMap::default(),
            put_elsewhere: FxHashMap::default(),
            mentions: OnceCell::new(),
            settled,
            too_many_objects: false,
            block_runs: 0,
            loosely_told: false,
        };
        let asked = view.name_asked_cells();
        view.find_asked_numbers(summary_of, asked);
        view.find_saved_loads();
        view.freeing_loops = FreeingLoops::new(&mut view);
        view
    }

    /// Gives keys to the cells that callees ask about, so that what they are initialised with is noticed.
    fn name_asked_cells(&mut self) -> Vec<Cell> {
        let mut asked = Vec::new();
        let calls: Vec<(InstId, Rc<CallEffect<'a>>)> =
            self.calls.iter().filter_map(|(inst, effect)| Some((inst, effect.clone()?))).collect();
        for (call, effect) in calls {
            let cases = effect.summary.blocks.values().flat_map(|block| &block.cases);
            let needs = cases.flat_map(|case| &case.needs).map(|(path, _)| path);
            let guards = effect.summary.actions.iter().filter_map(|action| match &action.guard {
                Guard::ByArgument(path, _) => Some(path),
                _ => None,
            });
            for path in needs.chain(guards).filter(|path| !path.steps.is_empty()) {
                if let Some(Resolved::Cell(cell)) = self.resolve(call, path) {
                    self.keys.of_cell(cell);
                    asked.push(cell);
                }
            }
        }
        asked
    }

    /// Whether so many blocks have been run that the objects still to come are followed coarsely.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.block_runs > self.config.max_block_runs
    }

    /// Alternatives to keep apart at one block.
    pub(crate) fn max_alternatives(&self) -> usize {
        if self.is_over_budget() { self.config.over_budget_alternatives } else { self.config.max_alternatives }
    }

    /// Visits of one block before its alternatives are merged.
    pub(crate) fn max_visits(&self) -> u32 {
        if self.is_over_budget() { self.config.over_budget_visits } else { self.config.max_visits }
    }

    /// The argument of a call that an access path of the callee starts at.
    pub(crate) fn argument(&self, call: InstId, index: u32) -> Option<Operand> {
        self.body.insts[call].call()?.args.get(index as usize).copied()
    }

    /// The value of the callee's path, in this function's terms: where its root points, and the cell of its last step.
    pub(crate) fn resolve(&mut self, call: InstId, path: &AccessPath) -> Option<Resolved> {
        let start = match path.root {
            PathRoot::Param(index) => {
                let operand = self.argument(call, index)?;
                if path.steps.is_empty() {
                    return Some(Resolved::Operand(operand));
                }
                self.values.of_operand(operand)?
            }
            PathRoot::Return if path.steps.is_empty() => return Some(Resolved::Operand(call.into())),
            PathRoot::Return => self.values.of_inst(call)?,
            PathRoot::Global(global) => {
                let base = self.values.global(global);
                Cell { base, offset: caulk_memory::Offset::ZERO }
            }
        };
        let mut cell = start;
        for (number, step) in path.steps.iter().enumerate() {
            if number > 0 {
                cell = self.pointed_to(cell)?;
            }
            cell.offset = cell.offset.plus(step.offset);
            if let Some(field) = step.field {
                self.values.name_field(cell, field);
            }
        }
        Some(Resolved::Cell(cell))
    }

    /// Where in an object the structure lies that a path of a callee has any part of: the object, and the offsets.
    pub(crate) fn extent(&self, call: InstId, path: &AccessPath) -> Option<(ValueId, Range<i64>)> {
        let (PathRoot::Param(index), [step]) = (path.root, path.steps.as_slice()) else { return None };
        let start = self.values.of_operand(self.argument(call, index)?)?;
        let caulk_memory::Offset::Known(offset) = start.offset else { return None };
        if step.offset != caulk_memory::Offset::Any {
            return None;
        }
        let targets = self.program.targets(self.program.call_site(self.id, call)?);
        let sizes = targets.iter().map(|target| {
            let info = self.program.function(*target);
            let pointee = info.declaration.params.get(index as usize)?.pointee;
            let ty = pointee.target.filter(|_| pointee.depth == 1)?;
            let size = self.program.type_info(self.program.resolve_struct(info.unit, ty)).size;
            // A method is given one object; what else is given a structure may get the first of several.
            (size > 0 && index == 0 && is_method(info.symbol)).then_some(size)
        });
        let size = sizes.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        Some((start.base, offset..offset.checked_add(i64::try_from(size).ok()?)?))
    }

    /// What a cell points to. A pointer that a field of a local variable is set to once, and then handed on with the variable
    /// (`info.content = &buffer; read(&info)`), leads where it was set to.
    fn pointed_to(&mut self, cell: Cell) -> Option<Cell> {
        match self.settled.get(&cell) {
            Some(Some(known)) if self.config.rules.applies(Rule::KnownAddresses, true) => Some(*known),
            _ => Some(Cell { base: self.values.loaded(cell)?, offset: caulk_memory::Offset::ZERO }),
        }
    }

    /// The value that is the subject of a callee's action, when it is known by something better than its holder.
    pub(crate) fn resolve_value(&mut self, call: InstId, path: &AccessPath) -> Option<ValueId> {
        match self.resolve(call, path)? {
            Resolved::Operand(operand) => Some(self.values.of_operand(operand)?.base),
            Resolved::Cell(cell) => self.values.loaded(cell),
        }
    }

    /// The cells that a store to a cell may write besides: those that its address was chosen from.
    pub(crate) fn also_written(&self, cell: Cell) -> impl Iterator<Item = Cell> + '_ {
        let choices = self.choices.get(&cell.base).into_iter().flatten();
        choices.map(move |choice| Cell { base: choice.base, offset: choice.offset.plus(cell.offset) })
    }

    /// What is known of an operand without following any path: constants, addresses of variables, and results of functions
    /// that never return null.
    pub(crate) fn evident(&self, operand: Operand) -> Option<Relation> {
        if let Some(constant) = self.body.constant(operand)
            && let Some(number) = number_of(constant)
        {
            return Some(Relation::Eq(number));
        }
        if let Some(inst) = operand.value()
            && let Some(call) = self.body.insts[inst].call()
        {
            let promised = call.flags.nonnull_result.then_some(Relation::NONZERO);
            return promised.or_else(|| self.calls[inst].as_ref()?.summary.ensured().next());
        }
        let cell = self.values.of_operand(operand)?;
        let is_object = matches!(self.values.node(cell.base), ValueNode::Local(_) | ValueNode::Global(_));
        (is_object || self.is_field_address(operand)).then_some(Relation::NONZERO)
    }

    /// `&p->field`: who writes that has a structure, even where the field is its first and has the same address.
    fn is_field_address(&self, operand: Operand) -> bool {
        let address = operand.value().map(|v| &self.body.insts[v]);
        let is_field = matches!(address, Some(Inst::Address { steps, .. }) if matches!(steps.as_slice(), [Step::Field { .. }, ..]));
        self.config.rules.applies(Rule::FieldAddresses, is_field)
    }

    /// Whether a value is `a | b` with one of the two known not to be zero.
    pub(crate) fn has_set_part(&mut self, value: Operand, facts: &FactList) -> bool {
        let mut work: SmallVec<[Operand; 4]> = SmallVec::new();
        work.push(value);
        let mut seen = 0;
        while let Some(operand) = work.pop() {
            seen += 1;
            let Some(Inst::Binary { op: BinaryOp::Or, lhs, rhs, .. }) = operand.value().map(|v| &self.body.insts[v])
            else {
                continue;
            };
            for side in [*lhs, *rhs] {
                let key = self.keys.of_operand(self.body, &self.values, side);
                let is_set = |relation: Relation| relation.implies(Relation::NONZERO);
                if facts.iter().any(|f| Some(f.0) == key && is_set(f.1)) || self.evident(side).is_some_and(is_set) {
                    return true;
                }
                if seen < BOUNDS.alternations {
                    work.push(side);
                }
            }
        }
        false
    }

    pub(crate) fn line(&self, inst: InstId) -> u32 {
        self.body.place(inst).line
    }

    /// The line as the distance from the function's own ([`Program::line_of`]): what is kept stays the same when code above moves it.
    pub(crate) fn line_below(&self, inst: InstId) -> u32 {
        line_below(self.line(inst), self.program.function(self.id).line)
    }

    pub(crate) fn is_pointer_like(&self, inst: InstId) -> bool {
        matches!(
            self.body.insts[inst].result_type(),
            Type::Ptr | Type::Int(64..) | Type::Aggregate(_) | Type::Vector(_)
        )
    }
}

/// A callee's path in the caller's terms.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resolved {
    /// The value of an operand.
    Operand(Operand),
    /// What a cell holds.
    Cell(Cell),
}

/// Of every choice between pointers that something is stored through or that is given to a call, what it was chosen from.
fn stored_choices(body: &Body, values: &ValueTable) -> FxHashMap<ValueId, Vec<Cell>> {
    let mut choices: FxHashMap<ValueId, Vec<Cell>> = FxHashMap::default();
    let mut add = |operand: Operand| {
        if let Some(cell) = values.of_operand(operand)
            && !choices.contains_key(&cell.base)
        {
            let found = values.choices(body, cell.base);
            if !found.is_empty() {
                choices.insert(cell.base, found);
            }
        }
    };
    for inst in body.insts.values() {
        match inst {
            Inst::Store { address, .. } | Inst::Copy { dst: address, .. } | Inst::Fill { dst: address, .. } => {
                add(*address)
            }
            Inst::Call(call) | Inst::Invoke { call, .. } => call.args.iter().for_each(|arg| add(*arg)),
            _ => {}
        }
    }
    choices
}

/// The calls that return zero where one of their arguments is zero.
fn zero_keepers(program: &Program, id: FuncId, body: &Body) -> FxHashMap<InstId, SmallVec<[usize; 2]>> {
    let keepers = program.call_sites(id).iter().filter_map(|site| {
        let ([only], call) = (program.targets(site), body.insts[site.inst].call()?) else { return None };
        let is_number = |index: &usize| matches!(call.arg_types.get(*index), Some(Type::Int(_)));
        let kept = (0..call.args.len()).filter(is_number).filter(|index| program.keeps_zero(*only, *index));
        let kept: SmallVec<[usize; 2]> = kept.collect();
        (!kept.is_empty()).then_some((site.inst, kept))
    });
    keepers.collect()
}

fn is_method(symbol: &str) -> bool {
    symbol.starts_with("_ZN")
}
