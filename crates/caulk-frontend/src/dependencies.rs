//! Reads the make rule in which clang lists every file it read.

/// The prerequisites of the one rule in `text`. Spaces in names are escaped by a backslash, `$` is doubled, and lines go
/// on after a backslash at their end.
pub(crate) fn parse(text: &str) -> Vec<String> {
    let Some((_, rest)) = text.split_once(':') else { return Vec::new() };
    let mut files = Vec::new();
    let mut name = String::new();
    let mut chars = rest.chars().peekable();
    let mut finish = |name: &mut String| {
        if !name.is_empty() {
            files.push(std::mem::take(name));
        }
    };
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
                finish(&mut name);
            }
            ('\\', Some(' ' | '#')) => name.extend(chars.next()),
            ('$', Some('$')) => name.extend(chars.next()),
            (c, _) if c.is_whitespace() => finish(&mut name),
            (c, _) => name.push(c),
        }
    }
    finish(&mut name);
    files
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn names_with_spaces_and_dollars_come_out_whole() {
        let rule = "unit: a.c \\\n  /usr/include/x.h my\\ file.h a$$b.h c\\#d.h\n";
        assert_eq!(parse(rule), ["a.c", "/usr/include/x.h", "my file.h", "a$b.h", "c#d.h"]);
        assert!(parse("").is_empty());
    }
}
