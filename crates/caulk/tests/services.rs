//! Formats and files for services that run or show checks: GitLab, GitHub, pre-commit, and whatever reads JUnit or a table.

mod project;

use std::fs;
use std::path::Path;
use std::process::Command;

use project::{LEAK, Project, finished, have, json, make_executable, sarif_schema, validate};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn two_leaks() -> Project {
    let odd = LEAK.replace("leak(", "lose(").replace("malloc(n)", "malloc(n + sizeof \"<&,'=\")");
    Project::with_database(&[("src/a.c", LEAK), ("src/b c.c", &odd)], &["src/a.c", "src/b c.c"])
}

fn check(project: &Project, format: &str) -> String {
    let run = project.run(&["check", "src/a.c", "src/b c.c", "--format", format]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    run.stdout
}

#[test]
fn code_climate() {
    let report = json(&check(&two_leaks(), "codeclimate"));
    let issues = report.as_array().expect("a list");
    assert_eq!(issues.len(), 2);
    for issue in issues {
        // What GitLab asks for.
        for field in ["description", "check_name", "fingerprint"] {
            assert!(issue[field].as_str().is_some_and(|text| !text.is_empty()), "{issue}");
        }
        assert_eq!(issue["severity"], "major");
        assert_eq!(issue["location"]["lines"]["begin"], 7);
    }
    assert_eq!(issues[0]["location"]["path"], "src/a.c");
    assert_ne!(issues[0]["fingerprint"], issues[1]["fingerprint"]);
    let none = Project::new(&[("a.c", project::GOOD)]);
    assert_eq!(none.run(&["check", "a.c", "--format", "codeclimate"]).stdout, "[]\n");
}

#[test]
fn junit() {
    let project = two_leaks();
    let report = check(&project, "junit");
    assert!(report.contains("<testsuite name=\"caulk\" tests=\"2\" failures=\"2\" errors=\"0\">"), "{report}");
    assert!(
        report
            .contains("<testcase classname=\"src/a.c\" name=\"`p` in leak (forgotten)\" file=\"src/a.c\" line=\"7\">")
    );
    if have("python3") {
        fs::write(project.path("report.xml"), &report).expect("writable");
        let script =
            "import sys, xml.etree.ElementTree as t; r = t.parse(sys.argv[1]); print(len(r.findall('.//failure')))";
        let output = Command::new("python3").args(["-c", script]).arg(project.path("report.xml")).output();
        assert_eq!(finished(output.expect("python can be run")).stdout, "2\n", "it is XML");
    }
    let none = Project::new(&[("a.c", project::GOOD)]);
    none.run(&["check", "a.c", "--format", "junit"]).prints(&["tests=\"1\" failures=\"0\"", "name=\"no leaks\"/>"]);
}

#[test]
fn a_table() {
    let table = check(&two_leaks(), "csv");
    let lines: Vec<&str> = table.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("file,line,column,function,rule,confidence,confidence_reason,variable,message,"));
    let reason = "\"the path was executed alone, and its conditions hold together\"";
    assert!(lines[1].starts_with(&format!("src/a.c,7,5,leak,forgotten,high,{reason},p,")), "{}", lines[1]);
}

#[test]
fn what_services_read_of_sarif() {
    let text = check(&two_leaks(), "sarif");
    validate(&sarif_schema(), &text);
    let run = &json(&text)["runs"][0];
    let rule = &run["tool"]["driver"]["rules"][1];
    assert_eq!(rule["helpUri"], "https://cwe.mitre.org/data/definitions/401.html");
    assert_eq!(rule["properties"]["security-severity"], "5.0");
    let home = run["tool"]["driver"]["informationUri"].as_str().expect("an address");
    assert!(home.starts_with("https://"), "{home}");
    assert_eq!((&run["results"][0]["level"], &run["results"][0]["rank"]), (&"error".into(), &90.into()));
}

