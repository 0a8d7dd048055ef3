//! The cache: what counts as unchanged, and that nothing found in its folder does harm.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use caulk_capture::Job;
use caulk_frontend::{Config, ReadUnit};
use common::{Project, cached, config, printed};

const HEADER: &str = "struct node { struct node *next; };\n";
const SOURCE: &str = "#include \"node.h\"\nvoid *get(struct node *n) { return n->next; }\n";

fn project() -> Project {
    Project::new(&[("node.h", HEADER), ("node.c", SOURCE)])
}

fn read(project: &Project, flags: &[&str], config: &Config) -> ReadUnit {
    let unit = project.read(&["node.c"], flags, config).pop().expect("one job, one result");
    unit.unwrap_or_else(|lost| panic!("{}: {}", lost.source, lost.reason))
}

/// A run of its own with the cache of the project: no hash is remembered from the run before.
fn run(project: &Project, flags: &[&str]) -> ReadUnit {
    read(project, flags, &cached(&project.path("cache")))
}

fn text(unit: ReadUnit) -> String {
    printed(&Ok(unit))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder.join("units")).expect("the cache has a folder of units");
    let mut paths: Vec<PathBuf> = listed.map(|e| e.expect("readable").path()).collect();
    paths.sort();
    paths
}

fn only_entry(project: &Project) -> PathBuf {
    let mut entries = entries(&project.path("cache"));
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.pop().expect("counted above")
}

#[test]
fn a_second_run_takes_all_from_the_cache() {
    let project = project();
    let first = run(&project, &[]);
    let second = run(&project, &[]);
    assert!(!first.is_from_cache() && second.is_from_cache());
    assert_eq!(text(first), text(second));
    assert_eq!(fs::read_to_string(project.path("cache/.gitignore")).expect("written"), "*\n");
}

/// Sources are shown relative to the current folder; the entry does not depend on that.
#[test]
fn another_current_folder_takes_the_same_entry() {
    let project = project();
    run(&project, &[]);
    let job = |display: &str| {
        let mut jobs = common::jobs(project.root(), &["node.c"], &[]);
        let Some(Job::Compile(job)) = jobs.first_mut() else { panic!("one source, one job") };
        job.display = display.to_owned();
        jobs
    };
    let config = cached(&project.path("cache"));
    let other = common::read_all(&job("sub/../node.c"), &config).pop().expect("one job, one result");
    let other = other.unwrap_or_else(|lost| panic!("{}: {}", lost.source, lost.reason));
    assert!(other.is_from_cache());
    assert_eq!(other.unit.unit.source, "sub/../node.c");
}

#[test]
fn a_changed_header_counts() {
    let project = project();
    run(&project, &[]);
    project.write("node.h", "struct node { int before; struct node *next; };\n");
    let changed = run(&project, &[]);
    assert!(!changed.is_from_cache());
    assert!(text(changed).contains("next: 8"));
    assert!(run(&project, &[]).is_from_cache());
}

#[test]
fn a_header_that_only_got_a_new_date_does_not_count() {
    let project = project();
    run(&project, &[]);
    project.write("node.h", HEADER);
    assert!(run(&project, &[]).is_from_cache());
}

#[test]
fn a_header_that_is_gone_counts() {
    let project = project();
    run(&project, &[]);
    fs::remove_file(project.path("node.h")).expect("it was there");
    let results = project.read(&["node.c"], &[], &cached(&project.path("cache")));
    assert!(common::reason(&results[0]).contains("'node.h' file not found"));
}

#[test]
fn other_flags_are_another_entry() {
    let project = project();
    run(&project, &[]);
    assert!(!run(&project, &["-DX"]).is_from_cache());
    assert!(run(&project, &["-DX"]).is_from_cache());
    assert!(run(&project, &[]).is_from_cache());
    assert_eq!(entries(&project.path("cache")).len(), 2);
}

