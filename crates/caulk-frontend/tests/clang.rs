//! Which clang is used, what it is given, and the outcome for units it refuses.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use caulk_frontend::{Clang, Config};
use common::{Project, config, printed, reason};

const GOOD: &str = "int good(void) { return 1; }\n";

/// An executable that prints `text`, whatever it is asked.
fn fake_clang(project: &Project, text: &str) -> PathBuf {
    project.write("fake-clang", format!("#!/bin/sh\necho '{text}'\n"));
    let path = project.path("fake-clang");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
    path
}

fn clang_error(path: &Path) -> String {
    Clang::find(Some(path)).expect_err("no clang 19").to_string()
}

/// Makes bitcode as another tool would.
fn compile(project: &Project, flags: &[&str], output: &str) {
    let mut command = Command::new("clang-19");
    command.current_dir(project.root()).args(["-c", "-g", "-O1", "-o", output, "good.c"]).args(flags);
    assert!(command.status().expect("clang 19 can be run").success());
}

#[test]
fn a_clang_that_is_not_there() {
    let message = clang_error(Path::new("/nowhere/clang"));
    assert!(message.contains("clang 19 was not found (looked for /nowhere/clang)"), "{message}");
    assert!(message.contains("apt-get install clang-19") && message.contains("--clang PATH"), "{message}");
}

#[test]
fn a_clang_of_another_version() {
    let project = Project::new(&[]);
    let message = clang_error(&fake_clang(&project, "Debian clang version 14.0.6"));
    assert!(message.contains("fake-clang is clang 14, but Caulk reads what clang 19 writes"), "{message}");
}

#[test]
fn a_program_that_is_no_clang() {
    let project = Project::new(&[("plain.txt", "no program")]);
    let message = clang_error(&fake_clang(&project, "gcc (Debian 12.2.0) 12.2.0"));
    assert!(message.contains("gcc (Debian 12.2.0)") && message.contains("--clang PATH"), "{message}");
    let message = clang_error(&project.path("plain.txt"));
    assert!(message.contains("plain.txt could not be run: Permission denied"), "{message}");
}

/// A compiler that dies, or says nothing, costs its unit and no more.
#[test]
fn a_clang_that_breaks_in_the_middle() {
    let project = Project::new(&[("good.c", GOOD)]);
    let script = |body: &str| {
        let path = fake_clang(&project, "clang version 19.1.7");
        let version = "[ \"$1\" = --version ] && echo clang version 19.1.7 && exit 0";
        fs::write(&path, format!("#!/bin/sh\n{version}\n{body}\n")).expect("our own file");
        Config { clang: Clang::find(Some(&path)).expect("it says so"), ..config() }
    };
    let lost = |body: &str| reason(&project.read(&["good.c"], &[], &script(body))[0]).to_owned();
    assert_eq!(lost("kill -9 $$"), "clang was killed and said nothing");
    assert_eq!(
        lost("echo 'PLEASE submit a bug report' >&2; kill -11 $$"),
        "clang was killed: PLEASE submit a bug report"
    );
    assert_eq!(lost("exit 1"), "clang failed and said nothing");
    assert!(lost("exit 0").contains("cannot read"), "{}", lost("exit 0"));
}

#[test]
fn a_unit_that_does_not_compile_is_named_and_the_rest_goes_on() {
    let bad = "int good(void);\nint bad(void) { return x; }\nint worse(void) { return y; }\n";
    let project = Project::new(&[("bad.c", bad), ("good.c", GOOD), ("include.c", "#include \"none.h\"\n")]);
    let results = project.read(&["bad.c", "good.c", "include.c"], &[], &config());
    assert_eq!(results[0].as_ref().expect_err("bad").source, "bad.c");
    assert!(reason(&results[0]).ends_with("bad.c:2:24: error: use of undeclared identifier 'x'"), "{results:?}");
    assert!(printed(&results[1]).contains("define @good()"));
    assert!(reason(&results[2]).ends_with("include.c:1:10: fatal error: 'none.h' file not found"), "{results:?}");
}

/// Warnings of any kind, and the laxness of old C, are no reason to lose a unit.
#[test]
fn what_gcc_lets_pass_is_read() {
    let old = "main() { char *p = malloc(3); int n = p; return n; }\n";
    let project = Project::new(&[("old.c", old)]);
    let results = project.read(&["old.c"], &["-Werror", "-Wall", "-pedantic-errors", "-std=gnu99"], &config());
    assert!(printed(&results[0]).contains("define @main()"));
}

#[test]
fn flags_only_gcc_knows_are_dropped() {
    let project = Project::new(&[("good.c", GOOD)]);
    let flags =
        ["-fno-such-flag-of-gcc", "-DKEPT=1", "--param=no-such-parameter=3", "-fanother-unknown=2", "-mno-such"];
    let results = project.read(&["good.c"], &flags, &config());
    assert!(printed(&results[0]).contains("define @good()"));
}

