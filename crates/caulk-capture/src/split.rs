//! One string into words, in the two dialects a compile command can be written in.

/// Splits a `command` string as a POSIX shell would, without expanding anything.
///
/// The error says what is wrong with the quoting.
pub(crate) fn split_command(command: &str) -> Result<Vec<String>, String> {
    // A carriage return before a line's end is how another system ends lines, not a word.
    let command = command.replace("\r\n", "\n");
    shell_words::split(&command).map_err(|e| e.to_string())
}

/// Splits the text of a response file as gcc and clang do.
///
/// This is not the shell's dialect: a backslash takes the next character literally everywhere, also inside single
/// quotes, and a quote that is never closed ends with the file.
pub fn split_response(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    // An empty quoted word ("") is a word too, so the text alone cannot say whether one has begun.
    let mut in_word = false;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => {
                in_word = true;
                word.extend(chars.next());
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.push(c),
            ('\'' | '"', None) => {
                in_word = true;
                quote = Some(c);
            }
            (c, None) if c.is_ascii_whitespace() => {
                if in_word {
                    words.push(std::mem::take(&mut word));
                    in_word = false;
                }
            }
            (c, None) => {
                in_word = true;
                word.push(c);
            }
        }
    }
    if in_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_command(command: &str, expected: &[&str]) {
        assert_eq!(split_command(command).expect(command), expected, "{command}");
    }

    #[test]
    fn shell_quoting() {
        check_command(r#"cc -DVERSION=\"1.0\" a.c"#, &["cc", r#"-DVERSION="1.0""#, "a.c"]);
        check_command(r#"cc "-DV=\"1 0\"" a.c"#, &["cc", r#"-DV="1 0""#, "a.c"]);
        check_command(r"cc '-DV=\n' a\ b.c", &["cc", r"-DV=\n", "a b.c"]);
        check_command("cc\t-DX  \r\n a.c\n", &["cc", "-DX", "a.c"]);
        check_command("cc '' a.c", &["cc", "", "a.c"]);
    }

    #[test]
    fn open_quotes_are_an_error_and_not_a_guess() {
        assert!(split_command("cc -DX='a b.c").is_err());
    }

    #[test]
    fn response_quoting() {
        let check = |text: &str, expected: &[&str]| assert_eq!(split_response(text), expected, "{text}");
        check("-DX -Iinc\r\n-DY\n", &["-DX", "-Iinc", "-DY"]);
        check(r#""-DV=\"1.0\"" '-DW=a b' c\ d"#, &[r#"-DV="1.0""#, "-DW=a b", "c d"]);
        check(r"'it\'s'", &["it's"]);
        check("\"\" x", &["", "x"]);
        check("'open word", &["open word"]);
        check("end\\", &["end"]);
        check("", &[]);
    }
}
