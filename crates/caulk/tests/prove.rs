//! `caulk prove` and `caulk query`, as a user runs them.

use std::path::PathBuf;
use std::process::{Command, Output};

fn routine(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/prove").join(name)
}

fn caulk(arguments: &[&str]) -> Output {
    let run = Command::new(env!("CARGO_BIN_EXE_caulk")).args(arguments).output();
    run.expect("the program can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_is_proved_has_status_0_and_the_assumptions_are_told() {
    let file = routine("si-reverse.c");
    let output = caulk(&["prove", "--no-cache", &file.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("reverse: proved ("), "{output:?}");
    assert!(text(&output.stderr).contains("proofs hold if"), "{output:?}");
}

#[test]
fn what_is_not_proved_has_status_1_and_a_trace_in_json() {
    let file = routine("sr-rev-leak.c").display().to_string();
    let output = caulk(&["prove", "--no-cache", "--format", "json", &file]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON is printed");
    let functions = report["functions"].as_array().expect("a list of functions");
    let leaking = functions.iter().find(|f| f["name"] == "reverse_onto").expect("the function is there");
    assert_eq!(leaking["verdict"], "may-leak");
    assert_eq!(leaking["mayLeak"], 1);
    assert_eq!(leaking["traces"][0]["line"], 8);
    assert!(leaking["traces"][0]["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    let wrapper = functions.iter().find(|f| f["name"] == "reverse").expect("the function is there");
    assert_eq!(wrapper["verdict"], "proved");
}

#[test]
fn one_line_can_be_asked() {
    let file = routine("sr-rev-leak.c").display().to_string();
    let leaking = caulk(&["query", "sr-rev-leak.c:8", "--no-cache", &file]);
    assert_eq!(leaking.status.code(), Some(1), "{leaking:?}");
    assert!(text(&leaking.stdout).contains("may leak: `list.next` is overwritten"), "{leaking:?}");
    let fine = caulk(&["query", "sr-rev-leak.c:10", "--no-cache", &file]);
    assert_eq!(fine.status.code(), Some(0), "{fine:?}");
    let nowhere = caulk(&["query", "sr-rev-leak.c:999", "--no-cache", &file]);
    assert_eq!(nowhere.status.code(), Some(2), "{nowhere:?}");
    let nothing = caulk(&["query", "sr-rev-leak.c", "--no-cache", &file]);
    assert_eq!(nothing.status.code(), Some(2), "{nothing:?}");
}

#[test]
fn a_function_can_be_named() {
    let file = routine("avl-balance.c").display().to_string();
    let output = caulk(&["prove", "--no-cache", "--function", "rotate_left", &file]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!text(&output.stdout).contains("rotate_right"), "{output:?}");
    assert_eq!(caulk(&["prove", "--no-cache", "--function", "nobody", &file]).status.code(), Some(2));
}
