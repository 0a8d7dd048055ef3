//! Which calls need not be looked at as makers of a block: they renew what is surely there already.
//!
//! A buffer that grows is filled, perhaps, by every call that writes to it. Whatever the second call does, what the first one
//! made is owned by the same place and followed from there. A place is *full* where on every way a call has filled it since
//! it was last emptied; calls that fill a full place start no object of their own.

use caulk_ir::{BlockId, Body, EntityVec, Inst, InstId};
use caulk_memory::{Cell, ValueNode};
use caulk_rules::Rule;
use caulk_summary::{AllocId, Case, Destination, Guard, Subject};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::cases::may_be_made;
use crate::function::{Resolved, View};

/// Blocks of calls that only renew what is there.
#[derive(Debug, Default)]
pub(crate) struct Renewals(FxHashSet<(InstId, AllocId)>);

/// What an instruction does to the watched places.
#[derive(Clone, Debug, Default)]
struct Transfer {
    empties: u64,
    fills: u64,
}

impl Renewals {
    pub(crate) fn new(view: &mut View<'_>) -> Self {
        let fills = opaque_fills(view);
        let mut places: Vec<Cell> = fills.iter().map(|(_, _, cell)| *cell).collect();
        places.sort();
        places.dedup();
        places.truncate(BOUNDS.watched_places);
        if fills.len() <= places.len() {
            return Self::default();
        }
        let transfers = transfers(view, &places, &fills);
        let full = full_on_entry(view, &transfers);
        Self(renewing(view, &places, &fills, &transfers, &full))
    }

    pub(crate) fn contains(&self, call: InstId, block: AllocId) -> bool {
        self.0.contains(&(call, block))
    }
}

/// Blocks that a call puts, perhaps, into one place that can be named here.
fn opaque_fills(view: &mut View<'_>) -> Vec<(InstId, AllocId, Cell)> {
    let mut fills = Vec::new();
    let calls: Vec<InstId> = view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
    for call in calls {
        let Some(effect) = view.calls[call].clone() else { continue };
        for action in &effect.summary.actions {
            let (Subject::Alloc(block), Destination::Store(to)) = (&action.subject, &action.to) else { continue };
            if matches!(action.guard, Guard::Opaque | Guard::Limited(..))
                && let Some(Resolved::Cell(cell)) = view.resolve(call, to)
                && view.values.is_exact(view.body, cell.base)
                && !makes_nothing(view, call, cell, &effect.summary.blocks[*block].cases)
            {
                fills.push((call, *block, cell));
            }
        }
    }
    fills
}

/// Whether a call makes no block for a variable with the arguments that it is given: `buffer = make(0)`. In the caller's memory it counts as
/// made all the same: what a later call puts there depends on flags, most often, that only the caller knows.
fn makes_nothing(view: &mut View<'_>, call: InstId, cell: Cell, cases: &[Case]) -> bool {
    let is_local = matches!(view.values.root(cell.base), ValueNode::Local(_));
    let makes_nothing = is_local && !may_be_made(view, call, cases);
    view.config.rules.applies(Rule::EmptyMakers, makes_nothing)
}

fn transfers(view: &mut View<'_>, places: &[Cell], fills: &[(InstId, AllocId, Cell)]) -> FxHashMap<InstId, Transfer> {
    let mut transfers: FxHashMap<InstId, Transfer> = FxHashMap::default();
    let insts: Vec<InstId> = view.body.insts.keys().collect();
    for inst in insts {
        let transfer = match view.body.insts[inst] {
            Inst::Store { address, .. } | Inst::Copy { dst: address, .. } | Inst::Fill { dst: address, .. } => {
                let written = view.values.of_operand(address);
                empties(places, |cell| written.is_some_and(|w| w.base == cell.base))
            }
            Inst::ScopeStart { local } | Inst::ScopeEnd { local } => {
                empties(places, |cell| view.values.root(cell.base) == ValueNode::Local(local))
            }
            Inst::Call(_) | Inst::Invoke { .. } => of_call(view, inst, places),
            _ => continue,
        };
        if transfer.empties != 0 {
            transfers.insert(inst, transfer);
        }
    }
    for (call, _, cell) in fills {
        if let Some(bit) = places.iter().position(|place| place == cell) {
            transfers.entry(*call).or_default().fills |= 1 << bit;
        }
    }
    transfers
}

