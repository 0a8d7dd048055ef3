//! The store of one path: cells that differ from what they held at first.

use std::ops::Range;

use caulk_memory::Class;
use caulk_program::FuncId;
use caulk_solver::TermId;
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::symbols::Key;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub value: TermId,
    pub bytes: u64,
    pub class: Class,
    /// The object the cell lies in.
    pub holder: Option<TermId>,
    /// The object the value points into; of several, one.
    pub points: Option<TermId>,
}

/// Cells are apart unless their keys say otherwise; a cell that is not here holds what it held when the function was entered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// By key.
    cells: Vec<(Key, Content)>,
    /// Runs of zero bytes, laid under the cells.
    zeroed: Vec<Zeroes>,
}

/// Bytes that were cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Zeroes {
    pub base: TermId,
    pub from: i64,
    pub to: i64,
    /// Functions called since then, of whose writes only the class is known.
    pub since: SmallVec<[FuncId; 2]>,
}

impl Zeroes {
    /// What holds of a run on both of two paths.
    fn meet(&self, other: &Zeroes) -> Option<Zeroes> {
        let is_same = (self.base, self.from, self.to) == (other.base, other.from, other.to);
        is_same.then(|| {
            let mut both = self.clone();
            both.since.extend(other.since.iter().copied());
            both.since.sort_unstable();
            both.since.dedup();
            both
        })
    }
}

impl Memory {
    pub(crate) fn get(&self, key: Key) -> Option<&Content> {
        self.cells.binary_search_by_key(&key, |cell| cell.0).ok().map(|at| &self.cells[at].1)
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &Content)> {
        self.cells.iter().map(|(key, content)| (*key, content))
    }

    /// Where cells at one base that overlap a run of bytes can be.
    fn window(&self, key: Key, bytes: u64) -> Range<usize> {
        let end = key.offset.saturating_add(bytes.min(i64::MAX as u64) as i64);
        let first = Key { offset: key.offset.saturating_sub(BOUNDS.cell_bytes), ..key };
        let from = self.cells.partition_point(|cell| cell.0 < first);
        let inside = self.cells[from..].iter().take_while(|(at, _)| at.base == key.base && at.offset < end);
        from..from + inside.count()
    }

    /// Cells at one base that overlap a run of bytes.
    pub(crate) fn overlapping(&self, key: Key, bytes: u64) -> impl Iterator<Item = (Key, &Content)> {
        self.cells[self.window(key, bytes)]
            .iter()
            .filter(move |cell| reaches(cell, key.offset))
            .map(|(at, content)| (*at, content))
    }

    /// What two paths have in common; `differ` says what a cell holds that is not the same on both, or is on one of them only.
    pub(crate) fn merged(
        &self,
        other: &Memory,
        mut differ: impl FnMut(Key, &Content, Option<&Content>) -> Content,
    ) -> Memory {
        let mut cells: Vec<(Key, Content)> = Vec::with_capacity(self.cells.len().max(other.cells.len()));
        let (mut left, mut right) = (self.cells.iter().peekable(), other.cells.iter().peekable());
        loop {
            let (key, content, second) = match (left.peek(), right.peek()) {
                (Some((a, x)), Some((b, y))) if a == b => {
                    let cell = (*a, x, Some(y));
                    left.next();
                    right.next();
                    cell
                }
                (Some((a, x)), Some((b, _))) if a < b => {
                    left.next();
                    (*a, x, None)
                }
                (Some((a, x)), None) => {
                    left.next();
                    (*a, x, None)
                }
                (_, Some((b, y))) => {
                    right.next();
                    (*b, y, None)
                }
                (None, None) => break,
            };
            cells.push((key, if second == Some(content) { *content } else { differ(key, content, second) }));
        }
        let zeroed =
            self.zeroed.iter().filter_map(|run| other.zeroed.iter().find_map(|other| run.meet(other))).collect();
        Memory { cells, zeroed }
    }

