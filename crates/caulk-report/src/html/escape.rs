//! Text that comes from elsewhere, made harmless.

use crate::terminal::is_harmful;

/// For the content of elements, and of attributes between quotes.
pub(crate) fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' => safe.push(c),
            // Marks that turn text around would show other code than is there.
            c if is_harmful(c) => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Quoted parts of a message as code: `` `x` ``.
pub(crate) fn with_code(message: &str) -> String {
    let mut html = String::new();
    for (at, part) in message.split('`').enumerate() {
        let part = text(part);
        if at % 2 == 1 { html.push_str(&format!("<code>{part}</code>")) } else { html.push_str(&part) }
    }
    html
}

/// JSON for a script of its own file.
pub(crate) fn script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_is_markup() {
        assert_eq!(
            super::text("<img onerror='x'>\"&\u{202e}\u{1b}"),
            "&lt;img onerror=&#39;x&#39;&gt;&quot;&amp;\u{fffd}\u{fffd}"
        );
        assert_eq!(super::with_code("`<b>` is <i>"), "<code>&lt;b&gt;</code> is &lt;i&gt;");
        assert_eq!(super::script("\"</script>\""), "\"\\u003c/script>\"");
    }
}
