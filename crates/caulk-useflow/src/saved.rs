//! Values that were read from memory and are used after that memory may have been written: `old = p->flag; set(p); if (old)`.
//!
//! A fact about what a place holds is a fact about every value read from it, as long as nothing is written there. Here is
//! decided, for each value that is used in other blocks than its own or after a write, where it may no longer be what the place holds.

use caulk_ir::{BinaryOp, BlockId, Body, CastOp, EntitySet, EntityVec, Inst, InstId, Liveness, Operand};
use caulk_memory::{Cell, ValueTable};
use rustc_hash::FxHashMap;

use crate::bounds::BOUNDS;

/// Where each loaded value may differ from what its place holds.
#[derive(Debug, Default)]
pub(crate) struct SavedLoads {
    loads: FxHashMap<InstId, SavedLoad>,
    by_cell: FxHashMap<Cell, Vec<InstId>>,
}

#[derive(Debug)]
struct SavedLoad {
    home: BlockId,
    /// The first write to its place after it in its own block.
    after: Option<InstId>,
    /// By block: its place may have been written before the block is entered.
    written_before: EntitySet<BlockId>,
    /// The first write to its place in each block that has one.
    first_write: FxHashMap<BlockId, InstId>,
}

impl SavedLoad {
    fn is_stale(&self, (block, inst): (BlockId, InstId), load: InstId) -> bool {
        if block == self.home && inst > load {
            return self.after.is_some_and(|write| write < inst);
        }
        self.written_before.contains(block) || self.first_write.get(&block).is_some_and(|write| *write < inst)
    }
}

impl SavedLoads {
    /// `may_write` says whether an instruction may write a place.
    pub(crate) fn new(
        body: &Body,
        values: &ValueTable,
        liveness: &Liveness,
        homes: &EntityVec<InstId, BlockId>,
        mut may_write: impl FnMut(InstId, Cell) -> bool,
    ) -> Self {
        let mut by_cell: FxHashMap<Cell, Vec<InstId>> = FxHashMap::default();
        let mut cells: Vec<Cell> = Vec::new();
        let writers: Vec<InstId> = body.insts.iter().filter(|(_, i)| is_writer(i)).map(|(inst, _)| inst).collect();
        let late = used_late(body, homes, &writers);
        for value in body.insts.keys().filter(|v| liveness.crosses_blocks(*v) || late.contains(*v)) {
            let Some((load, address)) = loaded_value(body, value) else { continue };
            let Some(cell) = values.of_operand(address) else { continue };
            let loads = by_cell.entry(cell).or_default();
            if loads.is_empty() {
                cells.push(cell);
            }
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
        let mut loads = FxHashMap::default();
        if cells.is_empty() {
            return Self::default();
        }
        for cell in cells {
            let writes: Vec<InstId> = writers.iter().copied().filter(|w| may_write(*w, cell)).collect();
            if writes.is_empty() {
                by_cell.remove(&cell);
                continue;
            }
            let mut first_write: FxHashMap<BlockId, InstId> = FxHashMap::default();
            for write in &writes {
                first_write.entry(homes[*write]).or_insert(*write);
            }
            for &load in &by_cell[&cell] {
                let home = homes[load];
                let after = writes.iter().copied().find(|w| homes[*w] == home && *w > load);
                let written_before = written_before(body, home, after.is_some(), &first_write);
                loads.insert(load, SavedLoad { home, after, written_before, first_write: first_write.clone() });
            }
        }
        Self { loads, by_cell }
    }

    /// Whether a loaded value may differ here from what its place holds.
    pub(crate) fn is_stale(&self, load: InstId, here: (BlockId, InstId)) -> bool {
        self.loads.get(&load).is_some_and(|saved| saved.is_stale(here, load))
    }

    /// Values read from a place that are still what it holds just before a write to it.
    pub(crate) fn current(&self, cell: Cell, here: (BlockId, InstId)) -> impl Iterator<Item = InstId> + '_ {
        self.by_cell.get(&cell).into_iter().flatten().copied().filter(move |load| !self.is_stale(*load, here))
    }
}

