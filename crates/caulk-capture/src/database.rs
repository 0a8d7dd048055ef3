//! Reading `compile_commands.json`, in both of its forms.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::CaptureError;

/// The name build systems give a compilation database.
pub const DATABASE_NAME: &str = "compile_commands.json";

/// Largest database read. Those of the largest projects there are stay below it.
pub(crate) const MAX_BYTES: u64 = 512 << 20;

/// Some editors on Windows put this in front of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One command of the build, as the database states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The working directory; relative ones start where the database is.
    pub directory: PathBuf,
    /// The source; relative ones start in `directory`.
    pub file: PathBuf,
    pub command: EntryCommand,
    pub output: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryCommand {
    /// Already split.
    Arguments(Vec<String>),
    /// To be split as a POSIX shell would.
    Shell(String),
}

#[derive(Deserialize)]
struct RawEntry {
    directory: Option<String>,
    file: Option<String>,
    arguments: Option<Vec<String>>,
    command: Option<String>,
    output: Option<String>,
}

/// Reads the database at `path`. An empty list is an error: nothing could be analysed, and silence would look like success.
pub fn read_database(path: &Path) -> Result<Vec<Entry>, CaptureError> {
    let bytes =
        caulk_files::read(path, MAX_BYTES).map_err(|source| CaptureError::Read { path: path.to_owned(), source })?;
    let entries = parse_database(&bytes, path)?;
    if entries.is_empty() {
        return Err(CaptureError::EmptyDatabase { path: path.to_owned() });
    }
    Ok(entries)
}

/// Parses the bytes of a database; `path` is for messages only.
pub fn parse_database(bytes: &[u8], path: &Path) -> Result<Vec<Entry>, CaptureError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let raw: Vec<RawEntry> = serde_json::from_slice(bytes).map_err(|e| CaptureError::Syntax {
        path: path.to_owned(),
        line: e.line(),
        column: e.column(),
        message: message_without_place(&e),
    })?;
    raw.into_iter()
        .enumerate()
        .map(|(index, raw)| {
            entry(raw).map_err(|field| CaptureError::MissingField { path: path.to_owned(), index, field })
        })
        .collect()
}

/// The error is the name of the field that is missing.
fn entry(raw: RawEntry) -> Result<Entry, &'static str> {
    let command = match (raw.arguments, raw.command) {
        // Both forms at once: `arguments` needs no guess about quoting.
        (Some(words), _) => EntryCommand::Arguments(words),
        (None, Some(text)) => EntryCommand::Shell(text),
        (None, None) => return Err("arguments` or `command"),
    };
    Ok(Entry {
        directory: raw.directory.ok_or("directory")?.into(),
        file: raw.file.ok_or("file")?.into(),
        command,
        output: raw.output,
    })
}

/// serde_json ends its messages with the place, which the caller puts in front.
fn message_without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(" at line ") {
        Some((text, _)) => text.to_owned(),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Entry>, CaptureError> {
        parse_database(text.as_bytes(), Path::new("db.json"))
    }

    fn message(text: &str) -> String {
        parse(text).expect_err(text).to_string()
    }

    #[test]
    fn both_forms() {
        let entries = parse(
            r#"[{"directory":"/d","file":"a.c","arguments":["cc","a.c"],"output":"a.o"},
                {"directory":"/d","file":"b.c","command":"cc b.c","extra":1}]"#,
        )
        .expect("well formed");
        assert_eq!(entries[0].command, EntryCommand::Arguments(vec!["cc".into(), "a.c".into()]));
        assert_eq!(entries[0].output.as_deref(), Some("a.o"));
        assert_eq!(entries[1].command, EntryCommand::Shell("cc b.c".into()));
    }

    #[test]
    fn byte_order_mark_and_crlf() {
        let text = "\u{feff}[\r\n{\"directory\":\"/d\",\r\n\"file\":\"a.c\",\"command\":\"cc a.c\"}\r\n]\r\n";
        assert_eq!(parse(text).expect("well formed").len(), 1);
    }

    #[test]
    fn messages_name_the_place() {
        assert_eq!(message("[\n  {\"file\": }\n]"), "db.json:2:12: not a compilation database: expected value");
        assert!(message("{}").starts_with("db.json:1:0: not a compilation database: invalid type: map"));
        assert!(message("[{\"directory\":1}]").contains("invalid type: integer"));
        assert!(message("").contains("EOF"));
    }

    #[test]
    fn missing_fields_are_named() {
        assert_eq!(
            message(r#"[{"directory":"/","file":"a.c","command":"x"},{"file":"a.c","command":"x"}]"#),
            "db.json: entry 1 lacks `directory`"
        );
        assert_eq!(message(r#"[{"directory":"/","command":"x"}]"#), "db.json: entry 0 lacks `file`");
        assert_eq!(message(r#"[{"directory":"/","file":"a.c"}]"#), "db.json: entry 0 lacks `arguments` or `command`");
    }
}
