//! The rules besides `lost` and `forgotten`: what main still holds at exit, and resources that are not closed.

mod project;

use project::{Project, Run, json};

const HELD: &str = "#include <stdlib.h>\nint main(void) {\n    char *p = malloc(10);\n    return 0;\n}\n";

fn rules(run: &Run) -> Vec<(String, u64)> {
    let found = json(&run.stdout);
    let findings = found["findings"].as_array().expect("a list").clone();
    let of = |f: &serde_json::Value| {
        (f["kind"].as_str().expect("a rule").to_owned(), f["loss"]["line"].as_u64().expect("a line"))
    };
    findings.iter().map(of).collect()
}

#[test]
fn what_main_holds_at_exit_is_a_note() {
    let project = Project::with_database(&[("a.c", HELD)], &["a.c"]);
    let run = project.run(&["check", "a.c"]);
    assert_eq!(run.status, 0, "a note is no failure: {}", run.stdout);
    run.prints(&[
        "note[held-at-exit, CWE-401]: `p` allocated by malloc() is still held at exit",
        "a.c:4:5",
        "no leaks, 1 note in 1 file",
    ]);
    let run = project.run(&["check"]);
    assert_eq!(run.status, 0);
    run.prints(&["no leaks\n", "1 object is still held by main at exit; --at-exit shows it"]);
    project.run(&["check", "--at-exit"]).prints(&["note[held-at-exit, "]);
    assert!(!project.run(&["check", "a.c", "--at-exit=false"]).stdout.contains("note["));
    let sarif = json(&project.run(&["check", "a.c", "--format", "sarif"]).stdout);
    let results = sarif["runs"][0]["results"].as_array().expect("a list");
    let levels: Vec<_> = results.iter().map(|result| (&result["ruleId"], &result["level"])).collect();
    assert_eq!(levels, [(&"held-at-exit".into(), &"note".into())]);
    project.run(&["check", "a.c", "--format", "github"]).prints(&["::notice file=a.c,line=4"]);
}

/// What globals reach has an owner, and what main loses before its end is a leak.
#[test]
fn what_is_not_held_at_exit() {
    let globals =
        "#include <stdlib.h>\nstatic char *kept;\nint main(void) {\n    kept = malloc(10);\n    return 0;\n}\n";
    let lost = "#include <stdlib.h>\nint main(int n, char **v) {\n    char *p = malloc(10);\n    if (n > 3)\n        p = v[0];\n    \
        while (n > 4)\n        n--;\n    free(p);\n    return n;\n}\n";
    let project = Project::new(&[("globals.c", globals), ("lost.c", lost)]);
    assert_eq!(rules(&project.run(&["check", "globals.c", "--format", "json"])), []);
    // Also where only main uses the variable, and nothing reads it any more when main returns.
    let used = "#include <stdlib.h>\nstruct S { char *name; int n; };\nstatic struct S *own;\nstruct S *all;\nint main(void) {\n    \
        static struct S *local;\n    own = malloc(sizeof *own);\n    own->n = 1;\n    all = malloc(sizeof *all);\n    \
        all->name = malloc(3);\n    local = malloc(sizeof *local);\n    local->n = 2;\n    return 0;\n}\n";
    let project = Project::new(&[("used.c", used)]);
    assert_eq!(rules(&project.run(&["check", "used.c", "--format", "json"])), []);
    let project = Project::new(&[("globals.c", globals), ("lost.c", lost)]);
    assert_eq!(rules(&project.run(&["check", "lost.c", "--format", "json"])), [("lost".to_owned(), 5)]);
}

