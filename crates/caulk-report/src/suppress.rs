//! Findings that were looked at and are not to be reported again, with the reason.
//!
//! In the source, `// caulk: ignore RULE "reason"` on the line of loss or of the allocation, or above it. In the configuration,
//! by path, function or rule. Rules may be left out: then all are meant.

use std::collections::BTreeMap;

use caulk_models::nearest;
use globset::GlobMatcher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Kind, Site};
use crate::source::{SourceFile, Sources};

/// Why a finding is not shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suppression {
    pub source: SuppressionSource,
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SuppressionSource {
    Comment,
    Configuration,
}

/// A suppression of the configuration. What is None matches everything.
#[derive(Clone, Debug)]
pub struct Ignore {
    pub rule: Option<Kind>,
    pub path: Option<GlobMatcher>,
    pub function: Option<String>,
    pub reason: Option<String>,
    /// Where it is written, for messages.
    pub place: String,
}

/// A suppression that is of no use, or says not why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Complaint {
    /// File and line.
    pub place: String,
    pub text: String,
}

/// A comment of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    rules: Vec<Kind>,
    reason: Option<String>,
    /// The line it is on, and the line it speaks of.
    line: u32,
    target: u32,
    /// What is wrong with it, for a message: a word that is no rule.
    slip: Option<String>,
}

pub struct Suppressions<'a> {
    ignores: &'a [Ignore],
    used_ignores: Vec<bool>,
    sources: &'a Sources,
    /// By file.
    remarks: BTreeMap<String, Vec<(Remark, bool)>>,
}

impl<'a> Suppressions<'a> {
    pub fn new(ignores: &'a [Ignore], sources: &'a Sources) -> Self {
        Self { ignores, used_ignores: vec![false; ignores.len()], sources, remarks: BTreeMap::new() }
    }

    /// Marks the findings that are suppressed.
    pub fn apply(&mut self, findings: &mut [Finding]) {
        for finding in findings {
            finding.suppression = self.comment(finding).or_else(|| self.configured(finding));
        }
    }

    fn comment(&mut self, finding: &Finding) -> Option<Suppression> {
        let sites = [&finding.loss, &finding.allocation.site];
        sites.into_iter().find_map(|site| self.comment_at(site, finding.kind))
    }

    fn comment_at(&mut self, site: &Site, kind: Kind) -> Option<Suppression> {
        let remarks = self.of_file(&site.file);
        let speaks = |r: &Remark| r.target == site.line && (r.rules.is_empty() || r.rules.contains(&kind));
        let (remark, used) = remarks.iter_mut().find(|(remark, _)| speaks(remark))?;
        *used = true;
        Some(Suppression { source: SuppressionSource::Comment, reason: remark.reason.clone() })
    }

    fn of_file(&mut self, file: &str) -> &mut Vec<(Remark, bool)> {
        let sources = self.sources;
        self.remarks.entry(file.to_owned()).or_insert_with(|| {
            let source = sources.get(file);
            source.map_or_else(Vec::new, |s| remarks(&s).into_iter().map(|r| (r, false)).collect())
        })
    }

    fn configured(&mut self, finding: &Finding) -> Option<Suppression> {
        let matches = |ignore: &Ignore| {
            ignore.rule.is_none_or(|rule| rule == finding.kind)
                && ignore.path.as_ref().is_none_or(|glob| glob.is_match(&finding.loss.file))
                && ignore.function.as_ref().is_none_or(|name| *name == finding.loss.function)
        };
        let index = self.ignores.iter().position(matches)?;
        self.used_ignores[index] = true;
        let reason = self.ignores[index].reason.clone();
        Some(Suppression { source: SuppressionSource::Configuration, reason })
    }

    /// Suppressions with a slip, in the files of findings: one that leaves the finding reported, or silences too much.
    pub fn misspelt(&self) -> Vec<Complaint> {
        let all = self.remarks.iter().flat_map(|(file, remarks)| remarks.iter().map(move |(remark, _)| (file, remark)));
        let slips = all.filter_map(|(file, remark)| Some((file, remark.line, remark.slip.clone()?)));
        slips.map(|(file, line, text)| Complaint { place: format!("{file}:{line}"), text }).collect()
    }

    /// What is wrong with suppressions, in these files too though no finding is in them.
    pub fn complaints(mut self, files: impl IntoIterator<Item = String>) -> Vec<Complaint> {
        for file in files {
            self.of_file(&file);
        }
        let mut complaints = Vec::new();
        for (file, remarks) in &self.remarks {
            for (remark, used) in remarks {
                let place = format!("{file}:{}", remark.line);
                complaints.extend(complaint(&place, remark.reason.is_some(), *used, remark.slip.as_deref()));
            }
        }
        for (ignore, used) in self.ignores.iter().zip(&self.used_ignores) {
            complaints.extend(complaint(&ignore.place, ignore.reason.is_some(), *used, None));
        }
        complaints
    }
}

fn complaint(place: &str, has_reason: bool, used: bool, slip: Option<&str>) -> Option<Complaint> {
    let text = match (slip, used, has_reason) {
        (Some(slip), _, _) => slip.to_owned(),
        (None, false, _) => "this suppression silences nothing; remove it".to_owned(),
        (None, true, false) => "this suppression gives no reason; write one in quotes".to_owned(),
        (None, true, true) => return None,
    };
    Some(Complaint { place: place.to_owned(), text })
}

