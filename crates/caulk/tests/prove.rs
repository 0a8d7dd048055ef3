//! `caulk prove` and `caulk query`, as a user runs them.

mod project;

use std::path::PathBuf;
use std::process::{Command, Output};

use project::{Project, json, sarif_schema, validate};

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
    assert_eq!(caulk(&["prove", "--no-cache", "--function", "missing", &file]).status.code(), Some(2));
}

/// A proved function, one that leaks, one that cannot be decided, and one for which proofs do not hold.
const FOUR: &str = "#include <stdlib.h>\n\
    struct node { struct node *next; };\n\
    void *unknown(void);\n\
    struct node *push(struct node *list) {\n    struct node *n = malloc(sizeof *n);\n    if (!n)\n        return list;\n    \
    n->next = list;\n    return n;\n}\n\
    void drop(struct node *list) {\n    list->next = NULL;\n}\n\
    void call(void) {\n    unknown();\n}\n\
    long number(struct node *list) {\n    return (long)list ^ 1;\n}\n";

#[test]
fn json_has_the_keys_that_are_documented_and_no_others() {
    let project = Project::new(&[("four.c", FOUR)]);
    let report = json(&project.run(&["prove", "--no-cache", "--format", "json", "four.c"]).stdout);
    let keys =
        |value: &serde_json::Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(keys(&report), ["functions"]);
    let functions = report["functions"].as_array().expect("a list");
    let mut expected =
        ["name", "file", "line", "probes", "proved", "mayLeak", "abandoned", "verdict", "traces"].map(str::to_owned);
    expected.sort();
    for function in functions {
        let mut found = keys(function);
        found.sort();
        assert_eq!(found, expected);
    }
    let verdict = |name: &str| {
        let function = functions.iter().find(|f| f["name"] == name).expect("the function is there");
        function["verdict"].as_str().expect("a word").to_owned()
    };
    assert_eq!(["push", "drop", "call", "number"].map(verdict), ["proved", "may-leak", "abandoned", "outside"]);
}

#[test]
fn proofs_as_sarif() {
    let project = Project::new(&[("four.c", FOUR)]);
    let run = project.run(&["prove", "--no-cache", "--format", "sarif", "four.c"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    validate(&sarif_schema(), &run.stdout);
    let report = json(&run.stdout);
    let properties = &report["runs"][0]["properties"];
    let counts = serde_json::json!({ "proved": 1, "mayLeak": 1, "abandoned": 1, "outside": 1 });
    assert_eq!(properties["functions"], counts);
    assert!(properties["assumptions"].as_str().is_some_and(|text| text.starts_with("proofs hold if")));
    let results = report["runs"][0]["results"].as_array().expect("results").clone();
    let of = |function: &str| {
        let found = results.iter().find(|r| r["properties"]["function"] == function);
        found.expect("there is a result").clone()
    };
    assert_eq!(
        ["push", "drop", "call", "number"].map(|f| of(f)["kind"].clone()),
        ["pass", "fail", "open", "notApplicable"]
    );
    let leak = of("drop");
    assert_eq!(leak["locations"][0]["physicalLocation"]["region"]["startLine"], 12);
    let flow = leak["codeFlows"][0]["threadFlows"][0]["locations"].as_array().expect("a way").clone();
    let text = |step: &serde_json::Value| step["location"]["message"]["text"].as_str().expect("words").to_owned();
    assert_eq!(text(&flow[0]), "a block that was there when drop was called");
    assert_eq!(text(flow.last().expect("a loss")), "`node.next` is overwritten");
}