#[test]
fn streams_and_directories() {
    let source = "#include <stdio.h>\n#include <dirent.h>\n#include <sys/mman.h>\n\
        int leak(const char *name) {\n    FILE *f = fopen(name, \"r\");\n    if (!f)\n        return -1;\n    return getc(f);\n}\n\
        int fine(const char *name) {\n    FILE *f = fopen(name, \"r\");\n    if (!f)\n        return -1;\n    \
        int c = getc(f);\n    fclose(f);\n    return c;\n}\n\
        int entries(const char *name) {\n    DIR *d = opendir(name);\n    if (!d)\n        return -1;\n    \
        return readdir(d) != 0;\n}\n\
        int map(int fd) {\n    char *p = mmap(0, 10, PROT_READ, MAP_PRIVATE, fd, 0);\n    if (p == MAP_FAILED)\n        \
        return -1;\n    return p[0];\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let found = |more: &[&str]| rules(&project.run(&[&["check", "a.c", "--format", "json"], more].concat()));
    let resource = |line: u64| ("resource".to_owned(), line);
    assert_eq!(found(&[]), [resource(8), resource(22)]);
    assert_eq!(found(&["--resources", "none"]), [resource(22)]);
    assert_eq!(found(&["--resources", "all"]), [resource(8), resource(22), resource(28)]);
    let run = project.run(&["check", "a.c"]);
    assert_eq!(run.status, 1);
    run.prints(&["leak[resource, CWE-775]: `f` opened by fopen() is not closed on return", "2 resource"]);
    project.run(&["explain", "resource"]).prints(&["# resource", "--resources"]);
    project.run(&["explain", "CWE-775"]).prints(&["resource "]);
    project.run(&["explain", "CWE-772"]).prints(&["lost ", "forgotten ", "resource "]);
}

#[test]
fn descriptors() {
    let source = "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n#include <sys/socket.h>\nstruct S { int fd; };\n\
        int leak(const char *n) {\n    int fd = open(n, O_RDONLY);\n    if (fd < 0)\n        return -1;\n    return 0;\n}\n\
        int fine(const char *n) {\n    int fd = open(n, O_RDONLY);\n    if (fd == -1)\n        return -1;\n    close(fd);\n    return 0;\n}\n\
        int given(const char *n) {\n    return open(n, O_RDONLY);\n}\n\
        void kept(struct S *s) {\n    s->fd = socket(1, 2, 3);\n}\n\
        FILE *stream(const char *n) {\n    int fd = open(n, O_RDONLY);\n    if (fd < 0)\n        return NULL;\n    \
        FILE *f = fdopen(fd, \"r\");\n    if (!f)\n        close(fd);\n    return f;\n}\n\
        int served(int s) {\n    int c = accept(s, 0, 0);\n    if (c < 0)\n        return -1;\n    \
        if (write(c, \"x\", 1) != 1)\n        return -2;\n    close(c);\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let all = project.run(&["check", "a.c", "--format", "json", "--resources", "all"]);
    assert_eq!(rules(&all), [("resource".to_owned(), 10), ("resource".to_owned(), 39)], "{}", all.stdout);
    assert_eq!(rules(&project.run(&["check", "a.c", "--format", "json"])), []);
    project
        .run(&["check", "a.c", "--resources", "all"])
        .prints(&["`fd` opened by open() is not closed", "1. `fd` is opened by open()"]);
}

/// A descriptor is lost where its variable's scope ends, and each such place is told.
#[test]
fn where_a_descriptor_is_left_open() {
    let source = "#include <fcntl.h>\n#include <unistd.h>\nint f(const char *p) {\n    int fd = open(p, O_RDONLY);\n    char c;\n    \
        if (fd < 0)\n        return -1;\n    if (read(fd, &c, 1) != 1)\n        return 1;\n    if (c == 'z')\n        goto out;\n    \
        close(fd);\nout:\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    project.run(&["check", "a.c", "--resources", "all", "--report-level", "0"]).prints(&[
        "`fd` opened by open() is not closed on return (in f, a.c:9)",
        "`if (read(fd, &c, 1) != 1)` is taken",
        "close `fd` before line 9, as line 12 does",
        "`fd` opened by open() is not closed on return (in f, a.c:14)",
        "`if (c == 'z')` is taken",
        "close `fd` before line 11, as line 12 does",
    ]);
}

/// What `fcntl` duplicates is a descriptor; what else it does makes none. Both ends of a pair may be closed.
#[test]
fn pairs_and_duplicates() {
    let source = "#include <fcntl.h>\n#include <sys/socket.h>\n#include <unistd.h>\n\
        int again(int fd) {\n    int other = fcntl(fd, F_DUPFD, 3);\n    if (other < 0)\n        return -1;\n    return 0;\n}\n\
        int closed(int fd) {\n    int other = fcntl(fd, F_DUPFD_CLOEXEC, 3);\n    if (other < 0)\n        return -1;\n    \
        close(other);\n    return 0;\n}\n\
        int asked(int fd) {\n    int flags = fcntl(fd, F_GETFL);\n    return flags < 0 ? -1 : 0;\n}\n\
        int both(void) {\n    int ends[2];\n    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)\n        return -1;\n    \
        close(ends[0]);\n    close(ends[1]);\n    return 0;\n}\n\
        int neither(void) {\n    int ends[2];\n    if (pipe(ends) < 0)\n        return -1;\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let run = project.run(&["check", "a.c", "-q", "--resources", "all"]);
    let found: Vec<&str> = run.stdout.lines().map(|line| line.split(" is not").next().unwrap_or_default()).collect();
    assert_eq!(found, ["a.c:8:5: `other` opened by fcntl()", "a.c:33:5: `ends` opened by pipe()"], "{}", run.stdout);
    assert_eq!(project.run(&["check", "-q", "a.c"]).status, 0);
}

