//! No text makes the readers of sources, baselines or comments panic. (Tests only.)

use proptest::prelude::*;

use crate::baseline::Baseline;
use crate::source::SourceFile;
use crate::{suppress, words};

/// Pieces of C that are put together at random, with bytes that are no text.
fn sources() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "if (",
        "while (",
        "for (",
        "switch (",
        "case ",
        "do {",
        "}",
        ")",
        "(",
        "[",
        "]",
        "{",
        ";",
        ",",
        "&&",
        "||",
        "!",
        "?",
        ":",
        "=",
        "==",
        "a",
        "->b",
        "1",
        "\"x",
        "\"",
        "'",
        "//",
        "/*",
        "*/",
        "\n",
        "\\",
        "#",
        "R\"(",
        "caulk: ignore lost \"",
        "// caulk: ignore",
        "\u{e9}",
        "\t",
        "return ",
        "constexpr ",
    ];
    let piece = prop_oneof![
        8 => prop::sample::select(words.to_vec()).prop_map(|w| w.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_source_can_be_quoted(text in sources(), places in prop::collection::vec((0u32..9, 0u32..80), 8)) {
        let file = SourceFile::new(text);
        for (line, column) in places {
            let _ = words::condition(&file, line, column);
            let _ = words::rung(&file, line, column);
            let _ = words::label(&file, line, column);
            let _ = words::switch(&file, line, column);
            let _ = words::assignee(&file, line, column);
        }
        let _ = suppress::remarks(&file);
    }

    #[test]
    fn any_text_may_be_a_baseline(text in "(caulk-baseline 2\n)?[a-f0-9\t\\\\\n ]{0,80}") {
        if let Ok(baseline) = Baseline::parse(&text) {
            prop_assert_eq!(Baseline::parse(&baseline.render()), Ok(baseline));
        }
    }
}
