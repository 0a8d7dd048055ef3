//! Whether a field is known to hold something at a place of a function, or to be asked about there.

use caulk_ir::{BlockId, CompareOp, Constant, Inst, InstId, Operand};
use caulk_memory::{Cell, Offset, ValueId, ValueNode};
use caulk_program::FuncId;
use caulk_summary::{Destination, Subject};
use rustc_hash::FxHashSet;

use crate::summarize::Summarizer;

/// Functions of the C library that read all pointers that they are given; clang drops what their headers say of it.
const READERS: [&str; 10] =
    ["strlen", "strcmp", "strcasecmp", "strncmp", "strncasecmp", "strcpy", "strcat", "strchr", "strrchr", "strstr"];

impl Summarizer<'_> {
    /// Whether every way to an instruction has found the field not null, or has used what it points to.
    pub(crate) fn is_full_at(&mut self, cell: Cell, at: InstId) -> bool {
        let Some(old) = self.view.values.known_load(cell) else { return false };
        let home = self.view.homes[at];
        let comes_before = |inst: InstId| {
            let block = self.view.homes[inst];
            if block == home { inst < at } else { self.view.dominators().dominates(block, home) }
        };
        let points_to_old = |operand: &Operand| self.view.values.of_operand(*operand).is_some_and(|c| c.base == old);
        let is_used = |(inst, kind): (InstId, &Inst)| match kind {
            Inst::Load { address, .. } | Inst::Store { address, .. } => points_to_old(address) && comes_before(inst),
            _ => {
                let mut given = kind.call().into_iter().flat_map(|call| call.args.iter().enumerate());
                comes_before(inst)
                    && given.any(|(index, arg)| points_to_old(arg) && self.is_needed_by_callee(inst, index))
            }
        };
        let body = self.view.body;
        if body.insts.iter().any(is_used) {
            return true;
        }
        let predecessors = self.view.predecessors();
        let is_only_way = |side: BlockId| self.view.dominators().dominates(side, home) && predecessors[side].len() == 1;
        body.blocks.keys().filter_map(|block| self.nonnull_side(block, cell)).any(is_only_way)
    }

    /// Whether some way to an instruction has found the field not null, or has used what it points to.
    pub(crate) fn may_be_full_at(&mut self, cell: Cell, at: InstId) -> bool {
        let Some(old) = self.view.values.known_load(cell) else { return false };
        let body = self.view.body;
        let before = self.blocks_before(self.view.homes[at]);
        let comes_before = |inst: InstId| match self.view.homes[inst] {
            block if block == self.view.homes[at] => inst < at,
            block => before.contains(&block),
        };
        let points_to_old = |operand: &Operand| self.view.values.of_operand(*operand).is_some_and(|c| c.base == old);
        let is_used = |(inst, kind): (InstId, &Inst)| match kind {
            Inst::Load { address, .. } | Inst::Store { address, .. } => points_to_old(address) && comes_before(inst),
            _ => {
                let given = kind.call().into_iter().flat_map(|call| call.args.iter().enumerate());
                let needs = |(index, argument): (usize, &Operand)| {
                    points_to_old(argument) && self.is_needed_by_callee(inst, index)
                };
                comes_before(inst) && given.into_iter().any(needs)
            }
        };
        let is_found = |block: BlockId| {
            let side = self.nonnull_side(block, cell);
            side.is_some_and(|side| before.contains(&side) || side == self.view.homes[at])
        };
        body.insts.iter().any(is_used) || body.blocks.keys().any(is_found)
    }

    /// Blocks from which a block is reached without going around a loop.
    fn blocks_before(&self, home: BlockId) -> FxHashSet<BlockId> {
        let predecessors = self.view.predecessors();
        let mut found: FxHashSet<BlockId> = FxHashSet::default();
        let mut work = vec![home];
        while let Some(block) = work.pop() {
            for &from in &predecessors[block] {
                if self.view.order[from] < self.view.order[block] && found.insert(from) {
                    work.push(from);
                }
            }
        }
        found
    }

    /// Whether what is called may not be given null there.
    fn is_needed_by_callee(&self, call: InstId, index: usize) -> bool {
        let program = self.view.program;
        let targets = program.call_site(self.view.id, call).map(|site| program.targets(site)).unwrap_or_default();
        let needs = |f: &FuncId| {
            let info = program.function(*f);
            let param = info.declaration.params.get(index);
            param.is_some_and(|param| param.flags.nonnull) || (!program.has_body(*f) && READERS.contains(&info.symbol))
        };
        !targets.is_empty() && targets.iter().all(needs)
    }

    /// Where a branch goes if the field is not null.
    fn nonnull_side(&self, block: BlockId, cell: Cell) -> Option<BlockId> {
        let body = self.view.body;
        let Inst::Branch { cond: Operand::Value(cond), then, other } = body.terminator(block) else { return None };
        let (op, tested) = self.null_test(*cond)?;
        let tests_cell = tested == cell && then != other;
        match op {
            CompareOp::Ne if tests_cell => Some(*then),
            CompareOp::Eq if tests_cell => Some(*other),
            _ => None,
        }
    }

    /// A comparison of a field with null.
    fn null_test(&self, compare: InstId) -> Option<(CompareOp, Cell)> {
        let body = self.view.body;
        let Inst::Compare { op, lhs: Operand::Value(lhs), rhs, .. } = &body.insts[compare] else { return None };
        let Inst::Load { address, .. } = &body.insts[*lhs] else { return None };
        let is_null = matches!(body.constant(*rhs), Some(Constant::Null));
        Some((*op, self.view.values.of_operand(*address)?)).filter(|_| is_null)
    }

    /// Whether the function asks whether some other field of the structure is null: that may well tell whether this one is.
    pub(crate) fn asks_sibling(&self, cell: Cell) -> bool {
        let is_sibling = |tested: Cell| tested.base == cell.base && tested.offset != cell.offset;
        self.view.body.insts.keys().filter_map(|inst| self.null_test(inst)).any(|(_, tested)| is_sibling(tested))
    }

    /// Whether the function asks whether a field is null.
    pub(crate) fn is_asked(&self, cell: Cell) -> bool {
        self.view.body.insts.keys().filter_map(|inst| self.null_test(inst)).any(|(_, tested)| tested == cell)
    }

    /// Whether the function compares what a field holds with another pointer: it may be a buffer inside of the structure, which is no
    /// block.
    pub(crate) fn is_compared(&self, cell: Cell) -> bool {
        let view = &self.view;
        let is_old = |operand: &Operand| match view.values.of_operand(*operand).map(|c| view.values.node(c.base)) {
            Some(ValueNode::Load(base, offset)) => Cell { base, offset } == cell,
            _ => false,
        };
        let is_pointer = |operand: &Operand| view.body.constant(*operand).is_none();
        view.body.insts.values().any(|inst| match inst {
            Inst::Compare { lhs, rhs, .. } => (is_old(lhs) && is_pointer(rhs)) || (is_old(rhs) && is_pointer(lhs)),
            _ => false,
        })
    }

    /// Whether some call that may come before an instruction frees another field of the structure.
    pub(crate) fn frees_sibling(&mut self, cell: Cell, before: InstId) -> bool {
        let place = |inst: InstId| (self.view.order[self.view.homes[inst]], inst);
        let limit = place(before);
        let calls: Vec<InstId> = self.view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
        let calls = calls.into_iter().filter(|call| place(*call) < limit).collect();
        !self.freed_siblings(cell, calls).is_empty()
    }

    /// Other fields of the structure that the function frees anywhere: their offsets.
    pub(crate) fn all_freed_siblings(&mut self, cell: Cell) -> Vec<Offset> {
        let calls = self.view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
        self.freed_siblings(cell, calls)
    }

    fn freed_siblings(&mut self, cell: Cell, calls: Vec<InstId>) -> Vec<Offset> {
        let mut freed = Vec::new();
        for call in calls {
            let Some(effect) = self.view.calls[call].clone() else { continue };
            for action in &effect.summary.actions {
                if let (Subject::Value(path), Destination::Free { .. }) = (&action.subject, &action.to)
                    && action.guard.is_own()
                    && let Some(value) = self.view.resolve_value(call, path)
                {
                    freed.extend(self.sibling(value, cell));
                }
            }
        }
        freed
    }

    /// The field beside a cell that a value was read from.
    fn sibling(&self, value: ValueId, cell: Cell) -> Option<Offset> {
        match self.view.values.node(value) {
            ValueNode::Load(base, offset) if base == cell.base && offset != cell.offset => Some(offset),
            _ => None,
        }
    }
}
