//! Remote caches and shares, with the whole command: however units were made, the report of a checkout has the same bytes. (Those of
//! two checkouts differ in one line, which names the folder.)

mod project;
#[path = "../../caulk-remote/tests/server/mod.rs"]
mod server;

use std::fs;
use std::process::Command;

use project::{LEAK, Project, Run, finished, in_time, json};
use server::{Fault, Server};

const HEADER: &str = "#pragma once\n#include <stdlib.h>\nchar *make(int n);\nvoid drop(char *p);\n";
const MAKE: &str = "#include \"part.h\"\nchar *make(int n) { return malloc(n); }\n";
const DROP: &str = "#include \"part.h\"\n#include <assert.h>\nvoid drop(char *p) { assert(p); free(p); }\n";
const USE: &str = "#include \"part.h\"\nint use(int n) {\n    char *p = make(n);\n    if (n > 3)\n        return 1;\n    drop(p);\n    return 0;\n}\n";
const FILES: [(&str, &str); 6] = [
    ("inc/part.h", HEADER),
    ("src/make.c", MAKE),
    ("src/drop.c", DROP),
    ("src/use.c", USE),
    ("src/leak.c", LEAK),
    ("src/main.c", "#include \"part.h\"\nint use(int n);\nint main(int n, char **v) { return use(n); }\n"),
];
const UNITS: usize = 5;

/// One more checkout of the same project, somewhere else.
fn checkout() -> Project {
    let project = Project::new(&FILES);
    let root = project.root().display().to_string();
    let entry = |(file, _): &(&str, &str)| {
        format!(
            r#"{{"directory": "{root}/src", "file": "{root}/{file}", "command": "cc -I{root}/inc -c {root}/{file}"}}"#
        )
    };
    let entries: Vec<String> = FILES[1..].iter().map(entry).collect();
    fs::write(project.path("compile_commands.json"), format!("[{}]", entries.join(","))).expect("writable");
    project
}

fn command(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.command(arguments);
    for name in ["CAULK_REMOTE_CACHE", "CAULK_REMOTE_CACHE_MODE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    {
        command.env_remove(name);
    }
    command
}

fn run(project: &Project, arguments: &[&str]) -> Run {
    finished(in_time(command(project, arguments)))
}

fn check(project: &Project, more: &[&str]) -> Run {
    let run = run(project, &[&["check", "--format", "sarif", "--jobs", "2"], more].concat());
    assert_eq!(run.status, 1, "{}", run.stderr);
    run
}

/// The report of a checkout without any cache.
fn alone(project: &Project) -> String {
    let report = check(project, &["--no-cache"]).stdout;
    assert!(report.contains("src/use.c") && report.contains("src/leak.c"));
    report
}

fn units(run: &Run, from_cache: usize, from_remote: usize, compiled: usize) {
    run.says(&[&format!(
        "units: {from_cache} from the cache, {from_remote} from the remote cache, {compiled} compiled"
    )]);
}

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let url = format!("file://{}/store", folder.path().display());
    (folder, url)
}

#[test]
fn another_checkout_compiles_nothing() {
    let (_folder, url) = folder();
    let (here, there) = (checkout(), checkout());
    let first = check(&here, &["--remote-cache", &url]);
    units(&first, 0, 0, UNITS);
    let second = check(&there, &["--remote-cache", &url]);
    units(&second, 0, UNITS, 0);
    let third = check(&there, &["--remote-cache", &url]);
    units(&third, UNITS, 0, 0);
    for (project, run) in [(&here, first), (&there, second), (&there, third)] {
        assert_eq!(run.stdout, alone(project));
        assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    }
}

#[test]
fn a_change_compiles_what_it_concerns() {
    let (_folder, url) = folder();
    check(&checkout(), &["--remote-cache", &url]);
    let there = checkout();
    fs::write(there.path("src/leak.c"), LEAK.replace("p[0] = 1;", "p[0] = 2;")).expect("writable");
    units(&check(&there, &["--remote-cache", &url]), 0, UNITS - 1, 1);
}

