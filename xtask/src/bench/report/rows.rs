//! Which figures are shown of a project, and of all projects together.

use super::{Form, Table};
use crate::bench::measure::{Measured, ProjectResult};

/// Others may use this much before figures are marked.
const QUIET_CORES: f64 = 0.15;

/// How many cores others kept busy, if that is worth a word.
pub(crate) fn disturbance(project: &ProjectResult) -> Option<f64> {
    project.others_cores.filter(|cores| *cores > QUIET_CORES)
}

pub(crate) fn heading(project: &ProjectResult, form: Form) -> String {
    let mut text = format!("{}: {} units, {} lines", project.project, project.units, project.lines);
    if let Some(cores) = disturbance(project) {
        text.push_str(&format!("; DISTURBED, others kept {cores:.1} cores busy"));
    }
    match form {
        Form::Text => text + "\n",
        Form::Markdown => format!("### {text}\n\n"),
    }
}

pub(crate) fn table(project: &ProjectResult) -> Table {
    let mut table =
        Table::new(&["tool", "CPU s", "spread", "wall s", "× clang", "peak MB", "own MB", "leaks", "failed"]);
    for tool in &project.tools {
        table.push(vec![
            tool.tool.clone(),
            format!("{:.2}", tool.cpu()),
            format!("{:.0} %", tool.spread() * 100.0),
            format!("{:.2}", tool.wall()),
            ratio(project, tool),
            megabytes(tool.peak_kilobytes()),
            tool.own_peak_kilobytes().map_or_else(String::new, megabytes),
            tool.leaks().map_or_else(String::new, |leaks| leaks.to_string()),
            tool.failed_units().to_string(),
        ]);
    }
    table
}

/// A line for each tool: processor time relative to clang on each project, and on all of them as one.
pub(crate) fn summary(projects: &[ProjectResult]) -> Table {
    let mut columns = vec!["× clang"];
    columns.extend(projects.iter().map(|project| project.project.as_str()));
    columns.push("all");
    let mut table = Table::new(&columns);
    for (at, tool) in projects[0].tools.iter().enumerate() {
        let mut row = vec![tool.tool.clone()];
        row.extend(projects.iter().map(|project| ratio(project, &project.tools[at])));
        let sum = |at: usize| projects.iter().map(|project| Measured::cpu(&project.tools[at])).sum::<f64>();
        row.push(format!("{:.2}", sum(at) / sum(0)));
        table.push(row);
    }
    table
}

/// Marked when the tool did not do all units: it was cut off, or did less work than the others.
pub(crate) fn ratio(project: &ProjectResult, tool: &Measured) -> String {
    let more = if tool.is_cut_off() { "> " } else { "" };
    let mark = if tool.failed_units() > 0 { "*" } else { "" };
    format!("{more}{:.2}{mark}", project.ratio(tool))
}

fn megabytes(kilobytes: u64) -> String {
    format!("{:.0}", kilobytes as f64 / 1e3 * 1.024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tools::Sample;
    use crate::bench::usage::Usage;

    fn measured(tool: &str, cpu_seconds: f64, own: Option<u64>) -> Measured {
        let usage = Usage { wall_seconds: 1.0, cpu_seconds, peak_kilobytes: 100_000, own_peak_kilobytes: own };
        Measured {
            tool: tool.into(),
            runs: vec![Sample { usage, leaks: own.map(|_| 4), failed_units: 0, is_cut_off: false }],
        }
    }

    fn project(name: &str, clang: f64, caulk: f64) -> ProjectResult {
        let tools = vec![measured("clang", clang, None), measured("caulk", caulk, Some(50_000))];
        ProjectResult { project: name.into(), units: 2, lines: 30, others_cores: Some(0.0), tools }
    }

    #[test]
    fn a_project_is_shown_tool_by_tool() {
        let expected = "\
tool   CPU s  spread  wall s  × clang  peak MB  own MB  leaks  failed
clang   2.00     0 %    1.00     1.00      102                      0
caulk   2.30     0 %    1.00     1.15      102      51      4       0
";
        assert_eq!(table(&project("a", 2.0, 2.3)).print(Form::Text), expected);
    }

    #[test]
    fn the_summary_weighs_projects_by_their_size() {
        let expected = "\
× clang     a     b   all
clang    1.00  1.00  1.00
caulk    2.00  1.00  1.10
";
        assert_eq!(summary(&[project("a", 1.0, 2.0), project("b", 9.0, 9.0)]).print(Form::Text), expected);
    }

    #[test]
    fn a_tool_that_left_units_out_is_marked() {
        let mut partial = project("a", 1.0, 0.5);
        assert_eq!(ratio(&partial, &partial.tools[1]), "0.50");
        partial.tools[1].runs[0].failed_units = 1;
        assert_eq!(ratio(&partial, &partial.tools[1]), "0.50*");
        partial.tools[1].runs[0].is_cut_off = true;
        assert_eq!(ratio(&partial, &partial.tools[1]), "> 0.50*");
    }

    #[test]
    fn disturbed_figures_say_so() {
        let mut disturbed = project("a", 1.0, 1.0);
        assert_eq!(heading(&disturbed, Form::Text), "a: 2 units, 30 lines\n");
        disturbed.others_cores = Some(0.84);
        assert_eq!(heading(&disturbed, Form::Text), "a: 2 units, 30 lines; DISTURBED, others kept 0.8 cores busy\n");
    }
}