fn no_rule(word: &str) -> String {
    let rules = Kind::ALL.map(Kind::rule);
    let hint = match nearest(word, rules) {
        Some(rule) => format!("did you mean {rule}?"),
        None => format!("rules are {}, and a reason stands in quotes", rules.join(", ")),
    };
    format!("this suppression names {word:?}, which is no rule; {hint}")
}

/// The suppressions in the comments of a file.
pub fn remarks(source: &SourceFile) -> Vec<Remark> {
    let text = source.bytes();
    const MARK: &[u8] = b"caulk:";
    if !text.windows(MARK.len()).any(|w| w == MARK) {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    for comment in crate::tokens::comments(text) {
        let words = String::from_utf8_lossy(&text[comment.clone()]).into_owned();
        let Some(Said { rules, reason, slip }) = parse(&words) else { continue };
        let line = source.line_at(comment.start);
        let last_line = source.line_at(comment.end.saturating_sub(1));
        let tokens = source.tokens();
        let next = tokens.partition_point(|t| t.start < comment.start);
        let stands_after_code = next.checked_sub(1).is_some_and(|i| source.line_at(tokens[i].start) == line);
        // A word that is no rule must not make the comment speak of all rules.
        let is_void = slip.is_some() && rules.is_empty();
        let below = tokens.get(next).map_or(last_line, |t| source.line_at(t.start));
        let target = match (is_void, stands_after_code) {
            (true, _) => 0,
            (false, true) => line,
            (false, false) => below,
        };
        remarks.push(Remark { rules, reason, line, target, slip });
    }
    remarks
}

/// What a comment says that is a suppression, or was meant as one.
struct Said {
    rules: Vec<Kind>,
    reason: Option<String>,
    slip: Option<String>,
}

/// Words that other tools have for `ignore`.
const OTHER_WORDS: [&str; 6] = ["suppress", "disable", "nolint", "noqa", "skip", "allow"];

fn parse(comment: &str) -> Option<Said> {
    let body = comment.trim_start_matches(['/', '*', ' ', '\t', '!']);
    let rest = body.strip_prefix("caulk:")?.trim_start_matches([' ', '\t']);
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let (verb, rest) = rest.split_at(end);
    if verb != "ignore" {
        let is_slip = nearest(verb, ["ignore"]).is_some() || OTHER_WORDS.contains(&verb);
        let slip = is_slip
            .then(|| format!("this comment says \"caulk: {verb}\"; a suppression begins with \"caulk: ignore\""));
        return slip.map(|slip| Said { rules: Vec::new(), reason: None, slip: Some(slip) });
    }
    let rest = rest.trim_end().trim_end_matches("*/");
    let (names, reason) = match rest.split_once('"') {
        Some((names, quoted)) => (names, quoted.rsplit_once('"').map_or(quoted, |(reason, _)| reason).trim()),
        None => (rest, ""),
    };
    let mut rules = Vec::new();
    let mut slip = None;
    for name in names.split([' ', ',', '\t', '\n', '\r']).filter(|n| !n.is_empty()) {
        match Kind::ALL.into_iter().find(|k| k.rule() == name) {
            Some(kind) => rules.push(kind),
            None => slip = slip.or_else(|| Some(no_rule(name))),
        }
    }
    Some(Said { rules, reason: Some(reason.to_owned()).filter(|r| !r.is_empty()), slip })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(u32, u32, usize, Option<String>)> {
        let source = SourceFile::new(text.as_bytes().to_vec());
        remarks(&source).into_iter().map(|r| (r.line, r.target, r.rules.len(), r.reason)).collect()
    }

    #[test]
    fn comments_and_the_lines_they_speak_of() {
        let reason = |text: &str| Some(text.to_owned());
        assert_eq!(told("f();\n// caulk: ignore lost \"why\"\n\n// more\ng();\n"), [(2, 5, 1, reason("why"))]);
        assert_eq!(told("f(); // caulk: ignore\ng();\n"), [(1, 1, 0, None)]);
        let block = "/* caulk: ignore lost, forgotten\n   \"it is \\\"kept\\\"\" */ f();";
        assert_eq!(told(block), [(1, 2, 2, reason("it is \\\"kept\\\""))]);
        assert_eq!(told("puts(\"// caulk: ignore lost\");"), []);
        assert_eq!(told("// caulk: ignore leaks \"x\"\nf();"), [(1, 0, 0, reason("x"))]);
        assert_eq!(told("// see caulk: ignore\nf();"), []);
        assert_eq!(told("// caulk: ignore \"x\""), [(1, 1, 0, reason("x"))]);
        assert_eq!(told("f(); //caulk:ignore lost"), [(1, 1, 1, None)]);
    }

    #[test]
    fn slips_are_told_and_silence_nothing() {
        for text in ["// caulk: ignor lost", "// caulk: suppress \"x\"", "/* caulk:ignores */", "// caulk: ignore leak"]
        {
            let source = SourceFile::new(format!("{text}\nf();").into_bytes());
            let remarks = remarks(&source);
            assert!(matches!(remarks.as_slice(), [one] if one.slip.is_some() && one.target == 0), "{text}");
        }
        assert_eq!(told("// caulk: this buffer lives as long as the program\nf();"), []);
    }
}
