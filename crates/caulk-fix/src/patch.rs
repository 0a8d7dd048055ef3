//! Changes of files as insertions and replacements, the texts they lead to, and which line became which.

use std::collections::BTreeMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use caulk_report::source::Sources;

/// Bytes of a file that give way to others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// As findings name it.
    pub file: String,
    pub start: usize,
    pub end: usize,
    pub text: String,
}

/// All changes of one fix: sorted, and none overlaps another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    edits: Vec<Edit>,
}

impl Patch {
    /// None if two changes contradict each other.
    pub fn new(mut edits: Vec<Edit>) -> Option<Self> {
        edits.sort();
        edits.dedup();
        let overlaps = |pair: &[Edit]| pair[0].file == pair[1].file && pair[1].start < pair[0].end;
        if edits.windows(2).any(overlaps) {
            return None;
        }
        Some(Self { edits })
    }

    /// Both changes together; None if they contradict each other.
    pub fn and(&self, other: &Self) -> Option<Self> {
        Self::new(self.edits.iter().chain(&other.edits).cloned().collect())
    }

    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The files it changes.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.edits.iter().map(|edit| edit.file.as_str()).collect();
        files.dedup();
        files
    }

    /// The changed texts, by file; None if one cannot be read.
    pub fn texts(&self, sources: &Sources) -> Option<BTreeMap<String, Vec<u8>>> {
        self.files().into_iter().map(|file| Some((file.to_owned(), self.text(file, sources)?))).collect()
    }

    fn text(&self, file: &str, sources: &Sources) -> Option<Vec<u8>> {
        let source = sources.get(file)?;
        let old = source.bytes();
        let mut new = Vec::with_capacity(old.len());
        let mut at = 0;
        for edit in self.edits.iter().filter(|edit| edit.file == file) {
            new.extend_from_slice(old.get(at..edit.start)?);
            new.extend_from_slice(edit.text.as_bytes());
            at = edit.end;
        }
        new.extend_from_slice(old.get(at..)?);
        Some(new)
    }
}

/// For each line of a new text, from 1, the line of the old text that it is; None for those that are new or changed.
pub fn old_lines(old: &[u8], new: &[u8]) -> Vec<Option<u32>> {
    let split = |text: &[u8]| -> Vec<Vec<u8>> { text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect() };
    let (old, new) = (split(old), split(new));
    let mut lines = vec![None; new.len()];
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for at in 0..len {
                lines[new_index + at] = u32::try_from(old_index + at + 1).ok();
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: usize, end: usize, text: &str) -> Edit {
        Edit { file: "a.c".to_owned(), start, end, text: text.to_owned() }
    }

    #[test]
    fn edits_are_applied_in_order_and_never_overlap() {
        let sources = Sources::new(std::path::Path::new("/nowhere"), 1);
        sources.put("a.c", b"one two three".to_vec());
        let patch = Patch::new(vec![edit(8, 13, "3"), edit(0, 0, "> "), edit(0, 0, "> ")]).expect("they fit");
        assert_eq!(patch.texts(&sources).expect("readable")["a.c"], b"> one two 3");
        assert_eq!(Patch::new(vec![edit(0, 5, ""), edit(4, 6, "")]), None);
        let other = Patch::new(vec![edit(9, 9, "x")]).expect("one fits");
        assert_eq!(patch.and(&other), None);
    }

    #[test]
    fn lines_that_are_new_have_no_old_one() {
        assert_eq!(old_lines(b"a\nb\nc", b"a\nnew\nb\nc"), [Some(1), None, Some(2), Some(3)]);
    }
}
