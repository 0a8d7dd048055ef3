//! Cross compilers: their names say what they compile for, and where they lie where the headers are. Run with the compilers that
//! are installed (Debian: gcc-arm-linux-gnueabihf, gcc-aarch64-linux-gnu, gcc-arm-none-eabi with libnewlib-arm-none-eabi).

mod project;

use project::{Project, find};

/// Headers of the target, its size of pointers, and a leak.
const SOURCE: &str = "#include <stdlib.h>\n#include <stdio.h>\n_Static_assert(sizeof(void *) == POINTER, \"the target\");\n\
    int f(int n) {\n    char *p = malloc(n);\n    if (n > 3)\n        return printf(\"%d\", n);\n    free(p);\n    return 0;\n}\n";

#[test]
fn a_cross_compiler_implies_its_target_and_headers() {
    for (compiler, pointer) in [("arm-linux-gnueabihf-gcc", 4), ("aarch64-linux-gnu-gcc", 8), ("arm-none-eabi-gcc", 4)]
    {
        let Some(path) = find(compiler) else { continue };
        for name in [compiler.to_owned(), path.display().to_string()] {
            let entry = format!(
                r#"[{{"directory": "@ROOT@", "file": "a.c", "command": "{name} -DPOINTER={pointer} -c a.c"}}]"#
            );
            let project = Project::new(&[("a.c", SOURCE), ("compile_commands.json", &entry)]);
            let run = project.run(&["check", "-q"]);
            assert_eq!(run.status, 1, "{name}: {}{}", run.stdout, run.stderr);
            run.prints(&["a.c:7:9: `p` allocated by malloc() is not freed on return (in f)"]);
        }
    }
}

/// Headers of C++ lie with the compiler and not with those of the C library.
#[test]
fn a_cross_compiler_for_cxx() {
    const CXX: &str = "#include <vector>\nint g(int n) {\n    char *p = new char[n];\n    std::vector<int> v(n);\n    if (n > 3)\n        \
        return v[0];\n    delete[] p;\n    return 0;\n}\n";
    let Some(path) = find("arm-linux-gnueabihf-g++") else { return };
    let entry = format!(r#"[{{"directory": "@ROOT@", "file": "a.cc", "command": "{} -c a.cc"}}]"#, path.display());
    let project = Project::new(&[("a.cc", CXX), ("compile_commands.json", &entry)]);
    let run = project.run(&["check", "-q"]);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    run.prints(&["`p` allocated by ", "(in g"]);
}
