//! Text for a narrow terminal: sentences in lines that fit, and labels without the middle of what they quote.
//!
//! A terminal breaks a line wherever it ends, in the middle of words and below the numbers of lines. Here breaks are between words.

/// Stands for what is left out.
pub const ELLIPSIS: &str = "...";
/// Columns of a tab, as it is shown.
const TAB: usize = 4;
/// Characters of a quotation that stay, whatever room there is.
const MIN_QUOTED: usize = 16;

/// How many columns a text takes.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| if c == '\t' { TAB } else { 1 }).sum()
}

/// How many bytes of a text take no more than some columns.
pub fn prefix(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += if c == '\t' { TAB } else { 1 };
        if used > width {
            return at;
        }
    }
    text.len()
}

/// The lines of a sentence. A word that is longer than a line stands alone.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![indent];
    let mut is_start = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is always a line");
        if is_start {
            line.push_str(word);
        } else if columns(line) + 1 + columns(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
        is_start = false;
    }
    lines
}

/// A label that fits, if it can be made to. First the middle of its longest quotation is left out: what a condition is about stands at
/// its beginning, and what it is compared with at its end. Then all of what the mark points at anyway: the condition, or the function
/// that is called. The whole is in the source beside it.
pub fn shorten(label: &str, width: usize) -> String {
    let length = label.chars().count();
    if length <= width {
        return label.to_owned();
    }
    let fits = |text: &String| text.chars().count() <= width;
    let tried = || [without_what_is_marked(label), in_few_words(label)].into_iter();
    without_middle(label, length, width)
        .or_else(|| tried().find(fits))
        .or_else(|| tried().min_by_key(|text| text.chars().count()))
        .unwrap_or_else(|| label.to_owned())
}

/// What happens at the mark, without the names: ``1. `a_long_name` is allocated by f()`` becomes `1. allocated here`.
fn in_few_words(label: &str) -> String {
    const WORDS: [(&str, &str); 10] = [
        ("does not take ownership", "does not take ownership"),
        ("` is allocated", "allocated here"),
        ("` is opened", "opened here"),
        ("` is stored to", "stored here"),
        ("` is overwritten", "overwritten here"),
        ("` is not taken, nor any", "this and those before are not taken"),
        ("` is not taken", "not taken"),
        ("` is taken", "taken"),
        ("` is null", "this is null"),
        ("` is not null", "this is not null"),
    ];
    let short = WORDS.iter().find(|(long, _)| label.contains(long)).map(|(_, short)| *short);
    match (label.split_once(". "), short) {
        (Some((number, _)), Some(short)) => format!("{number}. {short}"),
        _ => label.to_owned(),
    }
}

fn without_middle(label: &str, length: usize, width: usize) -> Option<String> {
    let longest = label.split('`').skip(1).step_by(2).max_by_key(|quoted| quoted.chars().count())?;
    let quoted: Vec<char> = longest.chars().collect();
    let kept = quoted.len().checked_sub(length - width + ELLIPSIS.len()).filter(|kept| *kept >= MIN_QUOTED)?;
    let text = |part: &[char]| part.iter().collect::<String>();
    let (start, end) = (text(&quoted[..kept.div_ceil(2)]), text(&quoted[quoted.len() - kept / 2..]));
    Some(label.replacen(&format!("`{longest}`"), &format!("`{start}{ELLIPSIS}{end}`"), 1))
}

/// ``3. `n == -1` is false`` becomes `3. this is false`, and ``1. `p` is allocated by make()`` becomes ``1. `p` is allocated``.
fn without_what_is_marked(label: &str) -> String {
    let outcome = [" is true", " is false", " is null", " is not null"].into_iter().find(|end| label.ends_with(end));
    match (label.split_once('`'), outcome, label.rsplit_once(" by ")) {
        (Some((before, _)), Some(outcome), _) => format!("{before}this{outcome}"),
        (_, None, Some((before, _))) => before.to_owned(),
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 80), ["one two three"]);
        assert_eq!(wrap("an-endless-word is one", 6), ["an-endless-word", "is one"]);
        assert_eq!(wrap("    moved in", 8), ["    moved", "in"]);
        assert_eq!(wrap("größe äöü", 5), ["größe", "äöü"], "characters count, not bytes");
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn labels_lose_the_middle_of_a_quotation() {
        let label = "5. `(fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1` is true";
        assert_eq!(shorten(label, 80), label);
        let short = shorten(label, 40);
        assert_eq!(short, "5. `(fd = socket...M, 0)) == -1` is true");
        assert_eq!(shorten(label, 20), "5. this is true");
        assert_eq!(
            shorten("3. the loop goes on: `n < some_large_number` is true", 30),
            "3. the loop goes on: this is true"
        );
        assert_eq!(shorten("1. `p` is allocated by a_function_with_a_long_name()", 40), "1. `p` is allocated");
        assert_eq!(shorten("1. `parser.handler` is allocated by make()", 20), "1. allocated here");
        assert_eq!(shorten("12. `p` is stored to `q->list.head`", 20), "12. stored here");
        assert_eq!(shorten("2. `if (*p == 'K')` is not taken, nor any `if` before it", 40).chars().count(), 38);
        assert_eq!(shorten("1. leaked here", 5), "1. leaked here", "nothing to leave out");
    }

    #[test]
    fn tabs_are_wide() {
        assert_eq!(columns("\tx"), 5);
        assert_eq!(prefix("\t\tx", 8), 2);
        assert_eq!(prefix("abc", 8), 3);
    }
}
