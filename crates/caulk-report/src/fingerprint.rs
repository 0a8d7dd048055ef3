//! A name for a finding that stays the same while code around it changes.
//!
//! It is made of what the leak is about: file, function, variable, the text of the statement that allocates, with spaces, breaks of
//! lines and the names of called functions left out, and whether 0 or null is returned where it is lost. The place of loss has no
//! part in it, so another exit of the same kind makes no new finding; nor have numbers of lines, the path, or anything outside of
//! the function. Findings that are alike in all that are numbered in the order of their allocations.
//!
//! The *shape* is the same without the function and the folders of the file: a baseline knows by it what was renamed or moved.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Call, Finding, Site};
use crate::source::Sources;
use crate::tokens::{Token, TokenKind};

/// Goes up when fingerprints of unchanged code change, so that one kind is never compared with another.
pub(crate) const VERSION: u32 = 3;

/// An allocation: its place, and the calls below.
type MadeAt = (Site, Vec<Call>);

/// Fills in the fingerprints. All places and paths of one leak share theirs.
pub(crate) fn mark(findings: &mut [Finding], sources: &Sources) {
    let origin = |finding: &Finding| -> MadeAt { (finding.allocation.site.clone(), finding.chain.clone()) };
    let mut alike: BTreeMap<String, BTreeSet<MadeAt>> = BTreeMap::new();
    for finding in findings.iter_mut() {
        let statement = statement(&finding.allocation.site, sources);
        finding.fingerprint = hash(&[&finding.loss.file, &finding.loss.function], finding, &statement);
        let name = finding.loss.file.rsplit('/').next().unwrap_or_default();
        finding.shape = hash(&[name], finding, &statement);
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

fn hash(place: &[&str], finding: &Finding, statement: &str) -> String {
    let mut hash = blake3::Hasher::new();
    let mut part = |text: &str| {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    };
    place.iter().for_each(|text| part(text));
    part(finding.variable.as_deref().unwrap_or_default());
    part(statement);
    part(if finding.returns_zero { "0" } else { "" });
    hash.finalize().to_hex()[..16].to_owned()
}

/// Tokens taken of a statement on either side of the place: a table that is written as one statement may be long.
const MAX_SIDE: usize = 100;

/// The tokens of the statement around a place, without the names of functions that are called in it.
fn statement(site: &Site, sources: &Sources) -> String {
    let Some(file) = sources.get(&site.file) else { return String::new() };
    let Some(offset) = file.offset(site.line, site.column) else { return String::new() };
    let (text, tokens) = (file.bytes(), file.tokens());
    let word = |token: &Token| &text[token.start..token.end];
    let is_end = |token: &Token| matches!(word(token), b";" | b"{" | b"}");
    let here = tokens.partition_point(|token| token.start < offset);
    let before = tokens[..here].iter().rev().take(MAX_SIDE).take_while(|token| !is_end(token)).count();
    let after = tokens[here..].iter().take(MAX_SIDE).take_while(|token| !is_end(token)).count();
    let own = &tokens[here - before..here + after];
    let mut words: Vec<String> = Vec::with_capacity(own.len());
    for (at, token) in own.iter().enumerate() {
        let is_called = token.kind == TokenKind::Word && own.get(at + 1).is_some_and(|next| word(next) == b"(");
        words.push(if is_called { "@".into() } else { String::from_utf8_lossy(word(token)).into() });
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_may_be_wrapped_and_its_callees_renamed() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let of = |text: &str, line: u32, column: u32| {
            std::fs::write(folder.path().join("a.c"), text).expect("writable");
            let site = Site { file: "a.c".to_owned(), line, column, function: String::new() };
            statement(&site, &Sources::new(folder.path(), 1 << 20))
        };
        let plain = of("int f(int n) {\n  g();\n  char *p = malloc(n * 2); // why\n}\n", 3, 13);
        assert_eq!(plain, "char * p = @ ( n * 2 )");
        assert_eq!(of("int f(int n) {\n  char *p =\n      xmalloc(n\n * 2);\n}\n", 3, 7), plain);
        assert_ne!(of("int f(int n) {\n  char *p = malloc(n * 3);\n}\n", 2, 13), plain);
        assert_eq!(of("x", 9, 1), "");
    }
}
