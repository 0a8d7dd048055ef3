//! A name for a finding that stays the same while code around it changes.
//!
//! It is made of what the leak is about (rule, file, function, variable) and of the text of the two lines that matter, with
//! spaces and the names of called functions left out. Numbers of lines, the path, and anything outside of the function have no
//! part in it. Findings that are alike in all that are numbered in the order of their places.

use rustc_hash::FxHashMap;

use crate::finding::{Finding, Site};
use crate::source::Sources;
use crate::tokens::{TokenKind, tokens};

/// Goes up when fingerprints of unchanged code change, so that nobody compares one kind with another.
pub const VERSION: u32 = 1;

/// Fills in the fingerprints of findings that are in their final order. Several paths of one leak share theirs.
pub fn mark(findings: &mut [Finding], sources: &Sources) {
    let mut seen: FxHashMap<String, Vec<(Site, Site)>> = FxHashMap::default();
    for finding in findings {
        let base = base(finding, sources);
        let places = (finding.loss.clone(), finding.allocation.site.clone());
        let alike = seen.entry(base.clone()).or_default();
        let index = alike.iter().position(|p| *p == places).unwrap_or_else(|| {
            alike.push(places);
            alike.len() - 1
        });
        finding.fingerprint = if index == 0 { base } else { format!("{base}-{}", index + 1) };
    }
}

fn base(finding: &Finding, sources: &Sources) -> String {
    let mut hash = blake3::Hasher::new();
    let mut part = |text: &str| {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    };
    part(finding.kind.rule());
    part(&finding.loss.file);
    part(&finding.loss.function);
    part(finding.variable.as_deref().unwrap_or_default());
    part(&line(&finding.loss, sources));
    part(&line(&finding.allocation.site, sources));
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
