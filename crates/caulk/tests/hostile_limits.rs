//! Projects that try to make Caulk hang, or take all memory, and what is left when Caulk is ended.

mod project;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use project::{GOOD, Project, have, make_executable};

/// A program in the place of clang. It writes its number to `pids` before it does what `body` says.
fn fake_clang(project: &Project, body: &str) -> String {
    let version = "for word; do [ \"$word\" = --version ] && echo clang version 19.1.7 && exit 0; done";
    let pids = project.path("pids").display().to_string();
    fs::write(project.path("fake"), format!("#!/bin/sh\n{version}\necho $$ >> {pids}\n{body}\n")).expect("writable");
    make_executable(&project.path("fake"));
    project.path("fake").display().to_string()
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo can be run").success());
}

#[test]
fn a_unit_that_takes_too_long_is_lost_and_the_rest_goes_on() {
    let endless = "constexpr int f() { unsigned n = 1; while (n) n |= 1; return 0; }\nconstexpr int x = f();\n";
    let project = Project::new(&[("a.c", GOOD), ("fifo.c", "#include \"fifo\"\n"), ("endless.cpp", endless)]);
    make_fifo(&project.path("fifo"));
    let limit = ["check", "--clang-timeout", "2", "a.c", "fifo.c", "endless.cpp", "--", "-fconstexpr-steps=2147483647"];
    let run = project.run(&limit);
    assert_eq!(run.status, 3, "{}", run.stderr);
    run.says(&[
        "caulk: fifo.c was not read: clang took too long and was ended (--clang-timeout SECONDS allows more)",
        "caulk: endless.cpp was not read: clang took too long",
        "1 of 3 units were read",
    ]);
}

