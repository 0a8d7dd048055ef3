//! Which findings concern the user: those in the files that were named, and those that touch a changed line.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Finding, Site, StepKind};

/// Files by the path findings give them. The default wants everything.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Files whose findings are not wanted, though they were analysed.
    pub unwanted: BTreeSet<String>,
    /// Findings that touch no change are known.
    pub changed: Option<Changed>,
}

/// What changed since some commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The commit, as the user named it.
    pub since: String,
    pub files: BTreeMap<String, ChangedLines>,
    /// Functions with a changed line, as the source names them.
    pub functions: BTreeSet<String>,
    /// Calls, by file and line, whose blocks a function with a changed line is given: it may have freed or kept them before.
    pub given: BTreeSet<(String, u32)>,
}

/// The changed lines of a file as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedLines {
    /// The file is new.
    All,
    Some {
        /// Lines that are new or different.
        lines: BTreeSet<u32>,
        /// Where lines were taken away or replaced: the numbers of the lines before the gaps. What is missing now may have
        /// been what freed the memory.
        gaps: BTreeSet<u32>,
    },
}

impl Scope {
    /// Whether a finding is in a wanted file: it is lost or allocated there.
    pub fn wants(&self, finding: &Finding) -> bool {
        let others = finding.also_lost_at.iter().map(|other| &other.site);
        let sites = [&finding.loss, &finding.allocation.site].into_iter().chain(others);
        self.unwanted.is_empty() || sites.into_iter().any(|site| !self.unwanted.contains(&site.file))
    }
}

impl Changed {
    /// Whether the path or the cause of a finding touches a change.
    pub fn touches(&self, finding: &Finding) -> bool {
        finding.places().any(|site| self.has_line(site))
            || self.has_gap_on_path(finding)
            || self.calls_changed(finding)
            || self.is_given_to_changed(&finding.allocation.site)
    }

    fn is_given_to_changed(&self, made: &Site) -> bool {
        self.given.contains(&(made.file.clone(), made.line))
    }

    fn has_line(&self, site: &Site) -> bool {
        match self.files.get(&site.file) {
            Some(ChangedLines::All) => true,
            Some(ChangedLines::Some { lines, .. }) => lines.contains(&site.line),
            None => false,
        }
    }

    /// Whether something was taken away between the first and the last line of the path in the function that leaks.
    fn has_gap_on_path(&self, finding: &Finding) -> bool {
        let Some(ChangedLines::Some { gaps, .. }) = self.files.get(&finding.loss.file) else { return false };
        let is_own =
            |site: &&Site| site.file == finding.loss.file && site.function == finding.loss.function && site.line > 0;
        let lines: BTreeSet<u32> = finding.places().filter(is_own).map(|site| site.line).collect();
        match (lines.first(), lines.last()) {
            (Some(first), Some(last)) => gaps.range(first.saturating_sub(1)..=*last).next().is_some(),
            _ => false,
        }
    }

    /// Whether a function that the path calls was changed: it may have freed or kept the memory before.
    fn calls_changed(&self, finding: &Finding) -> bool {
        let calls = finding.steps.iter().filter(|s| s.kind == StepKind::NotTaken);
        calls.into_iter().any(|step| self.functions.iter().any(|name| names_call(&step.text, name)))
    }
}

/// Whether a text speaks of a call of a function: `g()`, and not `log()`.
fn names_call(text: &str, name: &str) -> bool {
    let call = format!("{name}()");
    text.match_indices(&call).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Call, Step, example};

    fn at(line: u32) -> Site {
        Site { file: "a.c".to_owned(), line, column: 1, function: "f".to_owned() }
    }

    fn finding(made: u32, lost: u32) -> Finding {
        let step =
            |kind: StepKind, line: u32, text: &str| Step { kind, site: at(line), text: text.to_owned(), detail: false };
        let steps = vec![step(StepKind::NotTaken, made + 1, "`p` is passed to g()")];
        let allocation = Call { site: at(made), callee: "malloc()".to_owned() };
        Finding { loss: at(lost), allocation, steps, ..example() }
    }

    fn changed(lines: &[u32], gaps: &[u32], functions: &[&str]) -> Changed {
        let (lines, gaps) = (lines.iter().copied().collect(), gaps.iter().copied().collect());
        Changed {
            since: "HEAD".to_owned(),
            files: BTreeMap::from([("a.c".to_owned(), ChangedLines::Some { lines, gaps })]),
            functions: functions.iter().map(|name| name.to_string()).collect(),
            given: BTreeSet::new(),
        }
    }

    #[test]
    fn lines_gaps_and_callees() {
        let leak = finding(10, 20);
        assert!(changed(&[11], &[], &[]).touches(&leak));
        assert!(!changed(&[12], &[], &[]).touches(&leak), "no step is there");
        assert!(changed(&[], &[15], &[]).touches(&leak), "a free() may have been there");
        assert!(!changed(&[], &[25], &[]).touches(&leak));
        assert!(changed(&[], &[], &["g"]).touches(&leak));
        assert!(!changed(&[], &[], &["h"]).touches(&leak));
        assert!(!names_call("passed to log()", "g"));
        let new = Changed { files: BTreeMap::from([("a.c".to_owned(), ChangedLines::All)]), ..Changed::default() };
        assert!(new.touches(&leak));
        assert!(!Changed::default().touches(&leak));
        let given = |line: u32| BTreeSet::from([("a.c".to_owned(), line)]);
        assert!(Changed { given: given(10), ..Changed::default() }.touches(&leak), "a changed function is given it");
        assert!(!Changed { given: given(11), ..Changed::default() }.touches(&leak));
    }
}
