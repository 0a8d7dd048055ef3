//! Both engines on the text form of the IR, without a compiler: every file in `engines/` is a unit, with what is expected of it
//! in comments that begin with `;=`. `CAULK_BLESS=1` writes what is the case; look at the difference.
//!
//! Expectations are the summaries of stage one (`function: what it does`) and every candidate with stage two's verdict
//! (`function: line, kind, variable: verdict`).

mod support;

use std::path::{Path, PathBuf};

use support::Run;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines");
    let entries = std::fs::read_dir(folder).expect("the folder is in the repository");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

#[test]
fn every_unit_is_understood_as_it_says() {
    let files = files();
    assert!(files.len() >= 10, "some units are missing");
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable");
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(";= ")).collect();
        let found = Run::new(&text).lines();
        if expected == found {
            continue;
        }
        if std::env::var_os("CAULK_BLESS").is_some() {
            std::fs::write(&path, blessed(&text, &found)).expect("the repository is writable");
        }
        wrong.push(format!("{}\n  expected {expected:#?}\n  found {found:#?}", path.display()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The text with these expectations, where the first one was.
fn blessed(text: &str, found: &[String]) -> String {
    let is_prose = |line: &&str| line.starts_with("; ");
    let prose = text.lines().take_while(is_prose);
    let code = text.lines().skip_while(is_prose).filter(|line| !line.starts_with(";="));
    let expected: Vec<String> = found.iter().map(|line| format!(";= {line}")).collect();
    prose.chain(expected.iter().map(String::as_str)).chain(code).map(|line| format!("{line}\n")).collect()
}

/// A unit with one more function, which nothing calls, has the same answers.
#[test]
fn what_is_not_called_changes_nothing() {
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("readable");
        let before = Run::new(&text).lines();
        let padded = format!("{text}\ndefine @nobody_calls_this(n: i32) -> i32 {{\nblock0:\n  return %0 @ 1:1\n}}\n");
        assert_eq!(Run::new(&padded).lines(), before, "{}", path.display());
    }
}
