//! Shares of a project's units for several machines: what each unit costs, and which share it goes to.
//!
//! Every machine works out all shares by itself, from the same input, and takes its own. So nothing here depends on time, on
//! threads or on what a cache holds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::PathBuf;

use caulk_capture::{Job, Language};

use crate::arguments::Shard;
use crate::error::Error;

/// Largest file of costs: a hundred bytes a unit make that more than half a million units.
const MAX_COSTS: u64 = 64 << 20;

/// What clang takes for a unit of no size, in milliseconds: it starts, and reads the usual headers.
const START: u64 = 150;
/// Headers of C++ are larger.
const START_CXX: u64 = 900;
/// Bytes of a source that take a millisecond.
const BYTES_A_MILLISECOND: u64 = 400;

/// Milliseconds for each unit, by its shown path.
#[derive(Debug, Default)]
pub(crate) struct Costs(BTreeMap<String, u64>);

impl Costs {
    /// Lines of milliseconds and a path. What several files, or several lines, say of a unit: the largest counts.
    pub(crate) fn read(files: &[PathBuf]) -> Result<Self, Error> {
        let mut costs = Self::default();
        for file in files {
            let wrong = |what: String| Error::Usage(format!("cannot use {} for costs: {what}", file.display()));
            let text = caulk_files::read_text(file, MAX_COSTS).map_err(|e| wrong(e.to_string()))?;
            for (number, line) in text.lines().enumerate() {
                let parsed = line.split_once(' ').and_then(|(cost, path)| Some((cost.parse().ok()?, path)));
                let malformed = || wrong(format!("line {} is not `MILLISECONDS PATH`", number + 1));
                let (cost, path): (u64, &str) = parsed.ok_or_else(malformed)?;
                costs.note(path, cost);
            }
        }
        Ok(costs)
    }

    pub(crate) fn note(&mut self, path: &str, milliseconds: u64) {
        let known = self.0.entry(path.to_owned()).or_default();
        *known = milliseconds.max(*known);
    }

    pub(crate) fn render(&self) -> String {
        self.0.iter().filter(|(path, _)| !path.contains('\n')).map(|(path, cost)| format!("{cost} {path}\n")).collect()
    }

    /// What a unit will cost: as it did before, or by its size.
    pub(crate) fn of(&self, job: &Job) -> u64 {
        let known = self.0.get(job.display()).copied();
        known.unwrap_or_else(|| estimate(job)).max(1)
    }
}

fn estimate(job: &Job) -> u64 {
    let bytes = std::fs::metadata(job.path()).map_or(0, |found| found.len());
    let start = match job {
        Job::Compile(job) if matches!(job.language, Language::Cxx) => START_CXX,
        _ => START,
    };
    start + bytes / BYTES_A_MILLISECOND
}

/// The numbers of the units in a share, rising. The most expensive unit goes first to the share that has least so far.
pub(crate) fn share(costs: &[u64], shard: Shard) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&unit| (Reverse(costs[unit]), unit));
    let mut loads: BinaryHeap<Reverse<(u64, u32)>> = (0..shard.of.get()).map(|share| Reverse((0, share))).collect();
    let mut own = Vec::new();
    for unit in order {
        let Some(Reverse((load, share))) = loads.pop() else { break };
        loads.push(Reverse((load.saturating_add(costs[unit]), share)));
        if share == shard.index {
            own.push(unit);
        }
    }
    own.sort_unstable();
    own
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;

    fn shares(costs: &[u64], of: u32) -> Vec<Vec<usize>> {
        let of = NonZeroU32::new(of).expect("at least one");
        (0..of.get()).map(|index| share(costs, Shard { index, of })).collect()
    }

    #[test]
    fn expensive_units_are_spread() {
        assert_eq!(shares(&[1, 9, 1, 9, 1, 1], 2), [vec![0, 1, 4], vec![2, 3, 5]]);
        assert_eq!(shares(&[5], 3), [vec![0], vec![], vec![]]);
        assert_eq!(shares(&[], 2), [vec![], Vec::<usize>::new()]);
    }

    fn sorted(mut units: Vec<usize>) -> Vec<usize> {
        units.sort_unstable();
        units
    }

    proptest! {
        /// Every unit is in one share, and no share is further from the mean than the most expensive unit.
        #[test]
        fn shares_are_complete_and_balanced(costs in prop::collection::vec(1..1000_u64, 0..80), of in 1..12_u32) {
            let shares = shares(&costs, of);
            prop_assert_eq!(sorted(shares.concat()), (0..costs.len()).collect::<Vec<_>>());
            let load = |share: &Vec<usize>| share.iter().map(|&unit| costs[unit]).sum::<u64>();
            let largest = shares.iter().map(load).max().unwrap_or(0);
            let mean = costs.iter().sum::<u64>() / u64::from(of);
            prop_assert!(largest <= mean + 1 + costs.iter().max().copied().unwrap_or(0));
        }
    }

    #[test]
    fn costs_are_written_as_they_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let (one, other) = (folder.path().join("1"), folder.path().join("2"));
        std::fs::write(&one, "120 src/a b.c\n7 b.c\n").expect("writable");
        std::fs::write(&other, "130 src/a b.c\n").expect("writable");
        let costs = Costs::read(&[one.clone(), other]).expect("well formed");
        assert_eq!(costs.render(), "7 b.c\n130 src/a b.c\n");
        std::fs::write(&one, "120 a.c\nb.c\n").expect("writable");
        let error = Costs::read(&[one]).expect_err("no cost").to_string();
        assert!(error.ends_with("line 2 is not `MILLISECONDS PATH`"), "{error}");
    }
}
