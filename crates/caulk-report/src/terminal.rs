//! Text for terminals and for the logs of CI services: the one place that makes it harmless.
//!
//! Names, file names and sources come from a project that is not trusted. What reaches a terminal must not be obeyed by it
//! (control characters), must not show another order than is there (marks of bidirectional text), must not begin a line of its
//! own, and must not be taken for a command by the service that runs the job. Formats for machines have rules of their own
//! and do not come through here.

/// Stands for what is not shown.
const REPLACEMENT: char = '\u{fffd}';
/// How commands to a CI service begin, wherever in a line.
const COMMANDS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Whether a character does something other than to be shown.
pub fn is_harmful(c: char) -> bool {
    let turns_text =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || turns_text || ends_line
}

/// A piece of a line. Only commands that stand at the beginning of a line remain in it.
pub fn piece(text: &str) -> String {
    without_commands(text.chars().map(|c| if is_harmful(c) { REPLACEMENT } else { c }).collect())
}

/// A line of source, which may have tabs. Replaced character by character, so that a part of the line becomes the same
/// part of the result.
pub fn source(text: &str) -> String {
    without_commands(text.chars().map(|c| if is_harmful(c) && c != '\t' { REPLACEMENT } else { c }).collect())
}

/// A whole line, without its end.
pub fn line(text: &str) -> String {
    let line = piece(text);
    // GitHub obeys `::command::` at the beginning of a line, of either stream.
    if line.trim_start().starts_with("::") { format!("{REPLACEMENT}{line}") } else { line }
}

/// Text of several lines.
pub fn lines(text: &str) -> String {
    text.lines().map(|l| line(l) + "\n").collect()
}

/// The first `#` goes, which leaves the number of bytes as it is.
fn without_commands(mut text: String) -> String {
    for command in COMMANDS {
        if text.contains(command) {
            text = text.replace(command, &command.replacen('#', "?", 1));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_obeyed() {
        assert_eq!(
            piece("a\u{1b}[2J\u{9b}31m\u{7f}\r\n\tb"),
            "a\u{fffd}[2J\u{fffd}31m\u{fffd}\u{fffd}\u{fffd}\u{fffd}b"
        );
        assert_eq!(piece("x\u{202e}y\u{2066}\u{200f}\u{2028}"), "x\u{fffd}y\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(piece("größe \u{1f980} a::b()"), "größe \u{1f980} a::b()");
        assert_eq!(source("\tx\u{1b}"), "\tx\u{fffd}");
        assert_eq!(piece("##[error]x ##vso[task]"), "?#[error]x ?#vso[task]");
        assert_eq!(piece("a##b[0]"), "a##b[0]", "token pasting is no command");
        assert_eq!(line(" ::error::x"), "\u{fffd} ::error::x");
        assert_eq!(line("a\n::error::x"), "a\u{fffd}::error::x");
        assert_eq!(lines("a\n::set-output::x\n"), "a\n\u{fffd}::set-output::x\n");
    }
}
