//! The block that stands in the README and in `bench/RESULTS.md` alike.

use crate::bench::measure::{Measured, ProjectResult};
use crate::bench::report::rows::{disturbance, ratio};
use crate::bench::report::{Form, Table};
use crate::verdicts::Tally;

use super::record::{Known, ProjectRecord, Record};
use super::words::{grouped, percent, range};

/// How the two runs of Caulk that a user sees are called: the first on a project, and the next.
const COLD: &str = "caulk check, cold, new cache";
const WARM: &str = "caulk check, warm";

pub(crate) fn block(record: &Record) -> String {
    let mut text = origin(record);
    let mut figures = Table::new(&["measure", "figure"]).with_words();
    for (name, figure) in figures_of(record) {
        figures.push(vec![name, figure]);
    }
    text.push_str(&figures.print(Form::Markdown));
    if !record.projects.is_empty() {
        text.push_str("\nCPU time is relative to clang alone making bitcode; `>` means that the tool was cut off, `*` that it left units out.\n\n");
        text.push_str(&projects(record).print(Form::Markdown));
    }
    text
}

/// Which Caulk, when and where; a sentence each.
fn origin(record: &Record) -> String {
    let headers = record.headers();
    let Some(last) = headers.iter().max_by_key(|header| &header.date) else { return String::new() };
    let day = last.date.split(' ').next().unwrap_or_default();
    let mut text = format!("Measured on {day} at commit {}, on {}.\n", last.commit, last.machine);
    let mut costs = record.projects.iter().filter_map(ProjectRecord::side_by_side);
    if costs.any(|cost| disturbance(&cost).is_some()) {
        text.push_str("Other processes kept the machine busy meanwhile, so times are less sure than they look.\n");
    }
    text + "\n"
}

fn figures_of(record: &Record) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    if let Some(group) = record.juliet.as_ref().and_then(|report| report.groups.first()) {
        let tally = group.tally;
        let figure = format!("{} found, {} with a false finding", grouped(tally.true_positives), tally.false_positives);
        rows.push((format!("Juliet 1.3, CWE-401, {} test cases", grouped(tally.units)), figure));
    }
    let known = known(&record.projects);
    if known.leaks > 0 {
        let figure = format!("{} of {} found at the place, {} named", known.exact, known.leaks, known.named);
        rows.push(("leaks that maintainers fixed later".to_owned(), figure));
    }
    if let Some(sum) = verdicts(&record.projects) {
        rows.push(("findings read against the source".to_owned(), read(&sum)));
    }
    let costs: Vec<ProjectResult> = record.projects.iter().filter_map(ProjectRecord::side_by_side).collect();
    for (name, tool) in [("a first run", COLD), ("a run again, nothing changed", WARM)] {
        if let Some(range) = range(costs.iter().filter_map(|cost| Some(cost.ratio(find(cost, tool)?)))) {
            rows.push((format!("CPU time of {name}, of clang's bitcode alone"), format!("{range} times")));
        }
    }
    let against_cppcheck =
        costs.iter().filter_map(|cost| Some(find(cost, COLD)?.cpu() / find(cost, "cppcheck")?.cpu()));
    if let Some(range) = range(against_cppcheck) {
        rows.push(("CPU time of a first run, of cppcheck's".to_owned(), format!("{range} times")));
    }
    if let Some(growth) = &record.growth {
        if let Some(largest) = growth.points.last() {
            let figure = format!(
                "{:.0} s with {} units at once, {:.0} MB; CPU time grows with lines to the power {:.2}, memory {:.2}",
                largest.wall_seconds,
                growth.header.jobs,
                largest.peak_megabytes,
                growth.exponents.cpu_by_lines.exponent,
                // Among small programs it is mostly what libraries take.
                growth.exponents_of_larger_half.memory_by_lines.exponent
            );
            rows.push((format!("{} lines as one program", grouped(largest.lines)), figure));
        }
    }
    rows
}

fn read(sum: &Tally) -> String {
    let mut figure = format!("{} of {} real", sum.real, sum.findings - sum.unread);
    if let Some(precision) = sum.precision() {
        figure.push_str(&format!(" ({})", percent(precision)));
    }
    if sum.unsure > 0 {
        figure.push_str(&format!(", {} unsure", sum.unsure));
    }
    if sum.unread > 0 {
        figure.push_str(&format!(", {} more unread", sum.unread));
    }
    if sum.read_twice > 0 {
        figure.push_str(&format!("; {} read twice, {} with one verdict", sum.read_twice, sum.agreed));
    }
    figure
}

