//! The one error type: a file that cannot be read, or a wrong place in it.

use std::fmt;

/// Why a model file was refused.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("{file}: cannot read the model file: {source}")]
    Read { file: String, source: std::io::Error },

    #[error("{file}:{line}:{column}: {message}{}", HintLine(.hint))]
    Invalid {
        file: String,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        message: String,
        hint: Option<String>,
    },
}

impl ModelError {
    /// An error at a byte offset of `text`.
    pub(crate) fn invalid(file: &str, text: &str, offset: usize, message: String, hint: Option<String>) -> ModelError {
        let (line, column) = line_and_column(text, offset);
        ModelError::Invalid { file: file.to_owned(), line, column, message, hint }
    }
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

struct HintLine<'a>(&'a Option<String>);

impl fmt::Display for HintLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::line_and_column;

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("", 0), (1, 1));
        assert_eq!(line_and_column("ä = 1\nbc", 7), (2, 1));
        assert_eq!(line_and_column("äb", 2), (1, 2));
        assert_eq!(line_and_column("äb", 1), (1, 1), "inside a character");
        assert_eq!(line_and_column("ab", 99), (1, 3));
    }
}
