//! A second opinion in `caulk check`: asks the prover to contradict what stage two confirmed.

use std::collections::BTreeSet;

use caulk_explore::{Exploration, Verdict};
use caulk_prove::{Claim, ProveConfig, TypedRegions, World, contradicts};
use caulk_useflow::{Candidate, CandidateId};
use rayon::prelude::*;

use crate::arguments::InputOptions;
use crate::error::Error;
use crate::input::{self, Analysed};

/// A contradiction that needs more is not worth the wait: those that there are show up soon. Of calls only the one that
/// makes the block and those that free are followed; what others do is known by what they may write.
fn config() -> ProveConfig {
    ProveConfig { max_transfers: 500, max_call_depth: 0, plain_unions: true, ..ProveConfig::default() }
}

/// Confirmed candidates that the prover contradicts.
#[derive(Default)]
pub(crate) struct Contradicted {
    found: BTreeSet<CandidateId>,
}

impl Contradicted {
    pub(crate) fn new(options: &InputOptions, analysed: &Analysed, exploration: &Exploration) -> Result<Self, Error> {
        let regions = TypedRegions::new(&analysed.program);
        let world = World::new(&analysed.program, &analysed.models, &regions, config());
        let judged = exploration.judged(&analysed.analysis);
        // What stage two left open is shown with little confidence, if at all.
        let confirmed = judged.filter(|(_, _, verdict)| matches!(verdict, Verdict::Confirmed(_)));
        let confirmed: Vec<(CandidateId, &Candidate)> = confirmed.map(|(id, candidate, _)| (id, candidate)).collect();
        let is_contradicted =
            |candidate: &Candidate| claim(analysed, candidate).is_some_and(|claim| contradicts(&world, claim));
        let found: BTreeSet<CandidateId> = input::in_pool(options, || {
            let contradicted = confirmed.into_par_iter().filter(|(_, candidate)| is_contradicted(candidate));
            contradicted.map(|(id, _)| id).collect()
        })?;
        Ok(Self { found })
    }

    pub(crate) fn contains(&self, candidate: CandidateId) -> bool {
        self.found.contains(&candidate)
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