/// All tries to find out which flags clang refuses share the time of one unit.
#[test]
fn retries_get_no_more_time() {
    let project = Project::new(&[("a.c", GOOD)]);
    let body = "sleep 0.6; echo \"clang: error: unknown argument: '-fa'\" >&2; \
        for word; do [ \"$word\" = -fa ] && exit 1; done; sleep 1000";
    let fake = fake_clang(&project, body);
    let started = Instant::now();
    let run = project.run(&["check", "--clang", &fake, "--clang-timeout", "1", "a.c", "--", "-fa"]);
    run.fails(&["a.c was not read: clang took too long"]);
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// 2^32 terms, made by macros.
const HUGE: &str =
    "#define A(x) x x x x x x x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nint f(int a) { return a B(B(+1)); }\n";

#[test]
fn a_unit_that_takes_too_much_memory_is_lost() {
    let project = Project::new(&[("a.c", GOOD), ("huge.c", HUGE)]);
    let run = project.run(&["check", "--clang-memory", "600", "a.c", "huge.c"]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    run.says(&["huge.c was not read: clang needed more than 600 MiB of memory (--clang-memory MIB allows more)"]);
}

#[test]
fn a_clang_that_never_stops_talking_is_heard_only_at_first() {
    let project = Project::new(&[("a.c", GOOD)]);
    let fake = fake_clang(&project, "echo 'error: the first' >&2; head -c 300000000 /dev/zero >&2; exit 1");
    project.run(&["check", "--clang", &fake, "a.c"]).fails(&["a.c was not read: error: the first"]);
}

/// A project may ask for less than usual, and not for more.
#[test]
fn settings_lower_the_limits_and_do_not_raise_them() {
    let project = Project::new(&[("a.c", GOOD), ("caulk.toml", "clang-timeout = 1\nclang-memory = 2000\n")]);
    assert_eq!(project.run(&["check", "a.c"]).status, 0);
    let fake = fake_clang(&project, "sleep 1000");
    project.run(&["check", "--clang", &fake, "a.c"]).fails(&["clang took too long"]);
    for (key, value) in
        [("clang-timeout", "301"), ("clang-timeout", "0"), ("clang-memory", "4097"), ("clang-memory", "100")]
    {
        fs::write(project.path("caulk.toml"), format!("{key} = {value}\n")).expect("writable");
        project.run(&["check", "a.c"]).fails(&[&format!("caulk.toml: {key} is from "), "on the command line"]);
    }
    project.run(&["check", "--clang-timeout", "0", "a.c"]).fails(&["--clang-timeout"]);
}

/// What clang looked at counts as read, and some of it never ends.
#[test]
fn devices_are_not_hashed() {
    let source = format!("#if __has_include(\"/dev/zero\")\n#endif\n{GOOD}");
    let project = Project::new(&[("a.c", &source), ("b.c", GOOD)]);
    for _ in 0..2 {
        let run = project.run(&["check", "a.c", "b.c"]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let kept = fs::read_dir(project.path(".caulk/units")).expect("the cache is there").count();
        assert_eq!(kept, 1, "b.c alone is kept");
    }
}

/// `#line` can name any file as the source.
#[test]
fn a_source_that_is_a_device_is_not_read() {
    let source =
        "#include <stdlib.h>\n#line 1 \"/dev/zero\"\nint leak(int n) {\nchar *p = malloc(n);\nreturn p != 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    for arguments in
        [&["check", "a.c"][..], &["why", "/dev/zero:2", "a.c"], &["check", "--format", "html", "-o", "out", "a.c"]]
    {
        let run = project.run(arguments);
        assert!(run.status < 2, "{arguments:?}: {}", run.stderr);
    }
}

/// A cache that came with the project can hold anything under the name of an entry.
#[test]
fn an_entry_of_the_cache_that_is_no_file_is_no_entry() {
    let project = Project::new(&[("a.c", GOOD)]);
    assert_eq!(project.run(&["check", "a.c"]).status, 0);
    let units = fs::read_dir(project.path(".caulk/units")).expect("the cache is there");
    let entry = units.map(|e| e.expect("readable").path()).next().expect("a.c is kept");
    fs::remove_file(&entry).expect("it is there");
    make_fifo(&entry);
    assert_eq!(project.run(&["check", "a.c"]).status, 0);
    fs::remove_file(&entry).expect("it is there");
    std::os::unix::fs::symlink("/dev/zero", &entry).expect("writable");
    assert_eq!(project.run(&["check", "a.c"]).status, 0);
}

#[test]
fn any_number_of_jobs_is_taken() {
    let project = Project::new(&[("a.c", GOOD), ("b.c", "int b;\n")]);
    assert_eq!(project.run(&["check", "--jobs", "5000", "a.c", "b.c"]).status, 0);
    fs::write(project.path("caulk.toml"), "jobs = 100000000\n").expect("writable");
    assert_eq!(project.run(&["check", "a.c", "b.c"]).status, 0);
}

/// Starts Caulk, with temporary files in a folder of the project, and waits until its clangs run.
fn start(project: &Project, arguments: &[&str], clangs: usize) -> (Child, Vec<String>) {
    let temporary = temporary(project);
    fs::create_dir_all(&temporary).expect("writable");
    let mut command = project.command(arguments);
    command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
    let caulk = command.spawn().expect("caulk can be run");
    let pids = || fs::read_to_string(project.path("pids")).unwrap_or_default();
    wait_until(|| pids().lines().count() >= clangs);
    assert!(temporary.read_dir().expect("it is there").next().is_some(), "temporary files are in use");
    let pids = pids().lines().map(str::to_owned).collect();
    (caulk, pids)
}

fn temporary(project: &Project) -> PathBuf {
    project.path("temporary")
}

fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "it does not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A zombie does not run: who started it has only not asked yet.
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
    assert!(sent.expect("kill can be run").success());
}

/// No clang survives, nor what a wrapper of clang started, and no temporary folder stays.
#[test]
fn a_signal_ends_all_children_and_leaves_no_temporary_folder() {
    use std::os::unix::process::ExitStatusExt;
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        // Who starts the tests with `nohup` has the signal ignored, and then it stays so: see the test for that.
        if is_ignored(number) {
            continue;
        }
        let project = Project::new(&[("a.c", GOOD), ("b.c", GOOD)]);
        let pids = project.path("pids").display().to_string();
        let fake = fake_clang(&project, &format!("sleep 1000 & echo $! >> {pids}; wait"));
        let (mut caulk, pids) = start(&project, &["check", "--jobs", "2", "--clang", &fake, "a.c", "b.c"], 4);
        send(signal, &caulk);
        let status = caulk.wait().expect("it ends");
        assert_eq!(status.signal(), Some(number), "who waits for Caulk sees the signal");
        wait_until(|| !pids.iter().any(|pid| is_running(pid)));
        let left: Vec<_> = temporary(&project).read_dir().expect("it is there").collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
    }
}

/// Whether a signal is ignored here, as the kernel says.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a line of it");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a hexadecimal number");
    mask & (1 << (signal - 1)) != 0
}

