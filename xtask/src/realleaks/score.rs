//! Which known leaks a report names.

use crate::sarif::{Finding, Place};

use super::known::Leak;

/// A place counts as the known one within this many lines.
const NEAR: u32 = 3;
/// The allocation is looked for among this many related places: the call in the function, and the chain down to the
/// allocator.
const MAX_RELATED: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A finding of its own says where it is lost, or is in the function and says where it is allocated.
    Exact,
    /// Some finding is in the function, or its allocation is.
    Named,
    Missed,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Exact => "exact",
            Verdict::Named => "named",
            Verdict::Missed => "missed",
        }
    }
}

/// The verdict on each known leak. A finding makes one leak exact, the first that it fits.
pub(crate) fn score(leaks: &[Leak], findings: &[Finding]) -> Vec<Verdict> {
    let mut is_used = vec![false; findings.len()];
    let mut verdict = |leak: &Leak| {
        let fits = |(index, finding): (usize, &Finding)| !is_used[index] && is_exact(leak, finding);
        if let Some(index) = findings.iter().enumerate().position(fits) {
            is_used[index] = true;
            return Verdict::Exact;
        }
        if findings.iter().any(|f| is_named(leak, f)) { Verdict::Named } else { Verdict::Missed }
    };
    leaks.iter().map(&mut verdict).collect()
}

fn is_exact(leak: &Leak, finding: &Finding) -> bool {
    let is_lost_here = |p: &Place| leak.lost_at().is_some_and(|line| p.line.abs_diff(line) <= NEAR);
    if lost(finding).any(|p| is_in_function(leak, p) && is_lost_here(p)) {
        return true;
    }
    let is_made_here = |p: &Place| {
        leak.made_at().is_some_and(|(file, line)| is_same_file(&p.file, file) && p.line.abs_diff(line) <= NEAR)
    };
    lost(finding).any(|p| is_in_function(leak, p)) && finding.related.iter().take(MAX_RELATED).any(is_made_here)
}

fn is_named(leak: &Leak, finding: &Finding) -> bool {
    lost(finding).chain(finding.related.first()).any(|p| is_in_function(leak, p))
}

/// All places of loss.
fn lost(finding: &Finding) -> impl Iterator<Item = &Place> {
    finding.main.iter().chain(&finding.also)
}

fn is_in_function(leak: &Leak, place: &Place) -> bool {
    is_same_file(&place.file, leak.file()) && leak.covers(place.line)
}

/// A report may give the whole path.
fn is_same_file(reported: &str, known: &str) -> bool {
    reported.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leak(text: &str) -> Leak {
        serde_json::from_str(text).expect("it is a known leak")
    }

    fn finding(lost: u32, made: u32) -> Finding {
        let at = |line| vec![Place { file: "/src/a.c".into(), line }];
        Finding { main: at(lost), related: at(made), ..Finding::default() }
    }

    #[test]
    fn a_leak_is_exact_by_its_loss_or_its_allocation() {
        let known = [leak(r#"{"file":"a.c","function_range":[10,40],"leak_line":30,"alloc_line":12}"#)];
        let verdict = |findings: &[Finding]| score(&known, findings)[0];
        assert_eq!(verdict(&[finding(33, 1)]), Verdict::Exact);
        assert_eq!(verdict(&[finding(20, 13)]), Verdict::Exact);
        assert_eq!(verdict(&[finding(20, 20)]), Verdict::Named);
        assert_eq!(verdict(&[finding(50, 12)]), Verdict::Named);
        assert_eq!(verdict(&[finding(50, 50)]), Verdict::Missed);
        assert_eq!(verdict(&[]), Verdict::Missed);
        let several = Finding { also: vec![Place { file: "/src/a.c".into(), line: 29 }], ..finding(20, 20) };
        assert_eq!(verdict(&[several]), Verdict::Exact);
    }

    #[test]
    fn a_finding_serves_one_leak() {
        let text = r#"{"file":"a.c","function_range":[10,40],"leak_line":30}"#;
        let known = [leak(text), leak(text)];
        assert_eq!(score(&known, &[finding(30, 12)]), [Verdict::Exact, Verdict::Named]);
        assert_eq!(score(&known, &[finding(30, 12), finding(31, 12)]), [Verdict::Exact, Verdict::Exact]);
    }

    #[test]
    fn files_are_compared_by_whole_names() {
        assert!(is_same_file("/src/a.c", "a.c") && is_same_file("src/a.c", "src/a.c"));
        assert!(!is_same_file("/src/ba.c", "a.c"));
    }
}
