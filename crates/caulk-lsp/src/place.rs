//! Places and files in the words of the protocol: lines from 0, columns in code units of UTF-16, files as URIs.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use caulk_report::source::SourceFile;
use lsp_types::{Position, Range, Uri};

pub(crate) fn uri(path: &Path) -> Option<Uri> {
    let mut text = String::from("file://");
    for byte in path.to_str()?.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => text.push(byte as char),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::from_str(&text).ok()
}

pub(crate) fn path(uri: &Uri) -> Option<PathBuf> {
    let encoded = uri.as_str().strip_prefix("file://")?;
    let encoded = &encoded[encoded.find('/')?..];
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

/// A byte of a file.
pub(crate) fn position(file: &SourceFile, offset: usize) -> Position {
    let line = file.line_at(offset);
    let start = file.offset(line, 1).unwrap_or(offset);
    let before = file.bytes().get(start..offset).unwrap_or_default();
    let column = String::from_utf8_lossy(before).encode_utf16().count();
    Position { line: line.saturating_sub(1), character: u32::try_from(column).unwrap_or(0) }
}

/// The word or sign at a place that a compiler named; the whole line if there is none.
pub(crate) fn range(file: Option<&SourceFile>, line: u32, column: u32) -> Range {
    let plain = Position { line: line.saturating_sub(1), character: column.saturating_sub(1) };
    let Some(file) = file else { return Range { start: plain, end: plain } };
    let Some(offset) = file.offset(line, column) else { return Range { start: plain, end: plain } };
    let token = file.tokens().partition_point(|token| token.end <= offset);
    let end = file.tokens().get(token).filter(|token| token.start <= offset).map_or(offset, |token| token.end);
    Range { start: position(file, offset), end: position(file, end) }
}

/// The name at a position of a text.
pub(crate) fn word(text: &str, at: Position) -> Option<&str> {
    let line = text.lines().nth(at.line as usize)?;
    let mut units = 0;
    let here = line.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > at.character as usize
    });
    let here = here.map_or(line.len(), |(index, _)| index);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let start =
        line[..here].rfind(|c| !is_part(c)).map_or(0, |i| i + line[i..].chars().next().map_or(1, char::len_utf8));
    let end = line[here..].find(|c| !is_part(c)).map_or(line.len(), |i| here + i);
    Some(&line[start..end]).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_correspond() {
        for name in ["/a/b.c", "/a b/ü%.c"] {
            let uri = uri(Path::new(name)).expect("text");
            assert_eq!(path(&uri).as_deref(), Some(Path::new(name)));
        }
        assert_eq!(uri(Path::new("/a b.c")).expect("text").as_str(), "file:///a%20b.c");
    }

    #[test]
    fn words_are_found_by_code_units() {
        let at = |line, character| Position { line, character };
        assert_eq!(word("int f(void);\nx = \"ü\" + make(1);", at(1, 12)), Some("make"));
        assert_eq!(word("int f(void);", at(0, 4)), Some("f"));
        assert_eq!(word("a + b", at(0, 2)), None);
        assert_eq!(word("a", at(7, 0)), None);
    }

    #[test]
    fn columns_are_code_units() {
        let file = SourceFile::new("a\n/* 😀 */ p = q;\n".as_bytes().to_vec());
        let column = u32::try_from("/* 😀 */ ".len()).expect("short") + 1;
        let range = range(Some(&file), 2, column);
        assert_eq!((range.start, range.end), (Position { line: 1, character: 9 }, Position { line: 1, character: 10 }));
    }
}