#[test]
fn no_clang_survives_when_caulk_is_killed() {
    let project = Project::new(&[("a.c", GOOD), ("b.c", GOOD)]);
    let fake = fake_clang(&project, "exec sleep 1000");
    let (mut caulk, pids) = start(&project, &["check", "--jobs", "2", "--clang", &fake, "a.c", "b.c"], 2);
    send("KILL", &caulk);
    caulk.wait().expect("it ends");
    wait_until(|| !pids.iter().any(|pid| is_running(pid)));
}

/// The same with the real clang, which waits for a header that never comes.
#[test]
fn no_real_clang_survives() {
    let project = Project::new(&[("a.c", "#include \"fifo\"\n")]);
    make_fifo(&project.path("fifo"));
    for signal in ["TERM", "KILL"] {
        fs::write(
            project.path("wrapper"),
            format!("#!/bin/sh\necho $$ >> {}\nexec clang-19 \"$@\"\n", project.path("pids").display()),
        )
        .expect("writable");
        make_executable(&project.path("wrapper"));
        // The version comes first.
        let (mut caulk, pids) = start(&project, &["check", "--clang", "./wrapper", "a.c"], 2);
        send(signal, &caulk);
        caulk.wait().expect("it ends");
        wait_until(|| !pids.iter().any(|pid| is_running(pid)));
        fs::remove_file(project.path("pids")).expect("it is there");
    }
}

/// `nohup caulk check`: what was ignored from the start stays ignored.
#[test]
fn an_ignored_signal_stays_ignored() {
    let project = Project::new(&[("a.c", GOOD)]);
    let fake = fake_clang(&project, "sleep 1; echo late > late; exit 1");
    fs::create_dir_all(temporary(&project)).expect("writable");
    let script = format!("trap '' HUP; exec {} check --clang {fake} a.c", env!("CARGO_BIN_EXE_caulk"));
    let mut command = Command::new("sh");
    command.current_dir(project.root()).args(["-c", &script]).stderr(Stdio::null());
    let mut caulk = command.spawn().expect("there is a shell");
    wait_until(|| project.path("pids").exists());
    send("HUP", &caulk);
    assert_eq!(caulk.wait().expect("it ends").code(), Some(2), "the one unit is lost, by an end of its own");
    assert!(project.path("late").exists());
}

#[test]
fn a_recorded_build_ends_with_caulk() {
    if !have("bear") {
        return;
    }
    let project = Project::new(&[("a.c", GOOD)]);
    let build = format!("echo $$ >> {}; exec sleep 1000", project.path("pids").display());
    for signal in ["INT", "TERM"] {
        let (mut caulk, pids) = start(&project, &["capture", "--", "sh", "-c", &build], 1);
        send(signal, &caulk);
        caulk.wait().expect("it ends");
        wait_until(|| !pids.iter().any(|pid| is_running(pid)));
        let left = || temporary(&project).read_dir().expect("it is there").filter(|e| is_ours(e.as_ref().ok())).count();
        assert_eq!(left(), 0);
        fs::remove_file(project.path("pids")).expect("it is there");
    }
}

/// bear has temporary folders of its own.
fn is_ours(entry: Option<&fs::DirEntry>) -> bool {
    entry.is_some_and(|entry| entry.file_name().to_string_lossy().starts_with("caulk-"))
}
