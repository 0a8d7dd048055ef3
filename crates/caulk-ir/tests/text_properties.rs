//! Whatever text it is given, the parser answers, and so do the verifier and the printer on what it read.

use caulk_ir::text::{parse_unit, print_unit};
use caulk_ir::verify::verify_unit;
use proptest::prelude::*;

const EVERYTHING: &str = include_str!("units/everything.ir");

fn survives(text: &str) {
    if let Ok(unit) = parse_unit(text) {
        let _ = verify_unit(&unit);
        let printed = print_unit(&unit);
        let again = parse_unit(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert_eq!(print_unit(&again), printed);
    }
}

/// The pieces a text is made of, so that mutations stay near to sense.
fn pieces() -> Vec<&'static str> {
    EVERYTHING.split_inclusive([' ', '\n', ',', ':', '(']).collect()
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        survives(&text);
    }

    #[test]
    fn any_sequence_of_pieces_is_answered(chosen in prop::collection::vec(prop::sample::select(pieces()), 0..40)) {
        survives(&chosen.concat());
        survives(&format!("define @f() {{\n{}\n}}", chosen.concat()));
    }

    #[test]
    fn a_damaged_line_is_answered(line in 0usize..200, from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let pieces = pieces();
        let mut lines: Vec<String> = EVERYTHING.lines().map(str::to_owned).collect();
        let line = line % lines.len();
        let words: Vec<&str> = lines[line].split(' ').collect();
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let at = from.index(words.len());
        words[at] = pieces[to.index(pieces.len())].to_owned();
        lines[line] = words.join(" ");
        survives(&lines.join("\n"));
    }

    #[test]
    fn a_missing_or_doubled_line_is_answered(line in any::<prop::sample::Index>(), copies in 0usize..3) {
        let lines: Vec<&str> = EVERYTHING.lines().collect();
        let line = line.index(lines.len());
        let mut damaged = lines.clone();
        damaged.splice(line..=line, std::iter::repeat_n(lines[line], copies));
        survives(&damaged.join("\n"));
    }

    #[test]
    fn a_damaged_byte_is_answered(at in any::<prop::sample::Index>(), byte in 0u8..128) {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            survives(text);
        }
    }
}
