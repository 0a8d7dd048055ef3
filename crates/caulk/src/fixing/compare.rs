//! What a fix must come to, as far as the reports say: the finding is gone, and nothing else has come.

use std::collections::BTreeMap;

use caulk_fix::patch::old_lines;
use caulk_frontend::LostUnit;
use caulk_report::{Finding, shown_path};

use super::Problem;
use crate::commands::check::Checked;

/// Units that were read before, and are not with the changed text.
pub(super) fn lost(before: &Checked, after: &Checked, texts: &BTreeMap<String, Vec<u8>>) -> Vec<Problem> {
    let known = &before.analysed.read.lost;
    let is_new = |lost: &&LostUnit| !known.iter().any(|k| k.source == lost.source);
    let problem = |lost: &LostUnit| Problem {
        functions: Vec::new(),
        still: None,
        file: Some(place(before, lost, texts)),
        text: format!("the changed text does not compile: {}", lost.reason),
    };
    after.analysed.read.lost.iter().filter(is_new).map(problem).collect()
}

/// The file that does not compile, and the line of it as it was that is nearest to what the compiler names.
fn place(before: &Checked, lost: &LostUnit, texts: &BTreeMap<String, Vec<u8>>) -> (String, Option<u32>) {
    let file = shown(before, &lost.source);
    let number = |part: &str| part.parse::<usize>().ok().filter(|line| *line > 0);
    let line = lost.reason.split(':').find_map(number);
    let lines = texts.get(&file).zip(before.sources.get(&file)).map(|(new, old)| old_lines(old.bytes(), new));
    let old =
        line.zip(lines).and_then(|(line, lines)| lines[..line.min(lines.len())].iter().rev().find_map(|old| *old));
    (file, old)
}

/// A source by the path that findings give it. Units are named as the user sees them from the current folder.
fn shown(before: &Checked, source: &str) -> String {
    let root = &before.analysed.read.root;
    let absolute = std::fs::canonicalize(source).unwrap_or_else(|_| root.join(source));
    shown_path(&absolute.to_string_lossy(), root)
}

/// How often a leak is found, and at how many places. What is alike is numbered in fingerprints, and numbers move up when one is
/// gone: so the number is left out.
type Counts<'a> = BTreeMap<&'a str, (usize, usize)>;

fn counts(findings: &[Finding]) -> Counts<'_> {
    let mut counts = Counts::new();
    for finding in findings {
        let count = counts.entry(kind(&finding.fingerprint)).or_default();
        *count = (count.0 + 1, count.1 + 1 + finding.also_lost_at.len());
    }
    counts
}

pub(super) fn kind(fingerprint: &str) -> &str {
    fingerprint.split_once('-').map_or(fingerprint, |(kind, _)| kind)
}

/// Findings that should be gone and are not, and those that were not there before.
pub(super) fn findings(before: &[Finding], after: &[Finding], targets: &[&str]) -> Vec<Problem> {
    let (old, new) = (counts(before), counts(after));
    let mut problems = Vec::new();
    for (name, (count, places)) in &new {
        let fixed = targets.iter().filter(|target| kind(target) == *name).count();
        let (known, known_places) = old.get(name).copied().unwrap_or_default();
        if fixed > 0 && *count + fixed > known {
            problems.push(Problem {
                functions: Vec::new(),
                still: Some((*name).to_owned()),
                file: None,
                text: "the memory is still lost on some path".to_owned(),
            });
        } else if *count > known || *places > known_places {
            let found = after.iter().filter(|f| kind(&f.fingerprint) == *name);
            problems.extend(found.map(|f| Problem {
                functions: vec![f.loss.function.clone(), f.allocation.site.function.clone()],
                still: None,
                file: None,
                text: format!("it makes another leak: {}", f.message()),
            }));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn numbers_of_fingerprints_are_left_out() {
        assert_eq!((kind("0123abcd-2"), kind("0123abcd")), ("0123abcd", "0123abcd"));
    }
}
