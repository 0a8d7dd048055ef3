//! `caulk check --second-opinion`: asks the prover to contradict each finding.

use std::collections::BTreeSet;

use caulk_explore::{Exploration, Verdict};
use caulk_prove::{ProveConfig, TypedRegions, World, contradicts};
use rayon::prelude::*;

use crate::arguments::InputOptions;
use crate::error::Error;
use crate::input::{self, Analysed};

/// Steps for each probe: a contradiction that needs more is not worth the wait.
const MAX_TRANSFERS: usize = 2_000;

/// Candidates that the prover contradicts, by report and place in it.
#[derive(Default)]
pub struct Contradicted {
    found: BTreeSet<(usize, usize)>,
    /// How many of them were confirmed by stage two.
    pub confirmed: usize,
}

impl Contradicted {
    pub fn new(options: &InputOptions, analysed: &Analysed, exploration: &Exploration) -> Result<Self, Error> {
        let regions = TypedRegions::new(&analysed.program);
        let config = ProveConfig { max_transfers: MAX_TRANSFERS, ..ProveConfig::default() };
        let world = World::new(&analysed.program, &analysed.models, &regions, config);
        let verdicts = exploration.verdicts.iter().enumerate();
        let open = verdicts.flat_map(|(report, list)| {
            let shown = list.iter().enumerate().filter(|(_, verdict)| !matches!(verdict, Verdict::Refuted(_)));
            shown.map(move |(at, _)| (report, at))
        });
        let open: Vec<(usize, usize)> = open.collect();
        let is_contradicted = |&(report, at): &(usize, usize)| {
            let candidate = &analysed.analysis.reports[report].candidates[at];
            // What a field of somebody else's structure held was allocated elsewhere.
            let is_local = candidate.slot.is_none() && !candidate.is_part;
            is_local && contradicts(&world, candidate.function, candidate.allocation, candidate.place).is_some()
        };
        let found: BTreeSet<(usize, usize)> =
            input::in_pool(options, || open.into_par_iter().filter(is_contradicted).collect())?;
        let is_confirmed = |key: &&(usize, usize)| matches!(exploration.verdicts[key.0][key.1], Verdict::Confirmed(_));
        let confirmed = found.iter().filter(is_confirmed).count();
        Ok(Self { found, confirmed })
    }

    pub fn contains(&self, report: usize, at: usize) -> bool {
        self.found.contains(&(report, at))
    }

    pub fn len(&self) -> usize {
        self.found.len()
    }
}
