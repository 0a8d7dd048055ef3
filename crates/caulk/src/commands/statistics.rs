//! What a run of `check` came to, in numbers.

use caulk_explore::{Exploration, SolverStats};
use caulk_report::{Refuted, SolverCounts, Statistics};

use crate::input::Analysed;

/// `contradicted`: findings that the prover refuted.
pub(super) fn of(analysed: &Analysed, exploration: &Exploration, contradicted: usize) -> Statistics {
    let Analysed { program, analysis, .. } = analysed;
    let explored = &exploration.statistics;
    let refuted = |(layer, count): (&str, usize)| Refuted { layer: layer.to_owned(), count };
    let layers = [
        ("ownership", explored.refuted_by_ownership),
        ("conditions", explored.refuted_by_conditions),
        ("solver", explored.refuted_by_solver),
        ("replay", explored.refuted_by_replay),
        ("prover", contradicted),
    ];
    Statistics {
        units: program.totals().units,
        functions: program.totals().functions_with_body,
        functions_skipped: analysis.statistics.skipped,
        candidates: explored.candidates,
        confirmed: explored.confirmed - contradicted,
        replayed: explored.replayed,
        refuted: layers.into_iter().filter(|(_, count)| *count > 0).map(refuted).collect(),
        undecided: explored.cut + explored.unexamined,
        solver: solver_counts(&explored.effort.solver),
        rules: analysed.config.rules.counts().map(|(rule, count)| (rule.name().to_owned(), count)).collect(),
    }
}

fn solver_counts(stats: &SolverStats) -> SolverCounts {
    SolverCounts {
        conditions: stats.assumed,
        implied: stats.implied,
        refuted_apparently: stats.apparent,
        refuted_by_domains: stats.domains,
        paths: stats.checks,
        paths_refuted: stats.check_refuted,
        paths_by_example: stats.check_reused + stats.check_repaired,
        paths_remembered: stats.check_cached,
        z3_satisfiable: stats.z3_sat,
        z3_unsatisfiable: stats.z3_unsat,
        z3_unknown: stats.z3_unknown,
    }
}
