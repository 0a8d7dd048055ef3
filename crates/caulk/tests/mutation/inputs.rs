//! What is changed: an input of each kind, the words that may be put into it, and the commands that read it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::project::find;
use crate::sandbox::Sandbox;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Database,
    Response,
    Settings,
    Models,
    Baseline,
    CacheEntry,
    /// Bitcode in its text form, `.ll`.
    Text,
    Bitcode,
    C,
    Cxx,
    /// Sources that keep clang busy: pipes, devices, endless work.
    Endless,
}

/// One input as it is before it is changed, and what stands beside it.
pub(crate) struct Input {
    pub kind: Kind,
    pub name: String,
    pub original: Vec<u8>,
    pub files: Vec<(&'static str, &'static [u8])>,
}

const LEAK: &[u8] = include_bytes!("inputs/leak.c");
const FLAGS: &[&str] = &[
    "-fplugin=./evil.so",
    "-Xclang",
    "-load",
    "./evil.so",
    "-fpass-plugin=./evil.so",
    "--config=./evil.cfg",
    "--config",
    "./evil.cfg",
    "--target=./x",
    "-target",
    "./x",
    "--config-user-dir=.",
    "-B.",
    "-specs=evil.cfg",
    "-wrapper",
    "./evil.so",
    "-o../outside/new",
    "-o",
    "../outside/new",
    "link/new",
    "-MF../outside/new",
    "-MF",
    "-MD",
    "-save-temps",
    "-ftime-trace=../outside/new",
    "-fcrash-diagnostics-dir=../outside",
    "-gen-reproducer=always",
    "--serialize-diagnostics",
    "-fmodules",
    "-fmodules-cache-path=../outside",
    "-fmodule-output=../outside/new",
    "-ivfsoverlay",
    "-fdebug-compilation-dir=../outside",
    "-fprofile-instr-generate=../outside/new",
    "-no-integrated-as",
    "-fno-integrated-cc1",
    "-working-directory=../outside",
    "-include",
    "-x",
    "c++",
    "-std=c++20",
    "-mllvm",
    "-emit-ast",
    "-S",
    "-E",
    "-",
    "@more.rsp",
    "@pipe",
    "@/dev/zero",
    "/dev/zero",
    "pipe",
    "link",
    "..",
    "/",
    "",
    "leak.c",
    "\\",
    "\\\"",
    "$(touch ../outside/new)",
    "`touch ../outside/new`",
    "; touch ../outside/new",
];
const SETTINGS: &[&str] = &[
    "../outside/new",
    "link/new",
    "link",
    ".git/config",
    ".git",
    "./.git/hooks/pre-commit",
    "out.json",
    "leak.c",
    "caulk.toml",
    "pipe",
    "/dev/zero",
    "/dev/full",
    "-fplugin=./evil.so",
    "--target=./x",
    "../outside",
    "**",
    "[",
    "\nclang = \"./evil.so\"\n",
    "\noutput = \"link/new\"\n",
    "\ncache = \"../outside\"\n",
    "\nformat = \"html\"\noutput = \"link\"\n",
    "\nmodels = [\"/dev/zero\"]\n",
    "\n[[ignore]]\nfunction = \"\"\n",
    "99999999999999999999",
    "5000",
    "-1",
    "true",
    "\\u001b",
    "[[",
    "{",
];
const MODELS: &[&str] = &[
    "result",
    "argument",
    "free",
    "malloc",
    "leak",
    "0",
    "-1",
    "99999999999",
    "*",
    "**",
    "[[function]]",
    "\"\"",
    "true",
    "{",
    "]",
    "result[0].field",
    "arg 99",
    "result != 0",
    "\n",
    "\\u001b",
];
const BASELINE: &[&str] = &[
    "\t",
    "\t\t\t\t",
    "\n",
    "caulk-baseline 3\n",
    "caulk-baseline 99\n",
    "\\t",
    "\\",
    "\u{1b}[31m",
    "\0",
    "lost",
    "forgotten",
];
const BYTES: &[&str] = &["\0", "\0\0\0\0", "\u{7f}", "\u{7ff}", "/dev/zero", "../outside/file", "leak", "\n"];
const TEXT: &[&str] = &[
    "!0",
    "!1",
    "!2",
    "!3",
    "!5",
    "!7",
    "!9",
    "!12",
    "!15",
    "!20",
    "!{null}",
    "!{}",
    "null",
    "distinct ",
    "!DILocation(line: 1, scope: !5)",
    "!DIExpression()",
    "line: 4294967295",
    "poison",
    "undef",
    "zeroinitializer",
    "i1",
    "i64",
    "i8388607",
    "ptr addrspace(3)",
    "<4 x ptr>",
    "<vscale x 4 x ptr>",
    "[0 x i8]",
    "[4294967295 x [4294967295 x i8]]",
    "{ ptr, ptr }",
    "token",
    "target(\"spirv.Event\")",
    "x86_amx",
    "half",
    "unreachable\n",
    "resume { ptr, i32 } undef\n",
    "call void asm sideeffect \"nop\", \"\"()\n",
    "call void @llvm.trap()\n",
    "@malloc",
    "@leak",
    "/dev/zero",
    "pipe",
    "\\1B[31m",
    "varargs",
    "musttail ",
    "\n!llvm.module.flags = !{}\n",
];
const C: &[&str] = &[
    "malloc(n)",
    "free(p)",
    "return 0;",
    "if (p)",
    "for (;;)",
    "while (n--)",
    "goto end;",
    "end:",
    "{",
    "}",
    "(",
    ")",
    "*",
    "p = p;",
    "struct list *",
    "char **",
    "static ",
    "\n#include \"leak.c\"\n",
    "\n#include \"/dev/null\"\n",
    "\n#if __has_include(\"/dev/zero\")\n#endif\n",
    "\n#line 1 \"/dev/zero\"\n",
    "\n#line 4294967295 \"pipe\"\n",
    "\n#line 1 \"../outside/file\"\n",
    "\n#pragma clang __debug overflow_stack\n",
    "\n#pragma clang __debug crash\n",
    "\n#pragma clang __debug llvm_fatal_error\n",
    "\n#pragma comment(lib, \"evil\")\n",
    "\n#embed \"/dev/null\"\n",
    "\n#define p q\n",
    "__asm__(\".incbin \\\"/etc/passwd\\\"\");",
    "__attribute__((cleanup(free)))",
    "__attribute__((alias(\"leak\")))",
    "__attribute__((ownership_returns(malloc)))",
    "__attribute__((constructor))",
    "__builtin_alloca(n)",
    "__builtin_trap();",
    "_BitInt(8388608) big;",
    "char large[1l << 40];",
    "// caulk: ignore lost \"",
    "/* caulk: ignore */",
    "\u{1b}[31m",
    "\u{202e}",
    "\0",
    "((((((((((((((((((((((((((((((((((((((((",
];
const ENDLESS: &[&str] = &[
    "\n#include \"pipe\"\n",
    "\n#if __has_include(\"pipe\")\n#endif\n",
    "\n#include \"/dev/zero\"\n",
    "\n#embed \"/dev/zero\"\n",
    "__asm__(\".rept 100000000\\n.long 1\\n.endr\");",
    "constexpr int f(int n) { int s = 0; for (long i = 0; i < 1000000000000; i++) s += i; return s; } constexpr int v = f(1);",
    "template <int N> struct Many : Many<N + 1>, Many<N + 2> {}; Many<0> many;",
];
const CXX: &[&str] = &[
    "new int[n]",
    "delete p;",
    "delete[] p;",
    "throw n;",
    "try {",
    "} catch (...) {}",
    "template <typename T> ",
    "constexpr ",
    "virtual ",
    "operator new",
    "std::unique_ptr<int>",
    "[&] { return p; }",
    "co_await ",
    "{",
    "}",
    "*",
    "&",
    "~",
    "::",
    "noexcept",
    "dynamic_cast<Base *>(b)",
    "\n#line 1 \"/dev/zero\"\n",
    "\n#pragma clang __debug crash\n",
    "\0",
];

