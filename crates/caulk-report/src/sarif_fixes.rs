//! Checked fixes in SARIF's words: what to delete where, and what to put there.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::sarif_parts::artifact;
use crate::source::{SourceFile, Sources};

/// Bytes of a file that give way to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub file: String,
    pub start: usize,
    pub end: usize,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    pub description: String,
    /// Sorted by file and place.
    pub changes: Vec<Change>,
}

/// By the fingerprint of the finding.
pub type Fixes = BTreeMap<String, Fix>;

pub(crate) fn value(fix: &Fix, sources: &Sources) -> Value {
    let mut files: Vec<(&str, Vec<Value>)> = Vec::new();
    for change in &fix.changes {
        let Some(replacement) = sources.get(&change.file).map(|file| replacement(&file, change)) else { continue };
        match files.last_mut().filter(|(file, _)| *file == change.file) {
            Some((_, replacements)) => replacements.push(replacement),
            None => files.push((&change.file, vec![replacement])),
        }
    }
    let change = |(file, replacements): (&str, Vec<Value>)| json!({ "artifactLocation": artifact(file), "replacements": replacements });
    json!({
        "description": { "text": fix.description },
        "artifactChanges": files.into_iter().map(change).collect::<Vec<_>>(),
    })
}

fn replacement(file: &SourceFile, change: &Change) -> Value {
    let ((start_line, start_column), (end_line, end_column)) = (place(file, change.start), place(file, change.end));
    json!({
        "deletedRegion": {
            "startLine": start_line,
            "startColumn": start_column,
            "endLine": end_line,
            "endColumn": end_column,
        },
        "insertedContent": { "text": change.text },
    })
}

/// The line of an offset, and its column in code units of UTF-16, both from 1.
pub fn place(file: &SourceFile, offset: usize) -> (u32, usize) {
    let line = file.line_at(offset);
    let start = file.offset(line, 1).unwrap_or(offset);
    let before = file.bytes().get(start..offset).unwrap_or_default();
    (line, String::from_utf8_lossy(before).encode_utf16().count() + 1)
}
