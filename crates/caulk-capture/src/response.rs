//! Response files: `@file` stands for the words in that file.
//!
//! They are expanded here and never by clang, because what a file holds must pass the flag table too.

use std::path::Path;

use crate::split::split_response;

/// How deep response files may name each other. Real builds use one level, CMake with Ninja two.
const MAX_DEPTH: usize = 8;
/// How many response files one command may read: a file that names itself twice doubles at every level.
const MAX_FILES: usize = 256;
/// How much one command may read from response files, all together. The longest link lines of large projects stay below
/// one megabyte.
const MAX_BYTES: u64 = 16 << 20;

/// Replaces every `@file` word by the words of the file, looked up from `directory`.
///
/// A word whose file cannot be read, or that goes beyond a bound, stays as it is: the flag table refuses it later and it
/// is shown among the dropped flags.
pub(crate) fn expand(words: Vec<String>, directory: &Path) -> Vec<String> {
    if !words.iter().any(|word| word.starts_with('@')) {
        return words;
    }
    let mut out = Vec::with_capacity(words.len());
    let mut left = Left { files: MAX_FILES, bytes: MAX_BYTES };
    expand_into(&mut out, words, directory, MAX_DEPTH, &mut left);
    out
}

/// What one command may still read.
struct Left {
    files: usize,
    bytes: u64,
}

impl Left {
    /// Whether so many bytes were left; they are not any more.
    fn take(&mut self, bytes: u64) -> bool {
        let rest = self.bytes.checked_sub(bytes);
        self.bytes = rest.unwrap_or(self.bytes);
        rest.is_some()
    }
}

fn expand_into(out: &mut Vec<String>, words: Vec<String>, directory: &Path, depth_left: usize, left: &mut Left) {
    for word in words {
        let text = match word.strip_prefix('@') {
            Some(name) if depth_left > 0 && left.files > 0 => read(&directory.join(name)),
            _ => None,
        };
        left.files -= usize::from(text.is_some());
        match text.filter(|text| left.take(text.len() as u64)) {
            Some(text) => expand_into(out, split_response(&text), directory, depth_left - 1, left),
            None => out.push(word),
        }
    }
}

fn read(path: &Path) -> Option<String> {
    let bytes = caulk_files::read(path, MAX_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_start_matches('\u{feff}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn expand_in(files: &[(&str, &str)], words: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        for (name, text) in files {
            fs::write(dir.path().join(name), text).expect("writable");
        }
        expand(words.iter().map(|w| w.to_string()).collect(), dir.path())
    }

    #[test]
    fn files_are_read_from_the_entry_directory_and_nest() {
        let files = [("a.rsp", "-DA @b.rsp"), ("b.rsp", "\"-DB=x y\"\r\n-DC")];
        assert_eq!(expand_in(&files, &["@a.rsp", "-c"]), ["-DA", "-DB=x y", "-DC", "-c"]);
    }

    #[test]
    fn a_missing_file_stays_a_word() {
        assert_eq!(expand_in(&[], &["@none.rsp", "-c"]), ["@none.rsp", "-c"]);
    }

    /// Many names of one large file would otherwise be as good as a file of gigabytes.
    #[test]
    fn all_files_together_have_a_bound() {
        let large = "x".repeat(MAX_BYTES as usize / 2 + 1);
        let out = expand_in(&[("a", &large), ("b", "-DB")], &["@b", "@a", "@a", "@a", "@b"]);
        let lengths: Vec<usize> = out.iter().map(String::len).collect();
        assert_eq!(lengths, [3, large.len(), 2, 2, 3]);
    }

    #[test]
    fn files_that_name_themselves_end() {
        let out = expand_in(&[("a", "-DA @a")], &["@a"]);
        assert_eq!(out.iter().filter(|w| *w == "-DA").count(), MAX_DEPTH);
        let out = expand_in(&[("a", "@a @a @a @a -DA")], &["@a"]);
        assert_eq!(out.iter().filter(|w| *w == "-DA").count(), MAX_FILES);
    }
}