/// A project in a git repository, and a PATH on which `caulk` is the one under test.
fn in_service(project: &Project) -> String {
    let bin = project.path("bin");
    fs::create_dir_all(&bin).expect("writable");
    let script = format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_caulk"));
    fs::write(bin.join("caulk"), script).expect("writable");
    make_executable(&bin.join("caulk"));
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default())
}

/// The `run:` text of a step of the action, by its name.
fn step(name: &str) -> String {
    let action = fs::read_to_string(Path::new(ROOT).join("action.yml")).expect("it is in the repository");
    let (_, after) = action.split_once(&format!("- name: {name}\n")).expect("a step of that name");
    let (_, script) = after.split_once("run: |\n").expect("it runs something");
    let lines = script.lines().take_while(|line| line.starts_with("        ") || line.is_empty());
    lines.map(|line| line.strip_prefix("        ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The steps of the action as its runner calls them: each in a shell, with the inputs in the environment.
#[test]
fn the_action_for_github() {
    if !have("bash") {
        return;
    }
    let project = two_leaks();
    let path = in_service(&project);
    let run = |arguments: &str, fail: &str| {
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &step("Check")]).current_dir(project.root());
        command.env("PATH", &path).env("CAULK_ARGUMENTS", arguments).env("CAULK_FAIL", fail);
        command.env("CAULK_BUILD_DIR", ".").env("CAULK_SARIF", "caulk.sarif").env("CAULK_CHANGED_SINCE", "");
        command.env("GITHUB_OUTPUT", project.path("output"));
        finished(command.output().expect("bash can be run"))
    };
    let failed = run("", "true");
    assert_eq!(failed.status, 1, "{}", failed.stderr);
    assert!(failed.stdout.contains("::warning file=src/a.c,line=7"), "{}", failed.stdout);
    validate(&sarif_schema(), &fs::read_to_string(project.path("caulk.sarif")).expect("written"));
    assert_eq!(fs::read_to_string(project.path("output")).expect("written"), "leaks=2\n");
    assert_eq!(run("", "false").status, 0, "leaks are shown, and do not fail the job");
    assert_eq!(run("--only src/a.c", "true").stdout.matches("::warning").count(), 1);
}

#[test]
fn the_template_for_gitlab() {
    let text = fs::read_to_string(Path::new(ROOT).join("ci/caulk.gitlab-ci.yml")).expect("it is in the repository");
    let (_, script) = text.split_once("  script:\n").expect("it runs something");
    let commands: Vec<&str> = script.lines().map_while(|line| line.strip_prefix("    - ")).collect();
    let project = two_leaks();
    let path = in_service(&project);
    let mut command = Command::new("sh");
    command.args(["-ec", &commands.join("\n")]).current_dir(project.root()).env("PATH", path);
    command.env("CAULK_BUILD_DIR", ".").env("CAULK_ARGUMENTS", "");
    let run = finished(command.output().expect("a shell can be run"));
    assert_eq!(run.status, 1, "{}", run.stderr);
    let report = json(&fs::read_to_string(project.path("gl-code-quality-report.json")).expect("written"));
    assert_eq!(report.as_array().map(Vec::len), Some(2));
    assert!(text.contains("codequality: gl-code-quality-report.json"));
}

/// pre-commit appends the names of the files that are to be committed.
#[test]
fn the_hook_for_pre_commit() {
    let text = fs::read_to_string(Path::new(ROOT).join(".pre-commit-hooks.yaml")).expect("it is in the repository");
    let entry = text.lines().find_map(|line| line.trim().strip_prefix("entry: ")).expect("an entry");
    let project = two_leaks();
    let path = in_service(&project);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{entry} \"$@\""), "sh", "src/a.c"]).current_dir(project.root()).env("PATH", path);
    let run = finished(command.output().expect("a shell can be run"));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stdout.contains("src/a.c:7") && !run.stdout.contains("b c.c"), "{}", run.stdout);
}
