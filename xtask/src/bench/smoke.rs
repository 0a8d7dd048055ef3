//! The whole measurement on two files, where clang is installed. Caulk is played by a script, so that this crate's tests
//! need no build of it; it calls clang as Caulk does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::arguments::CaulkCommand;
use super::clang_flags::ClangFlags;
use super::database::{self, Command};
use super::measure::measure;
use super::project::Project;
use super::report::{Form, Header, Report};
use super::tools::{self, CacheUse, ClangBitcode, Setting};
use super::{Ground, machine};

const CLANG: &str = "clang-19";

/// Finds the clang it is told to use; compiles what follows, up to `--`, or nothing when it is a database.
const PLAYED_CAULK: &str = r#"#!/bin/sh
clang=; source=; flags=
while [ $# -gt 0 ]; do
    case $1 in
    --clang) clang=$2; shift ;;
    -p | --jobs | --cache) shift ;;
    --) shift; flags=$*; break ;;
    *.c) source=$1 ;;
    esac
    shift
done
if [ -n "$source" ]; then
    "$clang" $flags -xc -c -emit-llvm -w -MD -MF "$0.d" -o "$0.bc" -- "$source"
fi
"#;

fn write_project(folder: &Path) -> PathBuf {
    let source = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        Command { directory: folder.to_owned(), file: path, flags: vec!["-DSIZE=8".to_owned()] }
    };
    let commands = [
        source(
            "leak.c",
            "#include <stdlib.h>\nint f(int n) { char *p = malloc(SIZE); if (n) return 1; free(p); return 0; }\n",
        ),
        source("clean.c", "int g(void) { return SIZE; }\n"),
    ];
    let path = folder.join("compile_commands.json");
    database::write(&path, &commands).unwrap();
    path
}

fn lay_ground(folder: &Path) -> Ground {
    let caulk = folder.join("caulk");
    fs::write(&caulk, PLAYED_CAULK).unwrap();
    fs::set_permissions(&caulk, fs::Permissions::from_mode(0o755)).unwrap();
    let flags = ClangFlags::learn(&caulk, "program", Path::new(CLANG), &folder.join("probe")).unwrap();
    assert_eq!(flags, ClangFlags { before: vec![], after: ["-c", "-emit-llvm", "-w"].map(str::to_owned).into() });
    let setting = Setting { jobs: 2, clang: CLANG.into(), peer_limit: None };
    let work = folder.join("work");
    Ground { caulk, command: CaulkCommand::Program, bitcode: ClangBitcode::new(flags), setting, work }
}

#[test]
fn two_files_are_measured_with_every_tool_there_is() {
    if machine::first_line(CLANG, &["--version"]).is_none() {
        eprintln!("skipped: {CLANG} is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ground = lay_ground(folder.path());
    let project = Project::from_database("two", &write_project(folder.path()), &ground.work).unwrap();
    assert_eq!((project.jobs.len(), project.total_lines()), (2, 3));

    let mut entries = ground.entries(2, &[CacheUse::None, CacheUse::Fresh, CacheUse::Warm]);
    for (tool, _) in tools::installed(&ground.bitcode, &ground.setting.clang) {
        entries.push(super::Entry { tool, runs: 1 });
    }
    let result = measure(&project, &mut entries, &ground.setting).unwrap();

    assert_eq!(result.tools[0].runs.len(), 2);
    assert!(result.tools.iter().all(|tool| tool.cpu() > 0.0 && tool.failed_units() == 0), "{result:#?}");
    for peer in &result.tools[4..] {
        assert_eq!(peer.leaks(), Some(1), "{}", peer.tool);
    }
    let header = Header::new(2, &ground.caulk, &ground.setting.clang);
    let text = Report { header, projects: vec![result] }.print(Form::Text);
    assert!(text.contains("two: 2 units, 3 lines") && text.contains("caulk program, warm"), "{text}");
}
