//! Recording real builds with bear.

mod common;

use caulk_capture::{CaptureError, read_database, record};
use caulk_process::Lifeline;
use common::{Project, have, listing};
use std::path::Path;

const MAKEFILE: &str = "\
all: a.o b.o probe
a.o: a.c
\tcc -DVERSION='\"1.0\"' -c a.c -o a.o
b.o: b.c
\tcc -Iinc -c b.c -o b.o
probe:
\techo 'int x;' > conftest.c && cc -c conftest.c -o conftest.o && rm -f conftest.c conftest.o
fail: a.o
\tfalse
nothing:
\t@true
";

fn project() -> Project {
    Project::new(&[("a.c", "int a;\n"), ("b.c", "int b;\n"), ("Makefile", MAKEFILE)])
}

fn make(project: &Project, arguments: &[&str]) -> Result<caulk_capture::Recorded, CaptureError> {
    let command: Vec<String> = ["make", "-s"].iter().chain(arguments).map(|w| w.to_string()).collect();
    record(&command, Path::new("compile_commands.json"), &project.root(), &Lifeline::default())
}

#[test]
fn a_make_build() {
    if !have("bear") || !have("make") || !have("cc") {
        return;
    }
    let project = project();
    let recorded = make(&project, &["-j2"]).expect("the build is recorded");
    assert!(recorded.build_succeeded());
    assert_eq!(recorded.entries, 2);
    assert_eq!(listing(&project.jobs()), ["a.c: -DVERSION=\"1.0\" -xc", "b.c: -Iinc -xc"]);
    let entries = read_database(&project.root().join("compile_commands.json")).expect("readable");
    assert_eq!(entries[0].output.as_deref().map(|o| o.ends_with("a.o")), Some(true));
}

#[test]
fn a_failed_build_leaves_what_it_got_to() {
    if !have("bear") || !have("make") || !have("cc") {
        return;
    }
    let project = project();
    let recorded = make(&project, &["fail"]).expect("one file was compiled");
    assert_eq!((recorded.build_status, recorded.entries), (Some(2), 1));
}

#[test]
fn a_build_that_compiles_nothing_keeps_the_old_database() {
    if !have("bear") || !have("make") {
        return;
    }
    let project = project();
    let database = project.root().join("compile_commands.json");
    std::fs::write(&database, "old").expect("writable");
    let error = make(&project, &["nothing"]).expect_err("nothing was compiled");
    assert!(matches!(error, CaptureError::NothingRecorded { status: Some(0) }), "{error}");
    assert_eq!(std::fs::read_to_string(&database).expect("readable"), "old");
}