#[test]
fn bitcode_and_its_text_form_are_units() {
    let project = Project::new(&[("good.c", GOOD)]);
    compile(&project, &["-emit-llvm"], "good.bc");
    compile(&project, &["-emit-llvm", "-S"], "good.ll");
    let results = project.read(&["good.bc", "good.ll"], &[], &config());
    for result in &results {
        assert!(
            printed(result).contains("return 1                                       @ 1:18"),
            "{}",
            printed(result)
        );
    }
}

/// Bitcode that was optimised before: promoted by LLVM, inlined, with what is left of its debug info.
#[test]
fn optimised_bitcode_is_read() {
    let source = "struct s { int n; char *p; };\nint use(char *, int);\n\
                  static int twice(struct s *s, int x) { char *p = s->p; return use(p, x * 2); }\n\
                  int good(struct s *s, int n) {\n  int t = 0;\n  for (int i = 0; i < n; i++)\n    t += twice(s, i);\n  return t;\n}\n";
    let project = Project::new(&[("good.c", source)]);
    compile(&project, &["-emit-llvm", "-O2"], "good.bc");
    let text = printed(&project.read(&["good.bc"], &[], &config())[0]);
    for part in ["define @good(s: ptr", "n: i32", "bind p, %", "@ 3:63 inlined twice at 7:10"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn broken_bitcode_is_a_lost_unit() {
    let project =
        Project::new(&[("good.c", GOOD), ("text.bc", "not bitcode"), ("empty.bc", ""), ("bad.ll", "define {")]);
    compile(&project, &["-emit-llvm"], "whole.bc");
    let whole = fs::read(project.path("whole.bc")).expect("just written");
    project.write("cut.bc", &whole[..whole.len() / 2]);
    let flipped: Vec<u8> = whole.iter().enumerate().map(|(i, b)| if i % 7 == 6 { b ^ 0x41 } else { *b }).collect();
    project.write("flipped.bc", flipped);
    compile(&project, &[], "object.bc");
    let sources = ["text.bc", "cut.bc", "flipped.bc", "object.bc", "bad.ll"];
    for result in project.read(&sources, &[], &config()) {
        assert!(reason(&result).starts_with("not bitcode that clang 19 can read: "), "{result:?}");
    }
    // An empty file is an empty module in the text form, and LLVM takes it for that.
    assert!(printed(&project.read(&["empty.bc"], &[], &config())[0]).starts_with("unit \"empty.bc\""));
}

#[test]
fn the_number_of_threads_makes_no_difference() {
    let names: Vec<String> = (0..8).map(|i| format!("{i}.c")).collect();
    let project = Project::new(&[]);
    for (number, name) in names.iter().enumerate() {
        let broken = if number == 3 { "?" } else { "" };
        project.write(
            name,
            format!("struct s{number} {{ int *a; }};\nint *f(struct s{number} *s) {{ return s->a; }}{broken}\n"),
        );
    }
    let sources: Vec<&str> = names.iter().map(String::as_str).collect();
    let read = |threads| -> Vec<Result<Vec<u8>, String>> {
        let results = project.read(&sources, &[], &Config { threads, ..config() });
        results.into_iter().map(|r| r.map(|u| u.unit.to_bytes()).map_err(|lost| lost.reason)).collect()
    };
    let one = read(1);
    assert_eq!(one.iter().filter(|r| r.is_err()).count(), 1);
    assert_eq!(one, read(4));
}

/// The library's own headers differ from machine to machine, so only what must be in any of them is asked for.
#[test]
fn the_standard_library_is_read() {
    let source = "#include <map>\n#include <memory>\n#include <string>\n#include <vector>\n\
        std::map<std::string, std::vector<int>> all;\n\
        int *keep(int n) {\n  std::vector<std::unique_ptr<int>> owned;\n  owned.push_back(std::make_unique<int>(n));\n\
          all[\"n\"].push_back(n);\n  if (n > 3)\n    return owned.back().release();\n  return new int(n);\n}\n";
    let project = Project::new(&[("library.cpp", source)]);
    let results = project.read(&["library.cpp"], &["-std=c++17"], &config());
    let unit = results.into_iter().next().expect("one job, one result").expect("it compiles").unit.unpack();
    let keep = unit.function_by_symbol("_Z4keepi").expect("keep is defined");
    let body = unit.functions[keep].body.as_ref().expect("keep has a body");
    let returns = body.insts.iter().filter(|(_, i)| matches!(i, caulk_ir::Inst::Return { .. }));
    let lines: Vec<u32> = returns.map(|(id, _)| body.place(id).line).collect();
    assert!(lines.contains(&11) && lines.contains(&12), "{lines:?}");
    let calls = |symbol: &str| unit.functions.keys().any(|f| unit.symbol(f) == symbol);
    assert!(calls("_Znwm") && unit.structs.values().any(|s| unit.str(s.name).contains("vector")));
    let text = caulk_ir::text::print_unit(&unit);
    let again = caulk_ir::text::parse_unit(&text).unwrap_or_else(|error| panic!("{error}"));
    assert!(caulk_ir::text::print_unit(&again) == text);
}