#[test]
fn a_source_deleted_while_it_was_cached_is_missing() {
    let project = project();
    let jobs = common::jobs(project.root(), &["node.c"], &[]);
    let config = cached(&project.path("cache"));
    assert!(common::read_all(&jobs, &config)[0].is_ok());
    fs::remove_file(project.path("node.c")).expect("it was there");
    let results = common::read_all(&jobs, &cached(&project.path("cache")));
    assert!(common::reason(&results[0]).contains("no such file"), "{}", common::reason(&results[0]));
}

/// Whatever stands in an entry, the unit is made again, the same as before, and the entry is fixed.
fn check_damage(damage: impl Fn(&[u8]) -> Vec<u8>) {
    let project = project();
    let sound = text(run(&project, &[]));
    let entry = only_entry(&project);
    let good = fs::read(&entry).expect("readable");
    fs::write(&entry, damage(&good)).expect("writable");
    let rebuilt = run(&project, &[]);
    assert!(!rebuilt.is_from_cache());
    assert_eq!(text(rebuilt), sound);
    assert!(run(&project, &[]).is_from_cache());
    assert_eq!(fs::read(only_entry(&project)).expect("readable"), good);
}

#[test]
fn an_empty_entry_is_rebuilt() {
    check_damage(|_| Vec::new());
}

#[test]
fn a_foreign_entry_is_rebuilt() {
    check_damage(|_| b"#!/bin/sh\necho not a unit\n".to_vec());
    check_damage(|good| [b"caulk-v\n", &good[8..]].concat());
}

#[test]
fn an_entry_of_zeros_or_with_a_tail_is_rebuilt() {
    check_damage(|good| vec![0; good.len()]);
    check_damage(|good| [good, b"x"].concat());
}

#[test]
fn runs_at_once_share_one_folder() {
    let project = project();
    for number in 0..6 {
        project.write(
            &format!("{number}.c"),
            format!("#include \"node.h\"\nint f{number}(void) {{ return {number}; }}\n"),
        );
    }
    let sources = ["0.c", "1.c", "2.c", "3.c", "4.c", "5.c"];
    let alone: Vec<String> = project.read(&sources, &[], &config()).iter().map(printed).collect();
    let together = || -> Vec<String> {
        let results = project.read(&sources, &[], &cached(&project.path("cache")));
        results.iter().map(printed).collect()
    };
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(together)).collect();
        runs.into_iter().for_each(|run| assert_eq!(run.join().expect("no run panics"), alone));
    });
    let left = entries(&project.path("cache"));
    assert_eq!(left.len(), sources.len(), "{left:?}");
    assert!(left.iter().all(|path| path.extension().is_some_and(|e| e == "unit")), "{left:?}");
    assert!(
        project.read(&sources, &[], &cached(&project.path("cache"))).iter().flatten().all(|unit| unit.is_from_cache())
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let project = project();
    let error = caulk_frontend::Cache::open(&project.path("node.c/cache")).expect_err("a file has no folders in it");
    assert_eq!(error.kind(), std::io::ErrorKind::NotADirectory);
}

#[test]
fn a_folder_that_cannot_be_written_to_costs_only_time() {
    let project = project();
    let config = cached(&project.path("cache"));
    fs::remove_dir(project.path("cache/units")).expect("empty");
    project.write("cache/units", "in the way");
    assert!(!read(&project, &[], &config).is_from_cache());
    assert_eq!(fs::read_to_string(project.path("cache/units")).expect("untouched"), "in the way");
}

/// What was compiled is not what the file holds now, so nothing may be stored under its hash.
#[test]
fn a_file_newer_than_the_compilation_is_not_trusted() {
    let project = project();
    let header = fs::File::options().append(true).open(project.path("node.h")).expect("writable");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3_600);
    header.set_modified(later).expect("dates can be set");
    run(&project, &[]);
    assert!(entries(&project.path("cache")).is_empty());
}
