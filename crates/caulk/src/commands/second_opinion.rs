//! A second opinion in `caulk check`: asks the prover to contradict what stage two confirmed.

use std::collections::BTreeSet;

use caulk_explore::{Exploration, Verdict};
use caulk_program::FuncId;
use caulk_prove::{Claim, ProveConfig, TypedRegions, World, contradicts};
use caulk_useflow::Candidate;
use rayon::prelude::*;

use crate::arguments::InputOptions;
use crate::error::Error;
use crate::input::{self, Analysed};

/// A contradiction that needs more is not worth the wait: those that there are show up soon. Of calls only the one that
/// makes the block and those that free are followed; what others do is known by what they may write.
fn config() -> ProveConfig {
    ProveConfig { max_transfers: 500, max_call_depth: 0, plain_unions: true, ..ProveConfig::default() }
}

/// Confirmed candidates that the prover contradicts, by function and position in its report.
#[derive(Default)]
pub(crate) struct Contradicted {
    found: BTreeSet<(FuncId, usize)>,
}

impl Contradicted {
    pub(crate) fn new(options: &InputOptions, analysed: &Analysed, exploration: &Exploration) -> Result<Self, Error> {
        let regions = TypedRegions::new(&analysed.program);
        let world = World::new(&analysed.program, &analysed.models, &regions, config());
        let verdicts = exploration.verdicts.iter();
        let open = verdicts.flat_map(|(function, list)| {
            // What stage two left open is shown with little confidence, if at all.
            let confirmed = list.iter().enumerate().filter(|(_, verdict)| matches!(verdict, Verdict::Confirmed(_)));
            confirmed.map(move |(at, _)| (function, at))
        });
        let open: Vec<(FuncId, usize)> = open.collect();
        let is_contradicted = |&(function, at): &(FuncId, usize)| {
            let candidate = &analysed.analysis.reports[function].candidates[at];
            claim(analysed, candidate).is_some_and(|claim| contradicts(&world, claim))
        };
        let found: BTreeSet<(FuncId, usize)> =
            input::in_pool(options, || open.into_par_iter().filter(is_contradicted).collect())?;
        Ok(Self { found })
    }

    pub(crate) fn contains(&self, function: FuncId, at: usize) -> bool {
        self.found.contains(&(function, at))
    }

    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }
}

/// What a finding says, if it is about the result of a call.
fn claim(analysed: &Analysed, candidate: &Candidate) -> Option<Claim> {
    let Candidate { function, allocation, block, place, .. } = *candidate;
    let site = analysed.program.call_site(function, allocation)?;
    let [target] = analysed.program.targets(site) else { return None };
    // What a field of another owner's structure held was allocated elsewhere.
    let is_local = candidate.loss.is_on_path() && !candidate.is_part;
    let is_result = analysed.analysis.summary(*target).is_result(block);
    (is_local && is_result).then_some(Claim { function, allocation, loss: place })
}