/// Commands that show most of what is read.
const ALL: &[&str] = &[
    "check",
    "check --quiet",
    "check --format json",
    "check --format sarif -o out.sarif",
    "check --format html -o out.html",
    "check --format github",
    "check --strict --report-level 0 --min-confidence low --alloc-failure show",
    "check --second-opinion",
    "candidates --hidden",
    "summaries",
    "prove",
    "program",
    "ir",
    "graph --kind calls",
];
const ON_FILE: &[&str] = &[
    "check INPUT",
    "check INPUT --format json",
    "check INPUT --format sarif -o out.sarif",
    "check INPUT --format html -o out.html",
    "check INPUT --strict --report-level 0 --min-confidence low --alloc-failure show",
    "check INPUT --second-opinion",
    "candidates INPUT --hidden",
    "summaries INPUT --format json",
    "why SOURCE:14 INPUT",
    "query SOURCE:14 INPUT",
    "prove INPUT",
    "program INPUT",
    "ir INPUT",
    "graph INPUT --kind calls",
];

const MODEL_FILE: &[u8] = include_bytes!("inputs/models.toml");
const RESPONSE: &[u8] = include_bytes!("inputs/more.rsp");
const DATABASE: &[u8] = include_bytes!("inputs/compile_commands.json");
const IN_CXX: &[u8] = include_bytes!("inputs/leak.cpp");
const KNOWN: &[u8] =
    b"caulk-baseline 3\n0123456789abcdef\t0123\tforgotten\tleak.c\tleak\tp\nfedcba9876543210\t0123\tlost\ta\\tb.c\tf\tx\n";

