//! A server that keeps what it found out gives the same report, byte by byte, as one that has just been started, whatever was changed
//! in between; and so does a run of `check` that finds in the cache what the run before left there.

mod client;
mod project;

use std::fs;
use std::path::PathBuf;

use client::Client;
use project::{LEAK, Project, finished};
use serde_json::{Value, json};

/// Functions of the project, spread over its files.
const FUNCTIONS: usize = 24;
const FILES: usize = 4;
const SEEDS: u64 = 3;
const EDITS: usize = 14;

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// A project that can be changed at random.
struct Source {
    /// By function: its kind, and numbers that its code is made with.
    bodies: Vec<Option<[usize; 4]>>,
    /// By file: what stands above its functions.
    above: Vec<String>,
    /// Fields of the structure besides the first two.
    fields: usize,
    debug: usize,
}

impl Source {
    fn new(random: &mut Random) -> Self {
        let body = |random: &mut Random| Some([0; 4].map(|_| random.below(1000)));
        let bodies = (0..FUNCTIONS).map(|_| body(random)).collect();
        Self { bodies, above: vec![String::new(); FILES], fields: 0, debug: 0 }
    }

    /// Changes something, and says what.
    fn edit(&mut self, random: &mut Random) -> String {
        let (function, file) = (random.below(FUNCTIONS), random.below(FILES));
        match random.below(8) {
            0 => {
                self.above[file].push_str("/* moved */\n\n");
                format!("lines above file {file}")
            }
            1 => {
                let text = format!(
                    "static const char *text_{}(void) {{ return \"{}\"; }}\n",
                    self.above[file].len(),
                    random.below(99)
                );
                self.above[file].push_str(&text);
                format!("a function and a literal in file {file}")
            }
            2 => {
                self.above[file].clear();
                format!("nothing above file {file}")
            }
            3 => {
                self.fields = (self.fields + 1) % 3;
                format!("{} fields", self.fields)
            }
            4 => {
                self.debug = 1 - self.debug;
                format!("debug is {}", self.debug)
            }
            5 => {
                self.bodies[function] = None;
                format!("no function {function}")
            }
            _ => {
                self.bodies[function] = Some([0; 4].map(|_| random.below(1000)));
                format!("another function {function}")
            }
        }
    }

    fn header(&self) -> String {
        let fields: String = (0..self.fields).map(|n| format!("    char *more{n};\n")).collect();
        let declared: String =
            (0..FUNCTIONS).map(|n| format!("char *f{n}(char *p, int n, struct box *o);\n")).collect();
        format!(
            "#include <stdlib.h>\n#include <string.h>\nstruct box {{\n    char *a;\n{fields}    struct box *next;\n}};\n\
             extern struct box *boxes;\nextern int debug;\n{declared}"
        )
    }

    fn file(&self, file: usize) -> String {
        let own: String = (0..FUNCTIONS).filter(|n| n % FILES == file).filter_map(|n| self.function(n)).collect();
        let globals = match file {
            0 => format!(
                "struct box *boxes;\nint debug = {};\nint main(void) {{ return f0(0, 1, boxes) != 0; }}\n",
                self.debug
            ),
            _ => String::new(),
        };
        format!("#include \"all.h\"\n{}{globals}{own}", self.above[file])
    }

    fn function(&self, number: usize) -> Option<String> {
        let [kind, a, b, size] = self.bodies[number]?;
        let (a, b) = (a % FUNCTIONS, b % FUNCTIONS);
        let body = match kind % 12 {
            0 => format!("char *q = malloc(n); if (!q) return 0; if (n > {size}) return 0; free(q); return p;"),
            1 => format!("char *q = f{a}(p, n, o); if (n > {size}) return 0; free(q); return 0;"),
            2 => format!("char *q = malloc({size}); return q;"),
            3 => "free(p); return 0;".to_owned(),
            4 => "if (debug) free(p); return 0;".to_owned(),
            5 => format!("o->a = f{a}(p, {size}, o); return 0;"),
            6 => "free(o->a); free(o); return 0;".to_owned(),
            7 => format!("if (n == 0) return p; return f{a}(f{b}(p, n - 1, o), n - 1, o);"),
            8 => format!("char *q = strdup(\"{size}\"); f{a}(q, n, o); return 0;"),
            9 => format!(
                "struct box *made = malloc(sizeof *made); if (!made) return 0; made->a = strdup(p); if (n > {size}) {{ free(made); return 0; }} made->next = boxes; boxes = made; return 0;"
            ),
            10 => format!(
                "char *(*then)(char *, int, struct box *) = n ? f{a} : f{b}; return then(malloc({size}), n, o);"
            ),
            _ => format!("char *q = f{a}(p, {size}, o); if (q) {{ f{b}(q, n, o); }} return 0;"),
        };
        Some(format!("char *f{number}(char *p, int n, struct box *o)\n{{\n    {}\n}}\n", body.replace("; ", ";\n    ")))
    }

    fn write(&self, project: &Project) {
        let write = |name: &str, text: String| {
            let path = project.path(name);
            if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
                std::fs::write(path, text).expect("writable");
            }
        };
        write("all.h", self.header());
        (0..FILES).for_each(|n| write(&format!("file{n}.c"), self.file(n)));
    }
}

