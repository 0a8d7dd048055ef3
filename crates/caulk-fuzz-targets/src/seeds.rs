//! Sound inputs to begin with: those of the other tests, read from where they lie.

use std::path::{Path, PathBuf};

use caulk_frontend::entry;
use caulk_ir::PackedUnit;
use caulk_ir::text::parse_unit;

const EVERYTHING: &str = include_str!("../../caulk-ir/tests/units/everything.ir");

/// A leak on one of two paths, with a loop, a condition that correlates, and a call.
const LEAK: &str = r#"
struct node size 16 { next: 0 size 8 -> *node }
global @head size 8 -> *node = zero
declare @malloc(i64) -> ptr fresh_result alloc_size 0
declare @free(ptr no_capture)
define internal @make(n: i64) -> ptr {
  %p = call ptr @malloc(i64 %0) @ 2:3
  return %p @ 3:3
}
define @use(n: i64) -> i32 {
  var q line 4
start:
  %p = call ptr @make(i64 %0) @ 5:3
  bind q, %p @ 5:3
  %z = eq ptr %p, null @ 6:3
  branch %z, none, some @ 6:3
none:
  return 1 @ 7:3
some:
  %more = ugt i64 %0, 16 @ 8:3
  branch %more, kept, dropped @ 8:3
kept:
  %next = address %p, node.next @ 9:3
  %old = load ptr @head @ 9:3
  store ptr %old, %next @ 9:3
  store ptr %p, @head @ 9:5
  return 0 @ 9:9
dropped:
  %odd = and i64 %0, 1 @ 10:3
  %is_odd = eq i64 %odd, 1 @ 10:3
  branch %is_odd, freed, lost @ 10:3
freed:
  call void @free(ptr %p) @ 11:3
  jump lost @ 11:4
lost:
  unbind q @ 12:3
  return 2 @ 12:5
}
"#;

fn texts_of(units: &[&str]) -> Vec<Vec<u8>> {
    units.iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub(crate) fn ir_text() -> Vec<Vec<u8>> {
    let mut seeds = texts_of(&[EVERYTHING, LEAK]);
    seeds.extend(lowered());
    seeds
}

/// Small ones only: of a large unit one change in a hundred hits something that matters.
pub(crate) fn analysis() -> Vec<Vec<u8>> {
    let mut seeds = texts_of(&[LEAK; 4]);
    seeds.extend(lowered().into_iter().filter(|text| text.len() < 8 << 10));
    seeds
}

/// What the front end makes of each of its tests' sources, without the heading of the snapshot.
fn lowered() -> Vec<Vec<u8>> {
    let snapshots = files("../caulk-frontend/tests/lowering", "snap").into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.splitn(3, "---\n").nth(2)?.as_bytes().to_vec())
    });
    snapshots.collect()
}

pub(crate) fn packed_unit() -> Vec<Vec<u8>> {
    ir_text().iter().map(|text| packed(text).to_bytes()).collect()
}

/// Without mark and hash: the target puts them before, and tries the bytes as they are too.
pub(crate) fn cache_entry() -> Vec<Vec<u8>> {
    let whole =
        ir_text().into_iter().take(8).map(|text| entry::encode("00ff /src/a.c\n0123 /src/a.h\n", &packed(&text)));
    whole.flat_map(|whole| [whole[entry::SEAL_BYTES..].to_vec(), whole]).collect()
}

fn packed(text: &[u8]) -> PackedUnit {
    let unit = parse_unit(&String::from_utf8_lossy(text)).expect("the IR of the tests is well formed");
    PackedUnit::pack(unit)
}

pub(crate) fn models() -> Vec<Vec<u8>> {
    contents(files("../../models", "toml"))
}

pub(crate) fn baseline() -> Vec<Vec<u8>> {
    let heading = caulk_report::baseline::Baseline::default().render();
    let line = "0123456789abcdef\tlost\tsrc/a.c\tmain\tp\n";
    texts_of(&[&heading, &format!("{heading}{line}{}", line.replace("main", "f\u{e9}"))])
}

/// Documents with C and C++ in them, and sources with suppressions.
pub(crate) fn sources() -> Vec<Vec<u8>> {
    let mut seeds = contents(files("../../tests/cases", "md"));
    seeds.extend(texts_of(&[
        "int f(void) {\n  char *p = malloc(1); // caulk: ignore\n  return 0; // caulk: ignore lost \"kept for ever\"\n}\n",
        "/* caulk: ignore forgotten, lost */ p = 0;\n// caulk: ignore nonsense\n#define X \"/*\" '\\'' R\"(a)\"\n",
    ]));
    seeds
}

pub(crate) fn database() -> Vec<Vec<u8>> {
    texts_of(&[
        r#"[{"directory": "/src", "file": "a.c", "command": "gcc -DX='a b' -I inc -O2 -c a.c -o a.o"}]"#,
        r#"[{"directory": "/src", "file": "b.cpp", "arguments": ["c++", "-std=c++17", "@flags.rsp", "-c", "b.cpp"],
            "output": "b.o"}, {"directory": "sub", "file": "x.s", "command": "as x.s"}]"#,
        r#"[{"directory": "C:\\src", "file": "a.c", "command": "cl.exe /c \"a.c\" /FoC:\\out\\a.obj"}]"#,
        r#"[{"directory": "/src", "file": "é.c", "command": "ccache clang -target x86_64-linux-gnu -c é.c"}]"#,
        "[]",
    ])
}

pub(crate) fn response_file() -> Vec<Vec<u8>> {
    texts_of(&["-DX=\"a b\" '-Iinc dir' -c a.c\n@more.rsp\n", "-DY=\\\"quoted\\\" \"\" ''\r\n", "\u{feff}-O2"])
}

pub(crate) fn symbol() -> Vec<Vec<u8>> {
    texts_of(&[
        "_Znwm",
        "_ZN1n1fEi",
        "_ZNSt6vectorIiSaIiEE9push_backEOi",
        "_Z1fI1AIiiES0_IS1_S1_EEvv",
        "_ZZN1a1bEvENKUlvE_clEv",
        "_ZGVZ4mainE1x",
        "_ZTv0_n24_N1C1fEv",
    ])
}

fn contents(paths: Vec<PathBuf>) -> Vec<Vec<u8>> {
    paths.into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// The files of a folder of this repository, in the order of their names.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("cannot list {}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == extension));
    paths.sort();
    paths
}