impl Kind {
    pub(crate) const ALL: [Kind; 11] = [
        Kind::Database,
        Kind::Response,
        Kind::Settings,
        Kind::Models,
        Kind::Baseline,
        Kind::CacheEntry,
        Kind::Text,
        Kind::Bitcode,
        Kind::C,
        Kind::Cxx,
        Kind::Endless,
    ];

    /// So that no two kinds get the same edits.
    pub(crate) fn salt(self) -> u64 {
        (self as u64 + 1) << 40
    }

    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Kind::Database | Kind::Response => FLAGS,
            Kind::Settings => SETTINGS,
            Kind::Models => MODELS,
            Kind::Baseline => BASELINE,
            Kind::CacheEntry | Kind::Bitcode => BYTES,
            Kind::Text => TEXT,
            Kind::C => C,
            Kind::Cxx => CXX,
            Kind::Endless => ENDLESS,
        }
    }

    /// How the input is read. `INPUT` stands for its name, `SOURCE` for that of the source it was made from.
    pub(crate) fn commands(self) -> &'static [&'static str] {
        match self {
            Kind::Database | Kind::Response => ALL,
            Kind::Settings => &["check", "candidates", "summaries", "prove", "program", "ir"],
            Kind::Models => {
                &["check leak.c --models INPUT", "summaries leak.c --models INPUT", "prove leak.c --models INPUT"]
            }
            Kind::Baseline => &["check leak.c --baseline INPUT", "check leak.c --baseline INPUT --format json"],
            Kind::CacheEntry => {
                &["check leak.c", "prove leak.c", "ir leak.c", "summaries leak.c", "graph leak.c --kind calls"]
            }
            Kind::Endless => &["check INPUT --clang-timeout 5", "ir INPUT --clang-timeout 5"],
            Kind::Text | Kind::Bitcode | Kind::C | Kind::Cxx => ON_FILE,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Database => "compile_commands.json",
            Kind::Response => "more.rsp",
            Kind::Settings => "caulk.toml",
            Kind::Models => "models.toml",
            Kind::Baseline => "known.txt",
            Kind::CacheEntry => "entry",
            Kind::Text => "unit.ll",
            Kind::Bitcode => "unit.bc",
            Kind::C => "leak.c",
            Kind::Cxx | Kind::Endless => "leak.cpp",
        }
    }
}

