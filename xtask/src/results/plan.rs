//! What will be run, and about how long it takes.

use crate::bench::project::Project;
use crate::bench::report::{Form, Table};

use super::arguments::{Measure, Results};

/// Seconds of processor time for a thousand lines, on the machine the figures were first taken on (two cores at 2.5 GHz,
/// C projects of 20,000 to 400,000 lines). Only the estimate uses them.
const RATES: Rates = Rates { clang: 0.065, caulk: 0.09, warm: 0.02, peers: 4.5 };
/// Of each test case.
const JULIET_SECONDS: f64 = 0.35;
const JULIET_CASES: f64 = 1658.0;
/// All sizes together, of the corpora as they are.
const GROWTH_LINES: f64 = 2.0e6;
/// Under callgrind, which uses one core.
const REGRESS_SECONDS: f64 = 90.0;

struct Rates {
    clang: f64,
    caulk: f64,
    warm: f64,
    /// All that are installed, together.
    peers: f64,
}

/// Seconds of wall time for each measure.
pub(crate) fn estimate(arguments: &Results, projects: &[&Project], jobs: usize) -> Vec<(&'static str, f64)> {
    let thousands = projects.iter().map(|project| project.total_lines()).sum::<usize>() as f64 / 1e3;
    let runs = arguments.runs.get() as f64;
    let cost = thousands * (RATES.clang + runs * (RATES.clang + 2.0 * RATES.caulk + RATES.warm));
    let growth = GROWTH_LINES / 1e3 * (2.0 * RATES.clang + RATES.caulk);
    let cores = jobs as f64;
    let has_projects = !projects.is_empty();
    let all = [
        ("juliet", Measure::Juliet, arguments.suite.is_some(), JULIET_CASES * JULIET_SECONDS / cores),
        ("findings", Measure::Findings, has_projects, thousands * RATES.caulk / cores),
        ("cost", Measure::Cost, has_projects, cost / cores),
        ("peers", Measure::Peers, has_projects, thousands * RATES.peers / cores),
        ("growth", Measure::Growth, true, growth / cores),
        ("regress", Measure::Regress, true, REGRESS_SECONDS),
    ];
    let wanted = all.into_iter().filter(|(_, measure, is_possible, _)| *is_possible && arguments.wants(*measure));
    wanted.map(|(name, _, _, seconds)| (name, seconds)).collect()
}

pub(crate) fn print(estimate: &[(&str, f64)]) -> String {
    let mut table = Table::new(&["measure", "about, min"]);
    for (name, seconds) in estimate {
        table.push(vec![(*name).to_owned(), format!("{:.0}", (seconds / 60.0).ceil())]);
    }
    let total: f64 = estimate.iter().map(|(_, seconds)| seconds).sum();
    table.push(vec!["all".to_owned(), format!("{:.0}", (total / 60.0).ceil())]);
    table.print(Form::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_adds_up() {
        assert_eq!(
            print(&[("a", 61.0), ("b", 59.0)]),
            "measure  about, min\na                 2\nb                 1\nall               2\n"
        );
    }
}
