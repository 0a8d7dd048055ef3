//! `bench/RESULTS.md`: the tables of all measures, with where and with what they were made.

use std::collections::BTreeSet;

use crate::bench::report::rows;
use crate::bench::report::{Form, Header, Table};

use super::record::{ProjectRecord, Record};
use super::summary;
use super::words::percent;

const NOT_MEASURED: &str = "Not measured.\n";

/// The whole text. `gaps` is written by hand and goes in as it is.
pub(crate) fn render(record: &Record, block: &str, gaps: &str) -> String {
    let sections = [
        ("In short", block.to_owned()),
        ("Where and with what", origin(record)),
        ("Juliet", juliet(record)),
        ("Known leaks", known(record)),
        ("Findings read", verdicts(record)),
        ("Side by side", side_by_side(record)),
        ("Growth", growth(record)),
        ("Regression", regress(record)),
    ];
    let mut text = "# Results\n\nWritten by `cargo xtask results`: do not edit. `README.md` in this folder says what is measured and how.\n".to_owned();
    for (title, body) in sections {
        let marked = if title == "In short" { super::block::marked(&body) } else { body };
        text.push_str(&format!("\n## {title}\n\n{marked}"));
    }
    format!("{text}\n{}\n", gaps.trim_end())
}

fn origin(record: &Record) -> String {
    let headers = record.headers();
    let Some(last) = headers.iter().max_by_key(|header| &header.date) else { return NOT_MEASURED.to_owned() };
    let all = |of: fn(&Header) -> &String| {
        let values: BTreeSet<&String> = headers.iter().map(|header| of(header)).collect();
        values.into_iter().cloned().collect::<Vec<_>>()
    };
    let commits = all(|header| &header.commit);
    let mut versions: BTreeSet<String> = headers.iter().flat_map(|header| header.versions.iter().cloned()).collect();
    versions.extend(record.projects.iter().flat_map(|project| &project.peers).map(|peer| peer.version.clone()));
    let dates = all(|header| &header.date);
    let mut text = format!(
        "- date: {} to {}\n- machine: {}; {} units at once\n- commit: {}\n- versions: {}\n- command: `{}`\n",
        dates[0],
        last.date,
        all(|header| &header.machine).join("; "),
        headers.iter().map(|header| header.jobs).max().unwrap_or(0),
        commits.join(", "),
        versions.into_iter().collect::<Vec<_>>().join("; "),
        last.command,
    );
    let of_projects = record.projects.iter().filter_map(|project| project.findings.as_ref());
    let versions: Vec<String> = of_projects
        .filter_map(|findings| Some(format!("{} {}", findings.project, findings.version.as_ref()?)))
        .collect();
    if !versions.is_empty() {
        text.push_str(&format!("- projects, as git describes them: {}\n", versions.join(", ")));
    }
    if commits.len() > 1 {
        text.push_str("\n**Not of one commit**: measure again with `--fresh` before these figures are used.\n");
    }
    text
}

fn juliet(record: &Record) -> String {
    let Some(report) = &record.juliet else { return NOT_MEASURED.to_owned() };
    let mut text = report.print(true);
    if report.failed > 0 {
        text.push_str(&format!("\n{} test cases could not be analysed and count as missed.\n", report.failed));
    }
    text
}

fn known(record: &Record) -> String {
    let mut table = Table::new(&["project", "known leaks", "exact", "named"]);
    for project in &record.projects {
        let Some(known) = project.findings.as_ref().and_then(|findings| findings.known) else { continue };
        let counts = [known.leaks, known.exact, known.named].map(|count| count.to_string());
        table.push([project.name.clone()].into_iter().chain(counts).collect());
    }
    if table.is_empty() {
        return NOT_MEASURED.to_owned();
    }
    let sum = summary::known(&record.projects);
    let counts = [sum.leaks, sum.exact, sum.named].map(|count| count.to_string());
    table.push(["all".to_owned()].into_iter().chain(counts).collect());
    table.print(Form::Markdown)
}

fn verdicts(record: &Record) -> String {
    let Some(sum) = summary::verdicts(&record.projects) else { return NOT_MEASURED.to_owned() };
    let mut table = Table::new(&[
        "project",
        "findings",
        "real",
        "false",
        "unsure",
        "unread",
        "real of read",
        "read twice",
        "alike",
    ]);
    let of = |project: &ProjectRecord| Some((project.name.clone(), project.verdicts?));
    for (name, tally) in record.projects.iter().filter_map(of).chain([("all".to_owned(), sum)]) {
        let counts = [tally.findings, tally.real, tally.wrong, tally.unsure, tally.unread];
        let mut row = vec![name];
        row.extend(counts.map(|count| count.to_string()));
        row.push(tally.precision().map_or_else(String::new, percent));
        row.extend([tally.read_twice, tally.agreed].map(|count| count.to_string()));
        table.push(row);
    }
    let mut text = table.print(Form::Markdown);
    if sum.gone_real > 0 {
        text.push_str(&format!("\n{} findings that were read as real are not reported any more.\n", sum.gone_real));
    }
    text
}

fn side_by_side(record: &Record) -> String {
    let results: Vec<_> = record.projects.iter().filter_map(ProjectRecord::side_by_side).collect();
    if results.is_empty() {
        return NOT_MEASURED.to_owned();
    }
    let print =
        |result| format!("{}{}", rows::heading(result, Form::Markdown), rows::table(result).print(Form::Markdown));
    let peers: BTreeSet<&str> =
        record.projects.iter().flat_map(|project| &project.peers).map(|peer| peer.header.date.as_str()).collect();
    let mut text = results.iter().map(print).collect::<Vec<_>>().join("\n");
    if let (Some(first), Some(last)) = (peers.first(), peers.last()) {
        text.push_str(&format!("\nThe peers ran once each, from {first} to {last}.\n"));
    }
    text
}

fn growth(record: &Record) -> String {
    let Some(report) = &record.growth else { return NOT_MEASURED.to_owned() };
    format!("{}\n![time and memory against size](growth.svg)\n", report.print(Form::Markdown))
}

fn regress(record: &Record) -> String {
    let Some(report) = &record.regress else { return NOT_MEASURED.to_owned() };
    let mut text = report.table().print(Form::Markdown);
    let differences: String = report.differences.iter().map(|line| format!("- not the same: {line}\n")).collect();
    if !differences.is_empty() {
        text.push_str(&format!("\n{differences}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::block;
    use crate::results::sample::record;

    #[test]
    fn every_measure_has_a_section() {
        let text = render(&record(), "the block\n", "## Gaps\n\n- one\n");
        assert_eq!(block::find(&text), Some("the block\n"));
        for wanted in [
            "## Juliet\n\nNot measured.\n",
            "- commit: a1, b2\n- versions: Cppcheck 2; caulk 1; clang 19\n",
            "- projects, as git describes them: p v1\n",
            "**Not of one commit**",
            "| p       |       10 |    6 |     2 |      0 |      2 |         75 % |          3 |     2 |",
            "### p: 2 units, 1234 lines; DISTURBED, others kept 0.5 cores busy\n",
            "\n## Gaps\n\n- one\n",
        ] {
            assert!(text.contains(wanted), "{wanted:?} is missing from:\n{text}");
        }
    }
}