/// Either end of a pair, and the ends that a function opens for its caller.
#[test]
fn one_end_of_a_pair() {
    let source = "#include <sys/socket.h>\n#include <unistd.h>\n\
        int first(void) {\n    int ends[2];\n    if (pipe(ends) < 0)\n        return -1;\n    close(ends[1]);\n    return 0;\n}\n\
        int second(void) {\n    int ends[2];\n    if (pipe2(ends, 0))\n        return -1;\n    close(ends[0]);\n    return 0;\n}\n\
        int returned(void) {\n    int ends[2];\n    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1)\n        return -1;\n    \
        close(ends[0]);\n    return ends[1];\n}\n\
        int opened(int *ends) {\n    if (pipe(ends) < 0)\n        return -1;\n    return 0;\n}\n\
        int wrapped(void) {\n    int ends[2];\n    if (opened(ends) < 0)\n        return -1;\n    close(ends[0]);\n    return 0;\n}\n\
        int both(void) {\n    int ends[2];\n    if (opened(ends) < 0)\n        return -1;\n    close(ends[0]);\n    close(ends[1]);\n    return 0;\n}\n\
        struct pair { int id, from, to; };\n\
        int kept(struct pair *p) {\n    int ends[2];\n    if (pipe(ends) < 0)\n        return -1;\n    p->from = ends[0];\n    p->to = ends[1];\n    return 0;\n}\n\
        int half(struct pair *p) {\n    int ends[2];\n    if (pipe(ends) < 0)\n        return -1;\n    p->from = ends[0];\n    return 0;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let run = project.run(&["check", "a.c", "-q", "--resources", "all"]);
    let found: Vec<&str> = run.stdout.lines().map(|line| line.split(" is not").next().unwrap_or_default()).collect();
    let expected = [
        "a.c:8:5: `ends` opened by pipe()",
        "a.c:15:5: `ends` opened by pipe2()",
        "a.c:34:5: `ends` opened by opened()",
    ];
    assert_eq!(found[..3], expected, "{}", run.stdout);
    assert!(run.stdout.contains("(in half)") && found.len() == 4, "{}", run.stdout);
}

const DESCRIPTOR: &str = "#include <fcntl.h>\n#include <unistd.h>\nint first(const char *path) {\n    int fd = open(path, O_RDONLY);\n    \
    char c = 0;\n    if (fd == -1)\n        return -1;\n    if (read(fd, &c, 1) != 1)\n        return -1;\n    close(fd);\n    return c;\n}\n";

/// A descriptor is a number that no memory holds; its variable is named all the same.
#[test]
fn descriptors_have_the_name_of_their_variable() {
    let project = Project::new(&[("a.c", DESCRIPTOR)]);
    let run = project.run(&["check", "-q", "--resources", "all", "a.c"]);
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    run.prints(&["`fd` opened by open() is not closed", "[resource, CWE-775]"]);
    assert_eq!(project.run(&["check", "-q", "a.c"]).status, 0, "only by switch");
}

/// `why` follows what `check` reports.
#[test]
fn why_follows_resources() {
    let stream = "#include <stdio.h>\nint first(const char *path) {\n    FILE *file = fopen(path, \"r\");\n    \
        return file ? fgetc(file) : -1;\n}\n";
    let project = Project::new(&[("a.c", DESCRIPTOR), ("s.c", stream)]);
    project.run(&["why", "s.c:3"]).prints(&[
        "file allocated by fopen()",
        "candidate (not freed, not kept)",
        "confirmed: ",
    ]);
    project.run(&["why", "--resources", "all", "a.c:4"]).prints(&["fd allocated by open()", "confirmed: "]);
    project.run(&["why", "--resources", "none", "s.c:3"]).prints(&["which check reports with --resources"]);
}