    /// Whether nothing but zero can be in a run of bytes, except for the cells there are.
    pub(crate) fn is_zeroed(&self, key: Key, bytes: u64) -> bool {
        self.zeroes(key, bytes).is_some_and(|run| run.since.is_empty())
    }

    /// The run of zero bytes that a run of bytes lies in.
    pub(crate) fn zeroes(&self, key: Key, bytes: u64) -> Option<&Zeroes> {
        let end = key.offset.saturating_add(bytes as i64);
        self.zeroed.iter().find(|run| run.base == key.base && run.from <= key.offset && end <= run.to)
    }

    pub(crate) fn all_zeroes(&self) -> &[Zeroes] {
        &self.zeroed
    }

    /// Functions may have written to the bytes that are chosen.
    pub(crate) fn doubt_zeroes(&mut self, functions: &[FuncId], choose: impl Fn(TermId) -> bool) {
        for run in self.zeroed.iter_mut().filter(|run| choose(run.base)) {
            run.since.extend(functions.iter().copied());
            run.since.sort_unstable();
            run.since.dedup();
        }
    }

    pub(crate) fn set(&mut self, key: Key, content: Content) {
        let mut overlapping = self.window(key, content.bytes).filter(|at| reaches(&self.cells[*at], key.offset));
        if let (Some(at), None) = (overlapping.next(), overlapping.next())
            && self.cells[at].0 == key
        {
            self.cells[at].1 = content;
            return;
        }
        self.clear(key, content.bytes);
        let at = self.cells.partition_point(|cell| cell.0 < key);
        self.cells.insert(at, (key, content));
    }

    pub(crate) fn remove(&mut self, key: Key) {
        if let Ok(at) = self.cells.binary_search_by_key(&key, |cell| cell.0) {
            self.cells.remove(at);
        }
    }

    /// Takes away what overlaps a run of bytes.
    fn clear(&mut self, key: Key, bytes: u64) {
        let window = self.window(key, bytes);
        let mut kept = window.start;
        for at in window.clone() {
            if !reaches(&self.cells[at], key.offset) {
                self.cells[kept] = self.cells[at];
                kept += 1;
            }
        }
        self.cells.drain(kept..window.end);
    }

    pub(crate) fn zero(&mut self, key: Key, bytes: u64) {
        self.clear(key, bytes);
        let end = key.offset.saturating_add(bytes.min(i64::MAX as u64) as i64);
        self.zeroed.retain(|run| !(run.base == key.base && key.offset <= run.from && run.to <= end));
        self.zeroed.push(Zeroes { base: key.base, from: key.offset, to: end, since: SmallVec::new() });
    }

    /// Nothing is known any more of what lies in some bytes, nor behind them.
    pub(crate) fn forget_zeroes_from(&mut self, key: Key) {
        self.zeroed.retain_mut(|run| {
            let is_behind = run.base == key.base && run.to > key.offset;
            if is_behind {
                run.to = key.offset;
            }
            run.from < run.to
        });
    }

    /// Nothing is known any more of what lies in some bytes; what was cleared around them stays.
    pub(crate) fn forget_zeroes_in(&mut self, key: Key, bytes: u64) {
        let end = key.offset.saturating_add(bytes.min(i64::MAX as u64) as i64);
        let mut behind: SmallVec<[Zeroes; 1]> = SmallVec::new();
        self.zeroed.retain_mut(|run| {
            if run.base != key.base || run.to <= key.offset || end <= run.from {
                return true;
            }
            if end < run.to {
                behind.push(Zeroes { from: end, ..run.clone() });
            }
            run.to = key.offset;
            run.from < run.to
        });
        self.zeroed.extend(behind);
    }

    /// Nothing is known any more of what lies at a base.
    pub(crate) fn forget_zeroes(&mut self, base: TermId) {
        self.zeroed.retain(|run| run.base != base);
    }
}

/// Whether a cell that begins before the end of a run of bytes overlaps it.
fn reaches((at, content): &(Key, Content), offset: i64) -> bool {
    at.offset.saturating_add(content.bytes as i64) > offset
}
