//! LeakSanitizer as the judge of the known answers: each function runs on all inputs in a process of its own.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::run::INPUTS;

/// What a process ends with that has found a leak.
const LEAKS: i32 = 7;

const CHECK: &str = "int __lsan_do_recoverable_leak_check(void);\nvoid _exit(int);\n\
    /* Takes away what calls have left on the stack. */\n\
    __attribute__((noinline)) static void scrub(void) { volatile char room[16384]; \
    for (unsigned i = 0; i < sizeof room; i++) room[i] = 0; }\n";

/// Whether LeakSanitizer works here: it needs its libraries, and must be allowed to look at a process.
pub(crate) fn probe() -> Result<(), String> {
    let text = format!(
        "#include <stdlib.h>\n{CHECK}static void leak(void) {{ char *volatile p = malloc(8); p = 0; }}\n\
         int main(void) {{ leak(); scrub(); _exit(__lsan_do_recoverable_leak_check() ? {LEAKS} : 0); }}\n"
    );
    let output = build_and_run(&text)?;
    match output.status.code() {
        Some(LEAKS) => Ok(()),
        _ => Err(format!("{}: {}", output.status, last_line(&output.stderr))),
    }
}

/// Of each function of a unit, `f0` and so on, whether it leaks on any input. `call` is a body in C that calls `f` with `a`, `b` and a box.
pub(crate) fn leaking(unit: &str, count: usize, call: &str) -> Result<Vec<bool>, String> {
    let output = build_and_run(&harness(unit, count, call))?;
    if !output.status.success() {
        return Err(format!("the generated program failed, {}: {}", output.status, last_line(&output.stderr)));
    }
    let answers = String::from_utf8_lossy(&output.stdout);
    let last = answers.lines().rev().find(|line| line.starts_with("answers ")).ok_or("there are no answers")?;
    Ok(last.trim_start_matches("answers ").chars().map(|c| c == '1').collect())
}

/// A child for each function; what it says goes by its exit status.
fn harness(unit: &str, count: usize, call: &str) -> String {
    let mut text = unit.to_owned();
    text += CHECK;
    text += "#include <sys/wait.h>\n#include <unistd.h>\n#include <string.h>\n\
             typedef int function(int, int, struct box *);\nstatic function *all[] = {";
    for index in 0..count {
        write!(text, "f{index}, ").expect("strings take all");
    }
    let inputs = INPUTS.map(|n| n.to_string()).join(", ");
    text += "};\n";
    write!(
        text,
        "static int inputs[] = {{{inputs}}};\n\
         enum {{ INPUTS = sizeof inputs / sizeof *inputs, COUNT = sizeof all / sizeof *all }};\n\
         __attribute__((noinline)) static void call_one(function *f, int a, int b)\n\
         {{ {call} }}\n\
         int main(void)\n{{\n    static char answers[COUNT + 1];\n    if (!freopen(\"/dev/null\", \"w\", stderr)) return 1;\n\
         for (int i = 0; i < COUNT; i++) {{\n        int status = 0;\n        pid_t child = fork();\n        if (child == 0) {{\n\
         if (!freopen(\"/dev/null\", \"w\", stdout)) _exit(1);\n\
         for (int j = 0; j < INPUTS * INPUTS; j++) call_one(all[i], inputs[j / INPUTS], inputs[j % INPUTS]);\n\
         scrub();\n            _exit(__lsan_do_recoverable_leak_check() ? {LEAKS} : 0);\n        }}\n\
         waitpid(child, &status, 0);\n\
         if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != {LEAKS})) return 2;\n\
         answers[i] = WEXITSTATUS(status) ? '1' : '0';\n    }}\n    printf(\"answers %s\\n\", answers);\n    fflush(stdout);\n\
         _exit(0);\n}}\n"
    )
    .expect("strings take all");
    text
}

fn build_and_run(text: &str) -> Result<Output, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (source, program) = (folder.path().join("judged.c"), folder.path().join("judged"));
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    let built = clang(&source, &program)?;
    if !built.status.success() {
        return Err(format!("clang: {}", last_line(&built.stderr)));
    }
    Command::new(&program).output().map_err(|e| e.to_string())
}

fn clang(source: &Path, program: &Path) -> Result<Output, String> {
    let flags = ["-g", "-O0", "-w", "-fsanitize=address", "-o"];
    let run = |name: &str| Command::new(name).args(flags).arg(program).arg(source).output();
    run("clang-19").or_else(|_| run("clang")).map_err(|e| format!("clang: {e}"))
}

fn last_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().last().unwrap_or_default().to_owned()
}
