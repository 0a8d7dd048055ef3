//! What a run of `check` came to, in numbers.

use std::cmp::Reverse;

use caulk_explore::{Exploration, SolverStats};
use caulk_program::FuncId;
use caulk_report::{Cost, Costs, FunctionCost, Refuted, SolverCounts, Statistics, shown_path};

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
        costs: costs(analysed, exploration),
        rules: analysed.config.rules.counts().map(|(rule, count)| (rule.name().to_owned(), count)).collect(),
    }
}

/// What each stage cost, and which functions cost most.
fn costs(analysed: &Analysed, exploration: &Exploration) -> Costs {
    let runs = analysed.analysis.reports.iter().map(|(function, report)| (function, report.block_runs as usize));
    Costs {
        stage_one: cost(analysed, runs.collect()),
        stage_two: cost(analysed, exploration.searches.clone()),
        callees: cost(analysed, exploration.callees.clone()),
    }
}

fn cost(analysed: &Analysed, mut functions: Vec<(FuncId, usize)>) -> Cost {
    /// Functions that are listed.
    const MAX_LISTED: usize = 10;
    let steps = functions.iter().map(|(_, steps)| *steps as u64).sum();
    functions.retain(|(_, steps)| *steps > 0);
    functions.sort_by_key(|(function, steps)| (Reverse(*steps), *function));
    functions.truncate(MAX_LISTED);
    let named = |(function, steps): (FuncId, usize)| {
        let info = analysed.program.function(function);
        let file = info.file.map(|file| shown_path(file, &analysed.read.root));
        FunctionCost { function: info.name.to_owned(), file, steps: steps as u64 }
    };
    Cost { steps, functions: functions.into_iter().map(named).collect() }
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
