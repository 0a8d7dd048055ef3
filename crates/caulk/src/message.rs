//! Messages to the user, on standard error: the one place that writes them.

use std::fmt;
use std::io::Write;

use caulk_report::terminal;

/// Tells the user something, after the name of the program. Takes what `format!` takes.
macro_rules! tell {
    ($($argument:tt)*) => { $crate::message::write_message(format_args!($($argument)*)) };
}

pub(crate) use tell;

pub(crate) fn write_message(message: fmt::Arguments<'_>) {
    let text = terminal::lines(&format!("caulk: {message}"));
    // Where no message can be written, that cannot be told either.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
