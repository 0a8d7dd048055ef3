//! The rules of the engines as a user meets them: they are listed, counted, and can be switched off.

mod project;

use project::{Project, json};

/// Nothing ever sets `debug`, so the memory is always freed: the rule `constants` knows.
const NEVER_SET: &str = "void *malloc(unsigned long); void free(void *);\n\
                         static int debug;\n\
                         int f(void) { void *p = malloc(8); if (debug) return 1; free(p); return 0; }\n";

#[test]
fn all_rules_are_listed() {
    let run = Project::new(&[]).run(&["rules"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.lines().count() > 20);
    run.prints(&["carriers  ", "A global that is only read while its setter is active", "opaque-blocks  "]);
}

#[test]
fn a_rule_can_be_switched_off_by_flag_and_by_setting() {
    let project = Project::with_database(&[("a.c", NEVER_SET)], &["a.c"]);
    assert_eq!(project.run(&["check", "--quiet"]).status, 0);
    let without = project.run(&["check", "--quiet", "--without-rule", "constants"]);
    assert_eq!(without.status, 1, "{}", without.stderr);
    without.prints(&["a.c:3"]);
    std::fs::write(project.path("caulk.toml"), "[rules]\nconstants = false\n").expect("writable");
    assert_eq!(project.run(&["check", "--quiet"]).status, 1);
    std::fs::write(project.path("caulk.toml"), "[rules]\nconstants = true\n").expect("writable");
    assert_eq!(project.run(&["check", "--quiet"]).status, 0);
}

#[test]
fn unknown_rules_are_errors_with_a_hint() {
    let project = Project::with_database(&[("a.c", NEVER_SET)], &["a.c"]);
    project
        .run(&["check", "--without-rule", "constant"])
        .fails(&["there is no rule `constant`; did you mean `constants`?"]);
    project
        .run(&["check", "--without-rule", "xyzzy-plugh"])
        .fails(&["there is no rule `xyzzy-plugh`", "`caulk rules`"]);
    std::fs::write(project.path("caulk.toml"), "[rules]\ncarrier = false\n").expect("writable");
    project.run(&["check"]).fails(&["caulk.toml: there is no rule `carrier`; did you mean `carriers`?"]);
}

#[test]
fn what_rules_did_is_counted_whatever_the_threads() {
    let files: Vec<(String, String)> = (0..12)
        .map(|n| {
            (
                format!("f{n}.c"),
                NEVER_SET.replace("debug", &format!("debug_{n}")).replace("f(void)", &format!("f{n}(void)")),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let project = Project::with_database(&files, &names);
    let counts = |jobs: &str, more: &[&str]| {
        let arguments = [&["check", "--format", "json", "--jobs", jobs], more].concat();
        json(&project.run(&arguments).stdout)["statistics"]["rules"].clone()
    };
    let one = counts("1", &[]);
    assert_eq!(one["constants"], 12, "{one}");
    assert_eq!(one, counts("4", &[]));
    assert_eq!(counts("1", &["--without-rule", "constants"])["constants"], serde_json::Value::Null);
}
