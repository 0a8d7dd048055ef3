//! What a project ships must not make Caulk write outside of it, hang, or read without end.

mod project;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use project::{GOOD, LEAK, Project, Run, finished, in_time, json, make_huge, make_pipe};

/// A project in a folder of its own, beside one that is none of its business.
struct Neighbourhood {
    all: Project,
}

impl Neighbourhood {
    fn new(settings: &str) -> Self {
        let files = [("in/leak.c", LEAK), ("in/caulk.toml", settings), ("out/file", "mine"), ("in/.git/config", "")];
        let all = Project::new(&files);
        symlink("../out", all.path("in/link")).expect("writable");
        Self { all }
    }

    fn inside(&self, name: &str) -> PathBuf {
        self.all.path("in").join(name)
    }

    fn check(&self, arguments: &[&str]) -> Run {
        let mut command = self.all.command(&[&["check", "leak.c"], arguments].concat());
        command.current_dir(self.all.path("in"));
        finished(in_time(command))
    }

    fn nothing_left(&self) {
        let entries = fs::read_dir(self.all.path("out")).expect("readable");
        let names: Vec<_> = entries.map(|e| e.expect("readable").file_name()).collect();
        assert_eq!(names, ["file"]);
        assert_eq!(fs::read_to_string(self.all.path("out/file")).expect("readable"), "mine");
    }

    fn refused(&self, arguments: &[&str], parts: &[&str]) {
        self.check(arguments).fails(parts);
        self.nothing_left();
    }
}

#[test]
fn settings_do_not_write_through_links() {
    let link = "link is a symbolic link";
    for (settings, part) in [
        ("output = \"link/report.json\"\nformat = \"json\"\n", link),
        ("output = \"./link/report\"\nformat = \"html\"\n", link),
        ("output = \"link\"\nformat = \"html\"\n", link),
        ("cache = \"link\"\n", link),
        ("cache = \"link/cache\"\n", link),
        ("output = \"../out/report\"\n", "must lie below"),
        ("output = \"in/../../out/report\"\n", "must lie below"),
        ("cache = \"/tmp/caulk-cache\"\n", "must lie below"),
        ("output = \".git/config\"\nquiet = true\n", "must lie below"),
        ("cache = \".Git/hooks\"\n", "must lie below"),
    ] {
        let place = Neighbourhood::new(settings);
        place.refused(&[], &[part, "the command line may name"]);
        assert_eq!(fs::read_to_string(place.inside(".git/config")).expect("readable"), "", "{settings}");
    }
}

/// A link in the place of the result itself is replaced, not followed.
#[test]
fn a_result_replaces_a_link() {
    let place = Neighbourhood::new("output = \"report.json\"\nformat = \"json\"\n");
    symlink("../out/file", place.inside("report.json")).expect("writable");
    assert_eq!(place.check(&[]).status, 1);
    place.nothing_left();
    assert!(!place.inside("report.json").is_symlink());
    assert_eq!(
        json(&fs::read_to_string(place.inside("report.json")).expect("written"))["findings"][0]["variable"],
        "p"
    );
}

/// The folder of the settings is the one they are found in.
#[test]
fn settings_that_are_a_link() {
    let place = Neighbourhood::new("");
    fs::write(place.inside("real.toml"), "output = \"report.txt\"\n").expect("writable");
    fs::create_dir(place.all.path("in/sub")).expect("writable");
    fs::rename(place.inside("real.toml"), place.inside("sub/real.toml")).expect("writable");
    fs::remove_file(place.inside("caulk.toml")).expect("it is there");
    symlink("sub/real.toml", place.inside("caulk.toml")).expect("writable");
    assert_eq!(place.check(&[]).status, 1);
    assert!(place.inside("report.txt").exists() && !place.inside("sub/report.txt").exists());
}

#[test]
fn a_cache_that_came_with_the_project() {
    let place = Neighbourhood::new("");
    symlink("../out", place.inside(".caulk")).expect("writable");
    place.refused(&[], &[".caulk is a symbolic link", "--cache DIR", "--no-cache"]);
    fs::remove_file(place.inside(".caulk")).expect("it is there");

    fs::create_dir(place.inside(".caulk")).expect("writable");
    symlink("../../out", place.inside(".caulk/units")).expect("writable");
    place.refused(&[], &["units is a symbolic link"]);
    fs::remove_file(place.inside(".caulk/units")).expect("it is there");

    // A link that leads to nothing yet.
    symlink("../../out/new", place.inside(".caulk/.gitignore")).expect("writable");
    assert_eq!(place.check(&[]).status, 1);
    place.nothing_left();

    // Where no results can be kept, the run only takes longer.
    fs::remove_dir_all(place.inside(".caulk/results")).expect("made");
    symlink("../../out", place.inside(".caulk/results")).expect("writable");
    assert_eq!(place.check(&[]).status, 1);
    place.nothing_left();
}

/// A project that knows how entries are named can ship anything under their names.
#[test]
fn entries_of_the_cache_that_are_no_files() {
    for folder in [".caulk/units", ".caulk/results"] {
        entries_of(folder);
    }
}

fn entries_of(folder: &str) {
    let place = Neighbourhood::new("");
    assert_eq!(place.check(&[]).status, 1);
    let entry = fs::read_dir(place.inside(folder)).expect("made").next().expect("one").expect("readable").path();
    let makers: [&dyn Fn(&Path); 4] = [
        &|path| symlink("../../../out/file", path).expect("writable"),
        &|path| symlink("/dev/zero", path).expect("writable"),
        &make_pipe,
        &make_huge,
    ];
    for make in makers {
        fs::remove_file(&entry).expect("it is there");
        make(&entry);
        assert_eq!(place.check(&[]).status, 1);
        place.nothing_left();
        assert!(fs::symlink_metadata(&entry).expect("stored").is_file(), "the entry is replaced");
    }
}

