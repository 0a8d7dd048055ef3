//! The form of a known leak: one JSON object a line. Lines and ranges with `tag_` are those of the released version that
//! is analysed, the others those of the commit before the leak was fixed; the former count where they are given.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Leak {
    pub id: String,
    pub project: String,
    file: String,
    tag_file: Option<String>,
    /// The function that loses the memory, and the lines it covers.
    pub function: String,
    function_range: Option<(u32, u32)>,
    tag_function_range: Option<(u32, u32)>,
    /// What is lost, in words.
    pub leaked: String,
    alloc_file: Option<String>,
    alloc_line: Option<u32>,
    tag_alloc_line: Option<u32>,
    leak_line: Option<u32>,
    tag_leak_line: Option<u32>,
    /// Whether the released version has it, ...
    exists_at_tag: bool,
    /// ... and compiles it in the tree that is analysed.
    function_compiled_in_tree: bool,
    doubtful: bool,
}

impl Leak {
    pub(crate) fn counts(&self) -> bool {
        self.exists_at_tag && self.function_compiled_in_tree && !self.doubtful
    }

    pub(crate) fn file(&self) -> &str {
        self.tag_file.as_deref().unwrap_or(&self.file)
    }

    /// The lines of the function, both ends included; none when not even that is known.
    pub(crate) fn covers(&self, line: u32) -> bool {
        let range = self.tag_function_range.or(self.function_range);
        range.is_some_and(|(first, last)| first <= line && line <= last)
    }

    pub(crate) fn lost_at(&self) -> Option<u32> {
        self.tag_leak_line.or(self.leak_line)
    }

    pub(crate) fn made_at(&self) -> Option<(&str, u32)> {
        let file = match &self.tag_file {
            Some(file) => file,
            None => self.alloc_file.as_ref().unwrap_or(&self.file),
        };
        Some((file, self.tag_alloc_line.or(self.alloc_line)?))
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<Leak>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, number)| {
            serde_json::from_str(line).with_context(|| format!("{}:{number}: no known leak", path.display()))
        })
        .collect()
}
