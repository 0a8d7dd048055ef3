//! The end of a report for people: findings by confidence and folder, what is new, what was not analysed, and which unknown
//! functions hid most.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{BaselineState, Confidence, Finding, Kind};
use crate::report::Report;

/// Folders listed before the rest is only counted.
const MAX_FOLDERS: usize = 8;
/// Units that were not read and unknown functions, named before the rest is only counted.
const MAX_NAMED: usize = 5;

/// One line each, the total first.
pub fn lines(report: &Report) -> Vec<String> {
    let findings: Vec<&Finding> = report.counted().collect();
    let mut lines = vec![total(&findings)];
    lines.extend(by_folder(&findings));
    lines.extend(against_baseline(report));
    lines
}

/// What the analysis did not see.
pub fn blind_spots(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    if !report.units_not_read.is_empty() {
        lines.push(match report.units_not_read.len() {
            1 => "1 unit was not read, so what it leaks, frees or keeps is not known:".to_owned(),
            many => format!("{many} units were not read, so what they leak, free or keep is not known:"),
        });
        let named = report.units_not_read.iter().take(MAX_NAMED);
        lines.extend(named.map(|unit| format!("    {}: {}", unit.source, unit.reason)));
        lines.extend(rest(report.units_not_read.len()));
    }
    if !report.units_skipped.is_empty() {
        lines.push(format!("entries of the database that were not analysed: {}", report.units_skipped));
    }
    if report.unknown.objects > 0 {
        let objects = count(report.unknown.objects, "object", "objects");
        let named = report.unknown.functions.iter().take(MAX_NAMED);
        let names: Vec<String> = named.map(|(name, count)| format!("{name} ({count})")).collect();
        let more = if report.unknown.functions.len() > MAX_NAMED { ", ..." } else { "" };
        let list = names.join(", ");
        lines.push(format!(
            "{objects} escaped to unknown code: {list}{more}; a model tells what it does (docs/models.md)"
        ));
    }
    lines
}

/// `1 unit`, `2 units`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

fn total(findings: &[&Finding]) -> String {
    let leaks: Vec<&&Finding> = findings.iter().filter(|f| !f.is_note()).collect();
    let mut text = counts(findings);
    if findings.is_empty() {
        return text;
    }
    let files: BTreeSet<&str> = findings.iter().map(|f| f.loss.file.as_str()).collect();
    text += &format!(" in {}", count(files.len(), "file", "files"));
    let of_kind = |kind: Kind| (leaks.iter().filter(|f| f.kind == kind).count(), kind.rule().to_owned());
    let kinds = nonzero([Kind::Lost, Kind::Forgotten, Kind::Resource].map(of_kind));
    let of_confidence = |confidence: Confidence| {
        (leaks.iter().filter(|f| f.confidence == confidence).count(), format!("of {confidence} confidence"))
    };
    let confidences = nonzero([Confidence::High, Confidence::Medium, Confidence::Low].map(of_confidence));
    if !kinds.is_empty() {
        text += &format!(": {kinds}; {confidences}");
    }
    text
}

fn nonzero<const N: usize>(parts: [(usize, String); N]) -> String {
    let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// `2 leaks, 1 note`.
pub fn counts(findings: &[&Finding]) -> String {
    let notes = findings.iter().filter(|f| f.is_note()).count();
    let leaks = match findings.len() - notes {
        0 => "no leaks".to_owned(),
        n => count(n, "leak", "leaks"),
    };
    if notes == 0 { leaks } else { format!("{leaks}, {}", count(notes, "note", "notes")) }
}

/// Where there is more than one folder: how many are in each, the most first.
fn by_folder(findings: &[&Finding]) -> Vec<String> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        let folder = finding.loss.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    if folders.len() < 2 {
        return Vec::new();
    }
    let mut sorted: Vec<(&str, usize)> = folders.into_iter().collect();
    sorted.sort_by_key(|(folder, count)| (std::cmp::Reverse(*count), *folder));
    let mut lines: Vec<String> =
        sorted.iter().take(MAX_FOLDERS).map(|(folder, count)| format!("{count:>6}  {folder}/")).collect();
    if sorted.len() > MAX_FOLDERS {
        let others: usize = sorted[MAX_FOLDERS..].iter().map(|(_, count)| count).sum();
        lines.push(format!("{others:>6}  in {}", count(sorted.len() - MAX_FOLDERS, "more folder", "more folders")));
    }
    for line in &mut lines {
        // The top folder has no name.
        if line.ends_with("  /") {
            line.truncate(line.len() - 1);
            line.push('.');
        }
    }
    lines
}

fn against_baseline(report: &Report) -> Option<String> {
    let is = |state: BaselineState| report.findings.iter().filter(|f| f.baseline == Some(state)).count();
    let (new, known) = (is(BaselineState::New), is(BaselineState::Unchanged));
    let is_compared = new + known + report.fixed.len() > 0;
    let than = report.changed_since.as_ref().map_or_else(|| "the baseline".to_owned(), Clone::clone);
    is_compared.then(|| format!("compared with {than}: {new} new, {known} known, {} fixed", report.fixed.len()))
}

fn rest(count: usize) -> Option<String> {
    (count > MAX_NAMED).then(|| format!("    and {} more", count - MAX_NAMED))
}