fn empties(places: &[Cell], is_emptied: impl Fn(&Cell) -> bool) -> Transfer {
    let bits = places.iter().enumerate().filter(|(_, cell)| is_emptied(cell)).map(|(bit, _)| 1u64 << bit);
    Transfer { empties: bits.fold(0, |a, b| a | b), fills: 0 }
}

/// A call empties what it frees, keeps, moves or writes over, and what it is given without its being known what it does with that.
fn of_call(view: &mut View<'_>, call: InstId, places: &[Cell]) -> Transfer {
    let Some(effect) = view.calls[call].clone() else { return Transfer::default() };
    let mut touched: Vec<Cell> = Vec::new();
    let mut holders = Vec::new();
    for action in &effect.summary.actions {
        let Subject::Value(path) = &action.subject else { continue };
        let is_result = matches!(&action.to, Destination::Store(to) if to.root == caulk_memory::PathRoot::Return);
        if action.to == Destination::Renew || is_result {
            continue;
        }
        match view.resolve(call, path) {
            Some(Resolved::Cell(cell)) => touched.push(cell),
            Some(Resolved::Operand(operand)) => holders.extend(view.values.of_operand(operand).map(|c| c.base)),
            None => {}
        }
        holders.extend(view.resolve_value(call, path));
    }
    for path in &effect.summary.overwritten {
        if let Some(Resolved::Cell(cell)) = view.resolve(call, path) {
            touched.push(cell);
        }
    }
    if effect.unknown
        && let Some(data) = view.body.insts[call].call()
    {
        holders.extend(data.args.iter().filter_map(|arg| view.values.of_operand(*arg)).map(|c| c.base));
    }
    let values = &view.values;
    empties(places, |place| {
        touched.contains(place) || holders.iter().any(|holder| values.is_reached_from(place.base, *holder))
    })
}

/// Places that are full on every way to a block.
fn full_on_entry(view: &View<'_>, transfers: &FxHashMap<InstId, Transfer>) -> EntityVec<BlockId, u64> {
    let body = view.body;
    let mut full: EntityVec<BlockId, u64> = vec![u64::MAX; body.blocks.len()].into();
    full[Body::ENTRY] = 0;
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &block in &view.blocks_by_order {
            let out = run(view, block, full[block], transfers, |_, _| {});
            for next in body.terminator(block).successors() {
                let entry = &mut full[next];
                changed |= *entry & !out != 0;
                *entry &= out;
            }
        }
    }
    full
}

fn run(
    view: &View<'_>,
    block: BlockId,
    mut full: u64,
    transfers: &FxHashMap<InstId, Transfer>,
    mut visit: impl FnMut(InstId, u64),
) -> u64 {
    for inst in view.body.blocks[block].insts() {
        if let Some(transfer) = transfers.get(&inst) {
            visit(inst, full & !transfer.empties);
            full = (full & !transfer.empties) | transfer.fills;
        }
    }
    full
}

fn renewing(
    view: &View<'_>,
    places: &[Cell],
    fills: &[(InstId, AllocId, Cell)],
    transfers: &FxHashMap<InstId, Transfer>,
    full: &EntityVec<BlockId, u64>,
) -> FxHashSet<(InstId, AllocId)> {
    let mut full_before: FxHashMap<InstId, u64> = FxHashMap::default();
    for &block in &view.blocks_by_order {
        run(view, block, full[block], transfers, |inst, full| {
            full_before.insert(inst, full);
        });
    }
    let is_full = |(call, _, cell): &&(InstId, AllocId, Cell)| {
        let bit = places.iter().position(|place| place == cell);
        bit.is_some_and(|bit| full_before.get(call).is_some_and(|full| full & (1 << bit) != 0))
    };
    fills.iter().filter(is_full).map(|(call, block, _)| (*call, *block)).collect()
}
