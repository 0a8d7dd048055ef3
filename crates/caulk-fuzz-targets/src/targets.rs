//! One function for each parser and decoder. What a target asserts beyond "it comes back" is that what was accepted can be
//! written and read again.

use std::path::Path;

use caulk_capture::{Duplicates, jobs_from_database, parse_database, split_response};
use caulk_frontend::entry;
use caulk_ir::PackedUnit;
use caulk_ir::demangle::demangled;
use caulk_ir::text::{parse_unit, print_unit};
use caulk_ir::verify::verify_unit;
use caulk_models::Models;
use caulk_report::baseline::Baseline;
use caulk_report::source::SourceFile;
use caulk_report::suppress::remarks;

pub(crate) fn ir_text(bytes: &[u8]) {
    let Ok(unit) = parse_unit(&String::from_utf8_lossy(bytes)) else { return };
    let is_sound = verify_unit(&unit).is_ok();
    let printed = print_unit(&unit);
    let again = parse_unit(&printed).unwrap_or_else(|error| panic!("printed, but not parsed: {error}\n{printed}"));
    assert_eq!(print_unit(&again), printed);
    if is_sound {
        let packed = PackedUnit::pack(unit);
        let read = PackedUnit::from_bytes(&packed.to_bytes()).expect("a sound unit is read as it was written");
        assert_eq!(print_unit(&read.unpack()), printed);
    }
}

pub(crate) fn packed_unit(bytes: &[u8]) {
    if let Ok(packed) = PackedUnit::from_bytes(bytes) {
        use_unit(&packed);
    }
}

pub(crate) fn cache_entry(bytes: &[u8]) {
    // As it is, and with a hash that is right: the second is what an attacker would write.
    let whole = entry::decode(bytes);
    let sealed = entry::decode(&entry::seal(bytes));
    for entry in [whole, sealed].into_iter().flatten() {
        use_unit(&entry.unit);
    }
}

/// Decodes and prints all of it.
fn use_unit(packed: &PackedUnit) {
    let unit = packed.unpack();
    verify_unit(&unit).expect("what is read has been verified");
    parse_unit(&print_unit(&unit)).expect("what is printed is parsed");
}

pub(crate) fn models(bytes: &[u8]) {
    let mut models = Models::default();
    let _ = models.add_text("fuzz.toml", &String::from_utf8_lossy(bytes));
    for (_, model) in models.iter() {
        let _ = (model.allocates(), model.takes(), model.never_returns());
    }
}

pub(crate) fn baseline(bytes: &[u8]) {
    if let Ok(baseline) = Baseline::parse(&String::from_utf8_lossy(bytes)) {
        let again = Baseline::parse(&baseline.render()).expect("what is written is read");
        assert_eq!(again, baseline);
    }
}

pub(crate) fn suppressions(bytes: &[u8]) {
    let source = SourceFile::new(bytes.to_vec());
    for token in source.tokens() {
        let _ = source.line_at(token.start);
    }
    let _ = remarks(&source);
}

pub(crate) fn database(bytes: &[u8]) {
    let path = Path::new("/nowhere/compile_commands.json");
    if let Ok(entries) = parse_database(bytes, path) {
        let list = jobs_from_database(&entries, path, Path::new("/"), &[], Duplicates::default());
        assert_eq!(list.jobs.len() + list.skipped.units.len(), entries.len());
    }
}

pub(crate) fn response_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words = split_response(&text);
    // Every word has a character of its own, but for those that are a pair of quotes.
    assert!(words.len() <= text.len());
}

pub(crate) fn symbol(bytes: &[u8]) {
    let _ = demangled(&String::from_utf8_lossy(bytes));
}
