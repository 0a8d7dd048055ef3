//! Numbers of status objects in one function: which calls ask for one, and which set one that is asked for.

use caulk_ir::{InstId, Operand};
use caulk_memory::{Cell, Offset, Relation, ValueId};
use caulk_program::FuncId;
use caulk_summary::{Assigned, Source, Summary};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::facts::{Fact, FactList, number_of};
use crate::function::View;
use crate::slots::Slot;

/// Where a number comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    Number(i64),
    Operand(Operand),
    Place(Cell),
}

/// What calls set, of what is asked for.
pub(crate) type AssignedBy = FxHashMap<InstId, Vec<(Cell, From)>>;

impl View<'_> {
    /// Finds the calls that ask for numbers, and those that set what is asked for: here, by callers of what is given back, or by
    /// callees (`guarded`), on whose conditions it depends what they do.
    pub(crate) fn find_asked_numbers<'s>(
        &mut self,
        summary_of: &dyn Fn(FuncId) -> Option<&'s Summary>,
        guarded: Vec<Cell>,
    ) {
        let mut setting: Vec<(InstId, Assigned)> = Vec::new();
        for site in self.program.call_sites(self.id) {
            let [target] = self.program.targets(site) else { continue };
            let Some(summary) = summary_of(*target) else { continue };
            setting.extend(summary.assigns.iter().map(|assigned| (site.inst, *assigned)));
            if let Some(asked) = summary.asks
                && let Some(cell) = self.given_place(site.inst, 0, asked.offset)
            {
                self.keys.asked.insert(site.inst, (cell, asked.whether));
            }
        }
        let mut wanted: FxHashSet<Cell> = self.keys.asked.values().map(|(cell, _)| *cell).collect();
        wanted.extend(guarded);
        let result = self.given_back();
        let mut all: Vec<(InstId, Cell, From)> = Vec::new();
        for (call, assigned) in setting {
            all.extend(self.setting(call, assigned));
        }
        for _ in 0..BOUNDS.number_assignments {
            for (_, to, from) in &all {
                if let From::Place(from) = from
                    && (wanted.contains(to) || Some(to.base) == result)
                {
                    wanted.insert(*from);
                }
            }
        }
        for (call, to, from) in all.into_iter().filter(|(_, to, _)| wanted.contains(to) || Some(to.base) == result) {
            self.keys.of_cell(to);
            self.assigned.entry(call).or_default().push((to, from));
        }
    }

    /// Whether a parameter is the place of the object that is given back by value.
    pub(crate) fn is_result(&self, index: u32) -> bool {
        let param = self.program.function(self.id).declaration.params.get(index as usize);
        param.is_some_and(|param| param.flags.struct_return)
    }

    /// The object that the function gives back by value.
    fn given_back(&self) -> Option<ValueId> {
        let params = &self.program.function(self.id).declaration.params;
        let index = params.iter().position(|param| param.flags.struct_return)?;
        self.values.parameter(u32::try_from(index).ok()?)
    }

    /// A place in what an argument points to. It gets the name of the field that the callee knows it by, so that it is known who writes it.
    fn given_place(&mut self, call: InstId, index: u32, offset: i64) -> Option<Cell> {
        let given = self.values.of_operand(self.argument(call, index)?)?;
        let cell = Cell { offset: given.offset.plus(Offset::Known(offset)), ..given };
        let [target] = self.program.targets(self.program.call_site(self.id, call)?) else { return None };
        let info = self.program.function(*target);
        let pointee = info.declaration.params.get(index as usize)?.pointee;
        let ty = pointee.target.filter(|_| pointee.depth <= 1).map(|ty| self.program.resolve_struct(info.unit, ty))?;
        let spot = self.program.types().spot(ty, u64::try_from(offset).ok()?);
        self.name_number(cell, (spot.ty, spot.offset));
        Some(cell)
    }

    fn name_number(&mut self, cell: Cell, field: Slot) {
        self.asked_fields.entry(cell).or_insert(field);
        self.values.name_field(cell, field);
    }

    fn setting(&mut self, call: InstId, assigned: Assigned) -> Option<(InstId, Cell, From)> {
        let to = self.given_place(call, assigned.param, assigned.offset)?;
        let from = match assigned.from {
            Source::Number(number) => From::Number(number),
            Source::Argument(index) => From::Operand(self.argument(call, index)?),
            Source::Memory(index, offset) => From::Place(self.given_place(call, index, offset)?),
        };
        Some((call, to, from))
    }

    /// What is known of the numbers that a call sets, once it is done.
    pub(crate) fn assigned_by(&mut self, call: InstId, facts: &FactList) -> SmallVec<[Fact; 2]> {
        let mut learnt: SmallVec<[Fact; 2]> = SmallVec::new();
        for (to, from) in self.assigned.get(&call).cloned().unwrap_or_default() {
            let known: Option<Relation> = match from {
                From::Number(number) => Some(Relation::Eq(number)),
                From::Operand(operand) => match self.body.constant(operand).and_then(number_of) {
                    Some(number) => Some(Relation::Eq(number)),
                    None => {
                        let key = self.keys.of_operand(self.body, &self.values, operand);
                        facts.iter().find(|fact| Some(fact.0) == key).map(|fact| fact.1)
                    }
                },
                From::Place(cell) => {
                    let key = self.keys.of_cell(cell);
                    facts.iter().find(|fact| fact.0 == key).map(|fact| fact.1)
                }
            };
            learnt.extend(known.map(|relation| (self.keys.of_cell(to), relation)));
        }
        learnt
    }
}