impl Input {
    pub(crate) fn new(kind: Kind, sandbox: &Sandbox) -> Self {
        let (original, files): (Vec<u8>, Vec<(&str, &[u8])>) = match kind {
            Kind::Database => (
                DATABASE.to_vec(),
                vec![("leak.c", LEAK), ("leak.cpp", IN_CXX), ("more.rsp", RESPONSE), ("leak.h", b"")],
            ),
            Kind::Response => (
                RESPONSE.to_vec(),
                vec![("leak.c", LEAK), ("leak.cpp", IN_CXX), ("compile_commands.json", DATABASE), ("leak.h", b"")],
            ),
            Kind::Settings => (
                include_bytes!("inputs/caulk.toml").to_vec(),
                vec![("leak.c", LEAK), ("models.toml", MODEL_FILE), ("known.txt", KNOWN)],
            ),
            Kind::Models => (MODEL_FILE.to_vec(), vec![("leak.c", LEAK)]),
            Kind::Baseline => (KNOWN.to_vec(), vec![("leak.c", LEAK)]),
            Kind::CacheEntry => (stored_entry(sandbox), vec![("leak.c", LEAK)]),
            Kind::Text => (compiled(sandbox, &["-S"]), vec![("leak.c", LEAK)]),
            Kind::Bitcode => (compiled(sandbox, &[]), vec![("leak.c", LEAK)]),
            Kind::C => (LEAK.to_vec(), vec![]),
            Kind::Cxx | Kind::Endless => (IN_CXX.to_vec(), vec![]),
        };
        Self { kind, name: kind.name().to_owned(), original, files }
    }

    /// A command with the names filled in.
    pub(crate) fn command(&self, command: &str) -> String {
        let source = if matches!(self.kind, Kind::Text | Kind::Bitcode) { "leak.c" } else { &self.name };
        command.replace("INPUT", &self.name).replace("SOURCE", source)
    }

    /// An entry of the cache carries a hash of itself: a wrong one would hide all that comes after it.
    pub(crate) fn sealed(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.kind == Kind::CacheEntry && bytes.len() > SEAL.end && bytes.starts_with(&self.original[..SEAL.start]) {
            let hash = blake3::hash(&bytes[SEAL.end..]);
            bytes[SEAL].copy_from_slice(hash.as_bytes());
        }
        bytes
    }

    /// Puts an entry of the cache where it is looked for.
    pub(crate) fn place(&self, sandbox: &Sandbox, bytes: &[u8]) {
        if self.kind == Kind::CacheEntry {
            let project = sandbox.project();
            let entry = entry_of(sandbox);
            fs::write(&entry, bytes).expect("writable");
            let _ = fs::remove_file(project.join(&self.name));
        }
    }
}

/// Where an entry of the cache has its hash.
const SEAL: std::ops::Range<usize> = 8..40;

/// Reads `leak.c` once, and gives the path of its entry in the cache.
fn entry_of(sandbox: &Sandbox) -> PathBuf {
    sandbox.run(&["ir", "leak.c"], false).expect("an ordinary run");
    let mut units = fs::read_dir(sandbox.project().join(".caulk/units")).expect("the cache was made");
    units.next().expect("one unit").expect("readable").path()
}

fn stored_entry(sandbox: &Sandbox) -> Vec<u8> {
    sandbox.prepare(&[("leak.c", LEAK)]);
    fs::read(entry_of(sandbox)).expect("readable")
}

/// `leak.c` as bitcode, with all that debug information says.
fn compiled(sandbox: &Sandbox, flags: &[&str]) -> Vec<u8> {
    sandbox.prepare(&[("leak.c", LEAK)]);
    let mut clang = Command::new(find("clang-19").expect("the sandbox found it"));
    clang.current_dir(sandbox.project()).args(["-c", "-emit-llvm", "-g", "-O1", "-Xclang", "-disable-llvm-passes"]);
    let done = clang.args(flags).args(["leak.c", "-o", "unit"]).status().expect("clang can be run");
    assert!(done.success(), "the source compiles");
    fs::read(sandbox.project().join("unit")).expect("written")
}
