//! What can be wrong with a text.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Counted from 1, as editors do; columns count characters.
    pub line: usize,
    pub column: usize,
    /// What was expected, or what is wrong.
    pub message: String,
}

impl ParseError {
    pub(super) fn new(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.matches('\n').count() + 1;
        Self { line, column: before[start..].chars().count() + 1, message: message.into() }
    }
}

pub(super) type Parsed<T> = Result<T, ParseError>;