#[test]
fn four_shares_make_the_same_report() {
    let (_folder, url) = folder();
    let mut of_shares = 0;
    for number in 1..=4 {
        let shard = format!("{number}/4");
        let run = run(&checkout(), &["lower", "--shard", &shard, "--remote-cache", &url, "--format", "json"]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let summary = json(&run.stdout);
        assert_eq!(summary["ofUnits"], UNITS);
        assert_eq!(summary["compiled"], summary["units"], "no share has units of another");
        assert_eq!(summary["storedRemotely"], summary["units"]);
        of_shares += summary["units"].as_u64().expect("a number");
    }
    assert_eq!(of_shares, UNITS as u64);
    let project = checkout();
    let report = check(&project, &["--remote-cache", &url, "--remote-cache-mode", "read-only"]);
    units(&report, 0, UNITS, 0);
    assert_eq!(report.stdout, alone(&project));
}

/// A machine that was lost: its share is compiled by who needs it.
#[test]
fn a_share_that_was_not_made_is_made_later() {
    let (_folder, url) = folder();
    for shard in ["1/4", "3/4", "4/4"] {
        assert_eq!(run(&checkout(), &["lower", "--shard", shard, "--remote-cache", &url]).status, 0);
    }
    let project = checkout();
    let report = check(&project, &["--remote-cache", &url]);
    assert!(!report.stderr.contains(" 0 compiled"), "{}", report.stderr);
    assert_eq!(report.stdout, alone(&project));
}

#[test]
fn shares_need_no_server() {
    let project = checkout();
    for shard in ["1/2", "2/2"] {
        assert_eq!(run(&project, &["lower", "--shard", shard]).status, 0);
    }
    let all = run(&project, &["lower", "--format", "json"]);
    assert_eq!((json(&all.stdout)["fromCache"].as_u64(), json(&all.stdout)["compiled"].as_u64()), (Some(5), Some(0)));
}

#[test]
fn shares_are_balanced_by_what_units_cost() {
    let project = checkout();
    assert_eq!(run(&project, &["lower", "--record-costs", "measured.txt"]).status, 0);
    let measured = fs::read_to_string(project.path("measured.txt")).expect("written");
    assert_eq!(measured.lines().count(), UNITS);
    fs::write(project.path("costs.txt"), "900 src/use.c\n10 src/make.c\n10 src/drop.c\n10 src/leak.c\n10 src/main.c\n")
        .expect("writable");
    let list = |shard: &str| run(&checkout(), &["lower", "--list", "--shard", shard]).stdout;
    assert_eq!(list("1/2"), list("1/2"), "the same in every checkout");
    let heavy = run(&project, &["lower", "--list", "--shard", "1/2", "--costs", "costs.txt"]);
    assert_eq!(heavy.stdout, "900 src/use.c\n");
    let light = run(&project, &["lower", "--list", "--shard", "2/2", "--costs", "costs.txt"]);
    assert_eq!(light.stdout.lines().count(), 4);
    run(&project, &["lower", "--shard", "3/2"]).fails(&["shares of 2 are 1/2 to 2/2"]);
    run(&project, &["lower", "--no-cache"]).fails(&["nothing would be kept"]);
    run(&project, &["lower", "--costs", "nowhere.txt"]).fails(&["cannot use nowhere.txt for costs"]);
}

#[test]
fn a_server_of_files_is_a_cache() {
    let server = Server::start(Fault::None);
    let (here, there) = (checkout(), checkout());
    let first = check(&here, &["--remote-cache", &server.url()]);
    let second = check(&there, &["--remote-cache", &server.url(), "--remote-cache-mode", "read-only"]);
    units(&first, 0, 0, UNITS);
    units(&second, 0, UNITS, 0);
    assert_eq!((&first.stdout, &second.stdout), (&alone(&here), &alone(&there)));
    assert!(!first.stderr.contains("warning") && !second.stderr.contains("warning"), "{}", first.stderr);
    let third = checkout();
    let mut command = command(&third, &["check", "--format", "sarif"]);
    command.env("CAULK_REMOTE_CACHE", server.url()).env("CAULK_REMOTE_CACHE_MODE", "read-only");
    units(&finished(in_time(command)), 0, UNITS, 0);
}

/// Whatever the server does, the report is the same, and one warning says what happened.
fn check_fault(fault: Fault, expected: &[&str]) {
    let server = Server::start(Fault::None);
    check(&checkout(), &["--remote-cache", &server.url()]);
    server.fail(fault);
    let project = checkout();
    let run = check(&project, &["--remote-cache", &server.url(), "--remote-timeout", "1"]);
    assert_eq!(run.stdout, alone(&project), "{fault:?}");
    assert_eq!(run.stderr.matches("warning").count(), 1, "{fault:?}: {}", run.stderr);
    run.says(expected);
}

#[test]
fn a_server_that_goes_away_in_the_middle_costs_a_warning() {
    check_fault(Fault::GoneAfter(4), &["warning: the remote cache http://127.0.0.1:", "reading failed"]);
}

#[test]
fn a_server_that_never_answers_costs_a_warning() {
    check_fault(Fault::Silent, &["reading failed", "no answer within 1 second", "left alone from then on"]);
}

#[test]
fn a_server_that_answers_half_costs_a_warning() {
    check_fault(Fault::HalfBody, &["the remote cache http://127.0.0.1:"]);
}

#[test]
fn a_server_that_lies_costs_a_warning() {
    check_fault(Fault::Garbage, &["entries were damaged or not what was asked for"]);
}

#[test]
fn a_server_that_is_full_costs_a_warning() {
    let server = Server::start(Fault::Full);
    let project = checkout();
    let run = check(&project, &["--remote-cache", &server.url()]);
    assert_eq!(run.stdout, alone(&project));
    run.says(&["writing failed"]);
    assert_eq!(run.stderr.matches("warning").count(), 1, "{}", run.stderr);
}

#[test]
fn a_server_that_was_never_there_costs_a_warning() {
    let project = checkout();
    let run = check(&project, &["--remote-cache", "http://127.0.0.1:9/", "--remote-timeout", "1"]);
    assert_eq!(run.stdout, alone(&project));
    run.says(&["warning: the remote cache http://127.0.0.1:9/: reading failed"]);
}

/// In every place where an entry would go there is a file: as on a disk that is full or read-only, nothing can be written.
#[test]
fn a_folder_that_cannot_be_written_costs_a_warning() {
    let (folder, url) = folder();
    fs::create_dir(folder.path().join("store")).expect("writable");
    for number in 0..256 {
        fs::write(folder.path().join(format!("store/{number:02x}")), "in the way").expect("writable");
    }
    let project = checkout();
    let run = check(&project, &["--remote-cache", &url]);
    assert_eq!(run.stdout, alone(&project));
    assert_eq!(run.stderr.matches("warning").count(), 1, "{}", run.stderr);
    run.says(&["the remote cache file://", "the result is the same without it"]);
}

#[test]
fn what_is_no_cache_is_an_error() {
    let project = checkout();
    run(&project, &["check", "--remote-cache", "ftp://me:secret@host/x"])
        .fails(&["--remote-cache: ftp://host/x is no address of a cache"]);
    let mut command = command(&project, &["check", "--remote-cache", "file:///tmp/x"]);
    command.env("CAULK_REMOTE_CACHE_MODE", "sometimes");
    finished(in_time(command)).fails(&["CAULK_REMOTE_CACHE_MODE is \"sometimes\"; it can be read-write or read-only"]);
}

/// A project does not choose which server Caulk talks to.
#[test]
fn a_project_cannot_name_a_remote_cache() {
    let server = Server::start(Fault::None);
    let project = checkout();
    for key in ["remote-cache", "remote-cache-mode"] {
        fs::write(project.path("caulk.toml"), format!("{key} = \"{}\"\n", server.url())).expect("writable");
        run(&project, &["check"]).fails(&["a project cannot choose a remote cache"]);
    }
    assert_eq!(server.requests(), 0);
}
