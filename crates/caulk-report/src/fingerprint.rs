//! A name for a finding that stays the same while code around it changes.
//!
//! It is made of what the leak is about: file, function, variable, the text of the line that allocates, with spaces and the
//! names of called functions left out, and whether 0 or null is returned where it is lost. The place of loss has no part in
//! it, so another exit of the same kind makes no new finding; nor have numbers of lines, the path, or anything outside of the
//! function. Findings that are alike in all that are numbered in the order of their allocations.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Call, Finding, Site};
use crate::source::Sources;
use crate::tokens::{TokenKind, tokens};

/// Goes up when fingerprints of unchanged code change, so that nobody compares one kind with another.
pub(crate) const VERSION: u32 = 2;

/// An allocation: its place, and the calls below.
type Origin = (Site, Vec<Call>);

/// Fills in the fingerprints. All places and paths of one leak share theirs.
pub(crate) fn mark(findings: &mut [Finding], sources: &Sources) {
    let origin = |finding: &Finding| -> Origin { (finding.allocation.site.clone(), finding.chain.clone()) };
    let mut alike: BTreeMap<String, BTreeSet<Origin>> = BTreeMap::new();
    for finding in findings.iter_mut() {
        finding.fingerprint = base(finding, sources);
        alike.entry(finding.fingerprint.clone()).or_default().insert(origin(finding));
    }
    for finding in findings {
        let (origins, own) = (&alike[&finding.fingerprint], origin(finding));
        let before = origins.range(..own).count();
        if before > 0 {
            finding.fingerprint = format!("{}-{}", finding.fingerprint, before + 1);
        }
    }
}

fn base(finding: &Finding, sources: &Sources) -> String {
    let mut hash = blake3::Hasher::new();
    let mut part = |text: &str| {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    };
    part(&finding.loss.file);
    part(&finding.loss.function);
    part(finding.variable.as_deref().unwrap_or_default());
    part(&line(&finding.allocation.site, sources));
    part(if finding.returns_zero { "0" } else { "" });
    hash.finalize().to_hex()[..16].to_owned()
}

/// A line's tokens, without the names of functions that are called in it.
fn line(site: &Site, sources: &Sources) -> String {
    let Some(file) = sources.get(&site.file) else { return String::new() };
    let text = file.line(site.line).unwrap_or_default();
    let tokens = tokens(text);
    let mut words: Vec<String> = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map(|t| &text[t.start..t.end]);
        let is_called = token.kind == TokenKind::Word && next == Some(b"(");
        words.push(if is_called { "@".into() } else { String::from_utf8_lossy(&text[token.start..token.end]).into() });
    }
    words.join(" ")
}