pub(crate) fn known(projects: &[ProjectRecord]) -> Known {
    let all = projects.iter().filter_map(|project| project.findings.as_ref()?.known);
    all.fold(Known::default(), |sum, one| Known {
        leaks: sum.leaks + one.leaks,
        exact: sum.exact + one.exact,
        named: sum.named + one.named,
    })
}

/// None when no project was run.
pub(crate) fn verdicts(projects: &[ProjectRecord]) -> Option<Tally> {
    projects.iter().filter_map(|project| project.verdicts).reduce(|mut sum, one| {
        sum.add(&one);
        sum
    })
}

fn projects(record: &Record) -> Table {
    let peers: Vec<String> = peer_names(record);
    let mut columns = vec!["project", "lines", "first run", "again", "own MB"];
    columns.extend(peers.iter().map(String::as_str));
    columns.extend(["findings", "real", "known leaks"]);
    let mut table = Table::new(&columns);
    for project in &record.projects {
        let cost = project.side_by_side();
        let of = |tool: &str| {
            let cost = cost.as_ref()?;
            find(cost, tool).map(|measured| ratio(cost, measured))
        };
        let own = cost.as_ref().and_then(|cost| find(cost, COLD)?.own_peak_kilobytes());
        let mut row = vec![
            project.name.clone(),
            cost.as_ref().map_or_else(String::new, |cost| grouped(cost.lines)),
            of(COLD).unwrap_or_default(),
            of(WARM).unwrap_or_default(),
            own.map_or_else(String::new, |kilobytes| format!("{:.0}", kilobytes as f64 * 1.024 / 1e3)),
        ];
        row.extend(peers.iter().map(|peer| of(peer).unwrap_or_default()));
        row.extend([
            project.verdicts.map_or_else(String::new, |tally| tally.findings.to_string()),
            project.verdicts.map_or_else(String::new, |tally| real(&tally)),
            known_cell(project),
        ]);
        table.push(row);
    }
    table
}

/// Of those read.
fn real(tally: &Tally) -> String {
    format!("{} of {}", tally.real, tally.findings - tally.unread)
}

fn known_cell(project: &ProjectRecord) -> String {
    let known = project.findings.as_ref().and_then(|findings| findings.known);
    known.map_or_else(String::new, |known| format!("{} of {}", known.exact, known.leaks))
}

/// As the tools call themselves, in the order of their first appearance.
fn peer_names(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for peer in record.projects.iter().flat_map(|project| &project.peers) {
        if !names.contains(&peer.measured.tool) {
            names.push(peer.measured.tool.clone());
        }
    }
    names
}

fn find<'a>(cost: &'a ProjectResult, tool: &str) -> Option<&'a Measured> {
    cost.tools.iter().find(|measured| measured.tool == tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::record;

    #[test]
    fn the_block_has_a_line_for_each_measure_and_project() {
        let expected = "\
Measured on 2026-01-01 at commit b2, on 2 cores.
Other processes kept the machine busy meanwhile, so times are less sure than they look.

| measure                                                            | figure                                                             |
| ------------------------------------------------------------------ | ------------------------------------------------------------------ |
| leaks that maintainers fixed later                                 | 2 of 4 found at the place, 3 named                                 |
| findings read against the source                                   | 6 of 8 real (75 %), 2 more unread; 3 read twice, 2 with one verdict |
| CPU time of a first run, of clang's bitcode alone                  | 1.50 times                                                         |
| CPU time of a run again, nothing changed, of clang's bitcode alone | 0.25 times                                                         |
| CPU time of a first run, of cppcheck's                             | 0.38 times                                                         |

CPU time is relative to clang alone making bitcode; `>` means that the tool was cut off, `*` that it left units out.

| project | lines | first run | again | own MB | cppcheck | findings |   real | known leaks |
| ------- | ----: | --------: | ----: | -----: | -------: | -------: | -----: | ----------: |
| p       | 1,234 |      1.50 |  0.25 |        |     4.00 |       10 | 6 of 8 |      2 of 4 |
";
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('-', "");
        assert_eq!(squeezed(&block(&record())), squeezed(expected));
    }
}
