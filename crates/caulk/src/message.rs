//! Messages to the user, on standard error: the one place that writes them.

use std::fmt;
use std::io::{IsTerminal, Write};

use caulk_report::{layout, terminal};

/// Tells the user something, after the name of the program. Takes what `format!` takes.
macro_rules! tell {
    ($($argument:tt)*) => { $crate::message::write_message(format_args!($($argument)*)) };
}

pub(crate) use tell;

pub(crate) fn write_message(message: fmt::Arguments<'_>) {
    let text = fitted(&terminal::lines(&format!("caulk: {message}")));
    // Where no message can be written, that cannot be told either.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// On a terminal, lines that fit; elsewhere a message is one line for programs to find.
fn fitted(text: &str) -> String {
    const INDENT: &str = "  ";
    let stderr = std::io::stderr();
    let Some((terminal_size::Width(columns), _)) =
        terminal_size::terminal_size_of(&stderr).filter(|_| stderr.is_terminal())
    else {
        return text.to_owned();
    };
    let width = usize::from(columns).saturating_sub(INDENT.len());
    let lines = text.lines().map(|line| layout::wrap(line, width).join(&format!("\n{INDENT}")) + "\n");
    lines.collect()
}