fn is_writer(inst: &Inst) -> bool {
    inst.call().is_some() || matches!(inst, Inst::Store { .. } | Inst::Copy { .. } | Inst::Fill { .. })
}

/// Where a place may have been written since the function was entered.
#[derive(Debug)]
pub(crate) struct Initial {
    /// By block: before the block is entered.
    written_before: EntitySet<BlockId>,
    first_write: FxHashMap<BlockId, InstId>,
}

impl Initial {
    pub(crate) fn new(
        body: &Body,
        homes: &EntityVec<InstId, BlockId>,
        mut may_write: impl FnMut(InstId) -> bool,
    ) -> Self {
        let mut first_write: FxHashMap<BlockId, InstId> = FxHashMap::default();
        for (inst, kind) in body.insts.iter() {
            if is_writer(kind) && may_write(inst) {
                first_write.entry(homes[inst]).or_insert(inst);
            }
        }
        let mut written_before = EntitySet::with_capacity(body.blocks.len());
        let mut work: Vec<BlockId> = first_write.keys().copied().collect();
        while let Some(block) = work.pop() {
            for next in body.terminator(block).successors() {
                if written_before.insert(next) {
                    work.push(next);
                }
            }
        }
        Self { written_before, first_write }
    }

    /// Whether the place surely holds here what it held on entry.
    pub(crate) fn holds(&self, (block, inst): (BlockId, InstId)) -> bool {
        let is_written_here = self.first_write.get(&block).is_some_and(|write| *write < inst);
        !self.written_before.contains(block) && !is_written_here
    }
}

/// Values that are used in their own block after something may have been written there.
fn used_late(body: &Body, homes: &EntityVec<InstId, BlockId>, writers: &[InstId]) -> EntitySet<InstId> {
    let mut late = EntitySet::with_capacity(body.insts.len());
    for (user, inst) in body.insts.iter() {
        inst.for_each_operand(|operand| {
            let Some(value) = operand.value().filter(|value| homes[*value] == homes[user]) else { return };
            let next = writers.get(writers.partition_point(|writer| *writer <= value));
            if next.is_some_and(|writer| *writer < user && homes[*writer] == homes[user]) {
                late.insert(value);
            }
        });
    }
    late
}

/// The load that a value comes from, through casts that change nothing of it and through what a mask takes of it.
fn loaded_value(body: &Body, mut value: InstId) -> Option<(InstId, Operand)> {
    for _ in 0..BOUNDS.casts {
        match body.insts[value] {
            Inst::Load { address, volatile: false, .. } => return Some((value, address)),
            Inst::Cast {
                op: CastOp::SignExtend | CastOp::ZeroExtend | CastOp::Bits, value: Operand::Value(v), ..
            } => value = v,
            Inst::Binary {
                op: BinaryOp::And | BinaryOp::LShr, lhs: Operand::Value(v), rhs: Operand::Const(_), ..
            } => {
                value = v;
            }
            _ => return None,
        }
    }
    None
}

/// Blocks that can be reached from a load in `home` by way of a write to its place.
fn written_before(
    body: &Body,
    home: BlockId,
    is_written_at_home: bool,
    first_write: &FxHashMap<BlockId, InstId>,
) -> EntitySet<BlockId> {
    let mut dirty = EntitySet::with_capacity(body.blocks.len());
    let mut clean = EntitySet::with_capacity(body.blocks.len());
    let mut work: Vec<(BlockId, bool)> =
        body.terminator(home).successors().into_iter().map(|next| (next, is_written_at_home)).collect();
    while let Some((block, is_dirty)) = work.pop() {
        let seen = if is_dirty { &mut dirty } else { &mut clean };
        if !seen.insert(block) || block == home {
            // The load is repeated there.
            continue;
        }
        let leaves_dirty = is_dirty || first_write.contains_key(&block);
        work.extend(body.terminator(block).successors().into_iter().map(|next| (next, leaves_dirty)));
    }
    dirty
}
