//! Loops: some iterations as they are, then one in general.

use std::rc::Rc;

use caulk_ir::{BinaryOp, BlockId, Inst, InstId, Operand, Type};
use caulk_memory::Relation;
use caulk_solver::TermId;
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::frame::{is_pointer, type_of};
use crate::memory::{Content, Memory};
use crate::search::Search;
use crate::state::{Iteration, Ownership, State};
use crate::symbols::{Key, Part};

impl Search<'_, '_> {
    /// One more iteration of a loop. False: there were enough.
    pub(crate) fn next_iteration(&mut self, state: &mut State, header: BlockId) -> bool {
        let limit = self.machine.world.config.concrete_iterations;
        let Some(iteration) = state.iterations.iter_mut().find(|r| r.header == header) else {
            state.iterations.push(Iteration {
                header,
                count: 1,
                before: state.memory.clone(),
                matched: SmallVec::new(),
            });
            return true;
        };
        iteration.count += 1;
        let (count, before) = (iteration.count, iteration.before.clone());
        // What happens in the general round must be brought out of the loop. A search does that by merging it with earlier
        // iterations; a path on its own needs another general iteration, in which the loop may be left.
        let last = if self.replaying.is_some() { limit + 2 } else { limit + 1 };
        if (limit + 1..=last).contains(&count) {
            self.generalise(state, header, &before);
        }
        count <= last
    }

    /// The general round: what the loop writes is unknown from now on.
    fn generalise(&mut self, state: &mut State, header: BlockId, before: &Rc<Memory>) {
        state.is_general = true;
        let frame = self.machine.frame;
        for inst in frame.body.blocks[header].insts() {
            let Inst::Phi { ty, .. } = &frame.body.insts[inst] else { break };
            let Some(value) = state.get(inst) else { continue };
            let is_object = self.machine.root(value).is_some_and(|root| state.ownership(root).is_some());
            if is_object && is_pointer(*ty) {
                continue;
            }
            let program_point = self.machine.program_point(state, inst);
            let unknown = self.machine.unknown(&program_point, Part::Value, *ty);
            if let Some((low, high)) = self.constant_range(inst) {
                self.assume_between(state, unknown, low, high);
            } else if self.only_grows(inst, header)
                && self.machine.pool.width(value) == self.machine.pool.width(unknown)
            {
                let least = self.machine.is_counted(state, value).then(|| Relation::at_least(1));
                let grown = self.machine.pool.sge(unknown, value);
                state.facts.assume(&mut self.machine.pool, grown);
                if let Some(least) = least {
                    self.machine.assume(state, unknown, least);
                }
            } else if is_pointer(*ty) && frame.is_tested_on_way_back(inst, header) && self.is_not_null(state, value) {
                self.machine.assume(state, unknown, Relation::NONZERO);
            }
            let next = match self.only_sets_bits(inst, header) {
                true if self.machine.pool.width(value) == self.machine.pool.width(unknown) => {
                    self.machine.pool.or(value, unknown)
                }
                _ => unknown,
            };
            state.set(inst, next);
        }
        let changed: Vec<(Key, Content)> =
            state.memory.iter().filter(|(at, c)| before.get(*at) != Some(*c)).map(|(at, c)| (at, *c)).collect();
        let first = frame.body.blocks[header].first;
        let program_point = self.machine.program_point(state, first);
        for (part, (key, content)) in changed.into_iter().enumerate() {
            let holds = state.tracked.is_some_and(|object| self.machine.cell_points_to(&content, object));
            if holds && self.machine.pool.as_symbol(key.base).is_none() {
                // One of many: it belongs to the collection now.
                self.machine.settle(state, Ownership::Kept);
            }
            // Links between blocks of this path stay: a list built in iterations is held by its head.
            if holds || content.points.is_some_and(|root| state.ownership(root).is_some()) {
                continue;
            }
            let width = self.machine.pool.width(content.value);
            let ty = type_of(width);
            let value = self.machine.unknown(&program_point, Part::Looped(part as u32), ty);
            if self.only_counts_up(header, key, content.class) {
                let grown = self.machine.pool.sge(value, content.value);
                state.facts.assume(&mut self.machine.pool, grown);
            }
            let left = self.left_by_loop(header, content.class);
            let value = self.machine.with_left(state, content.value, left, value);
            let content = self.machine.content(key, value, content.bytes, content.class);
            state.memory_mut().set(key, content);
        }
    }

    /// The least and the greatest of the constants that are all a variable is ever set to: `found = 1`, or a status that leaves the loop
    /// unless it is zero.
    fn constant_range(&self, phi: InstId) -> Option<(i64, i64)> {
        let machine = &self.machine;
        *machine.ranges.borrow_mut().entry(phi).or_insert_with(|| {
            let numbers = machine.frame.numbers_of(phi)?;
            Some((*numbers.iter().min()?, *numbers.iter().max()?))
        })
    }

    fn is_not_null(&mut self, state: &State, value: TermId) -> bool {
        let is_null = self.machine.relation(value, Relation::ZERO);
        state.facts.implied(&self.machine.pool, is_null) == Some(false)
    }

    fn assume_between(&mut self, state: &mut State, value: TermId, low: i64, high: i64) {
        let pool = &mut self.machine.pool;
        let width = pool.width(value);
        let (least, most) = (pool.constant(width, low as u64), pool.constant(width, high as u64));
        let bounds = [pool.sge(value, least), pool.sle(value, most)];
        for bound in bounds {
            state.facts.assume(&mut self.machine.pool, bound);
        }
    }

    /// Whether a loop's counter is only ever added to.
    fn only_grows(&self, phi: InstId, header: BlockId) -> bool {
        let body = self.machine.frame.body;
        let Inst::Phi { incoming, ty: Type::Int(_) } = &body.insts[phi] else { return false };
        let back = incoming.iter().filter(|(from, _)| self.machine.frame.is_back_edge(*from, header));
        let mut work: Vec<Operand> = back.map(|(_, operand)| *operand).collect();
        let mut seen: Vec<InstId> = Vec::new();
        while let Some(operand) = work.pop() {
            let Operand::Value(value) = operand else { return false };
            if value == phi || seen.contains(&value) {
                continue;
            }
            seen.push(value);
            match &body.insts[value] {
                Inst::Binary { op: BinaryOp::Add, lhs, rhs, .. } => {
                    let step = body.constant(*rhs).and_then(|c| c.as_signed());
                    if step.is_none_or(|step| step < 0) {
                        return false;
                    }
                    work.push(*lhs);
                }
                Inst::Phi { incoming, .. } => work.extend(incoming.iter().map(|(_, operand)| *operand)),
                _ => return false,
            }
            if seen.len() > BOUNDS.loop_choices {
                return false;
            }
        }
        true
    }
}