/// What the user says is done.
#[test]
fn the_command_line_may_name_any_place() {
    let place = Neighbourhood::new("output = \"link/report.json\"\ncache = \"link/cache\"\n");
    let run = place.check(&["-o", "link/report.txt", "--cache", "link/cache", "--write-baseline", "link/known"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    for name in ["out/report.txt", "out/cache/units", "out/known"] {
        assert!(place.all.path(name).exists(), "{name}");
    }
    let run = place.check(&["--format", "html", "-o", "link/pages", "--no-cache", "-o", "link/pages"]);
    assert_eq!(run.status, 2, "an option given twice is a mistake: {}", run.stderr);
    let run = place.check(&["--format", "html", "-o", "link/pages", "--no-cache"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(place.all.path("out/pages/index.html").exists());
    symlink("pages", place.all.path("out/current")).expect("writable");
    assert_eq!(place.check(&["--format", "html", "-o", "../out/current", "--no-cache"]).status, 1);
    assert!(place.all.path("out/current").is_symlink(), "a link to the report stays");
}

/// What is no regular file, or larger than anything that makes sense.
fn make_all(project: &Project) -> Vec<&'static str> {
    make_pipe(&project.path("pipe"));
    make_huge(&project.path("huge"));
    symlink("/dev/zero", project.path("zero")).expect("writable");
    vec!["pipe", "huge", "zero"]
}

#[test]
fn inputs_that_are_no_regular_files() {
    let project = Project::new(&[("leak.c", LEAK), ("sub/.keep", "")]);
    for odd in make_all(&project) {
        let run = |arguments: &[&str]| finished(in_time(project.command(arguments)));
        let reason = if odd == "huge" { "it is larger than" } else { "not a regular file" };
        run(&["check", "leak.c", "--config", odd]).fails(&["cannot read", odd, reason]);
        run(&["check", "leak.c", "--models", odd]).fails(&[odd, "cannot read the model file", reason]);
        run(&["check", "leak.c", "--baseline", odd]).fails(&["as the baseline", odd, reason]);
        let settings = format!("models = [\"{odd}\"]\n");
        fs::write(project.path("caulk.toml"), settings).expect("writable");
        run(&["check", "leak.c"]).fails(&[odd, reason]);
        fs::remove_file(project.path("caulk.toml")).expect("it is there");
        fs::rename(project.path(odd), project.path("caulk.toml")).expect("writable");
        run(&["check", "leak.c"]).fails(&["cannot read caulk.toml", reason]);
        fs::rename(project.path("caulk.toml"), project.path("compile_commands.json")).expect("writable");
        run(&["check"]).fails(&["compile_commands.json"]);
        run(&["check", "-p", "compile_commands.json"]).fails(&["compile_commands.json"]);
        run(&["check", "compile_commands.json"]).fails(&["compile_commands.json"]);
        fs::rename(project.path("compile_commands.json"), project.path("unit.bc")).expect("writable");
        if odd != "huge" {
            run(&["check", "unit.bc"]).fails(&["unit.bc"]);
        }
        fs::rename(project.path("unit.bc"), project.path(odd)).expect("writable");
    }
}

/// A response file that cannot be read is a flag that is not understood, as it is where there is none.
#[test]
fn response_files_that_are_no_regular_files() {
    let entry = r#"[{"directory": "@ROOT@", "file": "a.c", "command": "cc @pipe @huge @zero @none -c a.c"}]"#;
    let project = Project::new(&[("a.c", GOOD), ("compile_commands.json", entry)]);
    make_all(&project);
    assert_eq!(finished(in_time(project.command(&["check"]))).status, 0);
}

/// Sources are read for their words. Without them there is less to show, and the finding is the same.
#[test]
fn sources_that_are_no_regular_files() {
    for odd in ["pipe", "huge", "zero"] {
        let project = Project::new(&[]);
        make_all(&project);
        fs::write(project.path("leak.c"), format!("#line 1 \"{odd}\"\n{LEAK}")).expect("writable");
        let run = |arguments: &[&str]| finished(in_time(project.command(arguments)));
        for format in ["text", "json", "sarif", "github"] {
            let report = run(&["check", "leak.c", "--format", format]);
            assert_eq!(report.status, 1, "{}", report.stderr);
            report.prints(&[odd]);
        }
        assert_eq!(run(&["check", "leak.c", "--format", "html", "-o", "report"]).status, 1);
        run(&["why", &format!("{odd}:3"), "leak.c"]).prints(&["allocated by malloc"]);
        assert_eq!(run(&["prove", "leak.c", "--format", "sarif"]).status, 1);
    }
}

/// A header that is a device is not hashed for the cache.
#[test]
fn a_device_among_the_files_that_were_read() {
    let source = format!("#if __has_include(\"/dev/zero\")\n#endif\n#if __has_include(\"huge\")\n#endif\n{GOOD}");
    let project = Project::new(&[("a.c", &source)]);
    make_huge(&project.path("huge"));
    for _ in 0..2 {
        assert_eq!(finished(in_time(project.command(&["check", "a.c"]))).status, 0);
    }
}

/// git is not run, and its files are read like any other.
#[test]
fn a_repository_that_came_with_the_project() {
    let project = Project::new(&[("leak.c", LEAK), (".git/config", "[remote \"origin\"]\nurl = https://host/x.git\n")]);
    make_pipe(&project.path(".git/HEAD"));
    let run = finished(in_time(project.command(&["check", "leak.c", "--format", "sarif"])));
    assert_eq!(run.status, 1, "{}", run.stderr);
    run.prints(&["\"results\""]);
}
