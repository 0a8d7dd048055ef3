//! Results, on standard output: the one place that writes them.
//!
//! A reader that has gone away (`caulk ir | head`) has seen enough: what is left goes nowhere, and the exit status is that of
//! the work. Any other failure to write is an error.

use std::fmt;
use std::io::{self, ErrorKind, StdoutLock, Write};

use caulk_report::terminal;

/// Writes bytes as they are, for formats with rules of their own; [`Output::line`] and [`Output::text`] are for people.
pub(crate) struct Output {
    stdout: StdoutLock<'static>,
    is_gone: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { stdout: std::io::stdout().lock(), is_gone: false }
    }

    /// One line, whatever is in the names it speaks of.
    pub(crate) fn line(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        let line = terminal::line(&line.to_string()) + "\n";
        self.write_all(line.as_bytes())
    }

    /// Text of several lines, each of which was made harmless or has no names in it.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.write_all(terminal::lines(text).as_bytes())
    }

    fn unless_gone<T>(&mut self, result: io::Result<T>, gone: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_gone = true;
                Ok(gone)
            }
            other => other,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_gone {
            return Ok(bytes.len());
        }
        let written = self.stdout.write(bytes);
        self.unless_gone(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = if self.is_gone { Ok(()) } else { self.stdout.flush() };
        self.unless_gone(flushed, ())
    }
}

/// Lines that are put together before they are written.
#[derive(Default)]
pub(crate) struct Lines(pub String);

impl Lines {
    pub(crate) fn line(&mut self, line: fmt::Arguments<'_>) {
        self.0.push_str(&terminal::line(&line.to_string()));
        self.0.push('\n');
    }
}