fn report(client: &mut Client) -> String {
    let answer = client.ask("workspace/executeCommand", json!({ "command": "caulk.report", "arguments": [] }));
    answer["result"].as_str().unwrap_or_else(|| panic!("no report: {answer}")).to_owned()
}

#[test]
fn what_is_kept_changes_no_byte_of_the_report() {
    let files: Vec<String> = (0..FILES).map(|n| format!("file{n}.c")).collect();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut reused = 0;
    for seed in 1..=SEEDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut source = Source::new(&mut random);
        let project = Project::with_database(&[], &names);
        source.write(&project);
        let mut kept = Client::start_with(&project, &["lsp", "--cache", "cache"]);
        let mut done = vec!["nothing".to_owned()];
        for _ in 0..EDITS {
            let said = report(&mut kept);
            let mut fresh = Client::start_with(&project, &["lsp", "--cache", "cache"]);
            assert_eq!(said, report(&mut fresh), "seed {seed}, after {done:?}");
            fresh.stop();
            done.push(source.edit(&mut random));
            source.write(&project);
            let uri = format!("file://{}", project.path("all.h").display());
            kept.tell("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
        }
        // The last analysis is over before the server is asked to end.
        report(&mut kept);
        reused += logged(&kept).filter(|(made, all)| made < all).count();
        kept.stop();
    }
    assert!(reused > EDITS / 2, "hardly anything was kept: {reused}");
}

/// How many looks at functions were made, and how many there are, for each analysis.
fn logged(client: &Client) -> impl Iterator<Item = (u32, u32)> + '_ {
    let numbers = |message: &Value| {
        let text = message["params"]["message"].as_str()?;
        let (before, after) = text.split_once(" looks at functions")?.0.rsplit_once(" of ")?;
        Some((before.rsplit_once(' ')?.1.parse().ok()?, after.parse().ok()?))
    };
    client.seen.iter().filter(|m| m["method"] == "window/logMessage").filter_map(numbers)
}

/// The report of `check`, with the key of the cache in this folder; without a folder nothing is kept but units.
fn checked(project: &Project, state: Option<&str>, more: &[&str]) -> Value {
    let mut command = project.command(&[&["check", "-q", "-p", ".", "--format", "json"], more].concat());
    // Below a file no folder can be made.
    command.env("XDG_STATE_HOME", project.path(state.unwrap_or("all.h/none")));
    let run = finished(command.output().expect("caulk can be run"));
    assert_eq!(run.stderr, "");
    let mut report: Value = serde_json::from_str(&run.stdout).expect("a report");
    // When it was made, and with which options.
    report.as_object_mut().expect("an object").remove("run");
    report
}

/// Files of results in the cache.
fn results(project: &Project) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.path(".caulk/results")).into_iter().flatten();
    entries.map(|entry| entry.expect("readable").path()).collect()
}

#[test]
fn what_the_last_run_left_changes_no_byte_of_the_report() {
    let files: Vec<String> = (0..FILES).map(|n| format!("file{n}.c")).collect();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    for seed in 1..=SEEDS {
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut source = Source::new(&mut random);
        let project = Project::with_database(&[], &names);
        source.write(&project);
        let mut done = vec!["nothing".to_owned()];
        for _ in 0..EDITS {
            // Sometimes only a part is asked about.
            let part: &[&str] = if random.below(3) == 0 { &["file1.c"] } else { &[] };
            let kept = checked(&project, Some("state"), part);
            assert_eq!(kept, checked(&project, None, part), "seed {seed}, {part:?}, after {done:?}");
            done.push(source.edit(&mut random));
            source.write(&project);
        }
        assert_eq!(results(&project).len(), 1, "one file for one database");
    }
}

#[test]
fn what_did_not_change_is_not_found_out_again() {
    let project = Project::with_database(&[("a.c", LEAK), ("all.h", "")], &["a.c"]);
    let first = checked(&project, Some("state"), &[]);
    let [file] = results(&project).try_into().expect("one file of results");
    let written = || fs::metadata(&file).and_then(|found| found.modified()).expect("a file");
    let before = written();
    assert_eq!(checked(&project, Some("state"), &[]), first);
    assert_eq!(written(), before, "there was nothing to write");
    fs::write(project.path("a.c"), LEAK.replace("p[0] = 1;", "p[0] = 1;\n    free(p);")).expect("writable");
    assert_ne!(checked(&project, Some("state"), &[]), first);
    assert_ne!(written(), before);
}

/// What another user or a project put into the cache is not used.
#[test]
fn results_of_others_do_not_count() {
    let project = Project::with_database(&[("a.c", LEAK), ("all.h", "")], &["a.c"]);
    let first = checked(&project, Some("state"), &[]);
    let [file] = results(&project).try_into().expect("one file of results");
    let sealed = fs::read(&file).expect("readable");
    for state in ["state", "other"] {
        for at in [0, 40, sealed.len() / 2, sealed.len() - 1] {
            let mut bytes = sealed.clone();
            bytes[at] ^= 1;
            fs::write(&file, bytes).expect("writable");
            assert_eq!(checked(&project, Some(state), &[]), first, "byte {at}");
        }
    }
    fs::write(&file, &sealed).expect("writable");
    assert_eq!(checked(&project, Some("other"), &[]), first);
    assert_ne!(fs::read(&file).expect("readable"), sealed, "with another key it is made again");
}
