//! The text of source files, read when first asked for.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::tokens::{Token, tokens};

/// One file. What is no UTF-8 is shown with replacement characters, but places are counted in the bytes of the file.
#[derive(Debug)]
pub struct SourceFile {
    bytes: Vec<u8>,
    /// Where each line begins.
    lines: Vec<usize>,
    tokens: OnceCell<Vec<Token>>,
}

impl SourceFile {
    pub fn new(bytes: Vec<u8>) -> Self {
        let begins = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(begins).collect();
        Self { bytes, lines, tokens: OnceCell::new() }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A line without its end, by its number from 1.
    pub fn line(&self, number: u32) -> Option<&[u8]> {
        let index = (number as usize).checked_sub(1)?;
        let start = *self.lines.get(index)?;
        let end = self.lines.get(index + 1).map_or(self.bytes.len(), |next| next - 1);
        let line = self.bytes.get(start..end)?;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The number of the line that an offset lies in.
    pub fn line_at(&self, offset: usize) -> u32 {
        u32::try_from(self.lines.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
    }

    /// The offset of a place; None if the file has no such place.
    pub fn offset(&self, line: u32, column: u32) -> Option<usize> {
        let start = *self.lines.get((line as usize).checked_sub(1)?)?;
        let length = self.line(line)?.len();
        let column = (column as usize).saturating_sub(1);
        (column <= length).then_some(start + column)
    }

    pub fn tokens(&self) -> &[Token] {
        self.tokens.get_or_init(|| tokens(&self.bytes))
    }
}

/// Files by the path findings give them.
#[derive(Debug)]
pub struct Sources {
    root: PathBuf,
    max_bytes: u64,
    files: RefCell<FxHashMap<String, Option<Rc<SourceFile>>>>,
}

impl Sources {
    pub fn new(root: &Path, max_bytes: u64) -> Self {
        Self { root: root.to_owned(), max_bytes, files: RefCell::default() }
    }

    /// Takes a text for that of a file: one that is not saved yet.
    pub fn put(&self, path: &str, text: Vec<u8>) {
        self.files.borrow_mut().insert(path.to_owned(), Some(Rc::new(SourceFile::new(text))));
    }

    /// A file, if it is there and can be read.
    pub fn get(&self, path: &str) -> Option<Rc<SourceFile>> {
        if let Some(known) = self.files.borrow().get(path) {
            return known.clone();
        }
        let read = self.read(path).map(|bytes| Rc::new(SourceFile::new(bytes)));
        self.files.borrow_mut().insert(path.to_owned(), read.clone());
        read
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        // Debug info may name anything, a pipe or a device too.
        caulk_files::read(&self.root.join(path), self.max_bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::SourceFile;

    #[test]
    fn lines_and_places() {
        let file = SourceFile::new(b"int a;\r\n\xff b\n".to_vec());
        assert_eq!(file.line(1), Some(&b"int a;"[..]));
        assert_eq!(file.line(2), Some(&b"\xff b"[..]));
        assert_eq!(file.line(3), Some(&b""[..]));
        assert_eq!((file.line(0), file.line(4)), (None, None));
        assert_eq!(file.offset(2, 3), Some(10));
        assert_eq!(file.offset(2, 9), None);
    }
}
