//! The remote cache: what another checkout may use, and that nothing found there does harm.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use caulk_capture::jobs_from_sources;
use caulk_frontend::{Cache, Clang, Config, Overlay, ReadUnit, UnitSource, read_units_over};
use caulk_remote::{Mode, Remote, Settings};
use common::{Project, printed};

const HEADER: &str = "struct node { struct node *next; };\n";
const SOURCE: &str = "#include \"node.h\"\nvoid *get(struct node *n) { return n->next; }\n";

fn project() -> Project {
    Project::new(&[("node.h", HEADER), ("node.c", SOURCE)])
}

/// A folder that several checkouts share.
struct Store(tempfile::TempDir);

impl Store {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    fn config(&self, project: &Project, mode: Mode) -> Config {
        let settings = Settings { mode, ..Settings::default() };
        let remote = Remote::open(&format!("file://{}", self.0.path().display()), settings).expect("a folder");
        let clang = Clang::find(None).expect("the tests need clang 19").for_project(project.root());
        let cache = Cache::open(&project.path("cache")).expect("the folder can be made");
        let cache = Some(cache.with_remote(remote, project.root(), &clang));
        Config { clang, cache, isolated: None, threads: 2 }
    }

    /// Reads the one unit of a checkout that has no cache of its own yet.
    fn read(&self, project: &Project, flags: &[&str]) -> (ReadUnit, Option<String>) {
        self.read_with(project, flags, Mode::ReadWrite)
    }

    fn read_with(&self, project: &Project, flags: &[&str], mode: Mode) -> (ReadUnit, Option<String>) {
        let _ = fs::remove_dir_all(project.path("cache"));
        let config = self.config(project, mode);
        let unit = project.read(&["node.c"], flags, &config).pop().expect("one job, one result");
        let unit = unit.unwrap_or_else(|lost| panic!("{}: {}", lost.source, lost.reason));
        (unit, config.cache.expect("made above").remote_troubles())
    }

    fn files(&self, suffix: &str) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.0.path()).expect("a folder").map(|e| e.expect("readable").path());
        let files = folders.flat_map(|folder| fs::read_dir(folder).expect("a folder"));
        let mut files: Vec<PathBuf> = files.map(|e| e.expect("readable").path()).collect();
        files.retain(|path| path.to_string_lossy().ends_with(suffix));
        files.sort();
        files
    }
}

fn text(unit: ReadUnit) -> String {
    printed(&Ok(unit))
}

fn is_shared(unit: &ReadUnit) -> bool {
    matches!(unit.origin, UnitSource::Compiled { is_shared: true, .. })
}

/// What the other checkout reads is what it would have compiled itself.
fn check_move(source: &str, flags: &[&str]) {
    let store = Store::new();
    let (here, there) = (Project::new(&[("node.h", HEADER)]), Project::new(&[("node.h", HEADER)]));
    for project in [&here, &there] {
        project.write("node.c", source);
    }
    let (made, troubles) = store.read(&here, flags);
    assert!(is_shared(&made) && troubles.is_none(), "{troubles:?}");
    let alone = Store::new().read(&there, flags).0;
    let (moved, troubles) = store.read(&there, flags);
    assert_eq!((moved.origin, troubles), (UnitSource::RemoteCache, None));
    assert_eq!(moved.unit.unit.source, alone.unit.unit.source);
    assert!(moved.files.iter().any(|file| Path::new(file) == there.path("node.h")), "{:?}", moved.files);
    assert_eq!(text(moved), text(alone));
    // From now on it is in the folder of the checkout.
    let again = there.read(&["node.c"], flags, &store.config(&there, Mode::Read)).pop().expect("one result");
    assert_eq!(again.expect("it is cached").origin, UnitSource::Cache);
}

#[test]
fn another_checkout_takes_the_unit() {
    check_move(SOURCE, &[]);
}

/// `__FILE__` is the same wherever the project is, so its length is, too.
#[test]
fn a_unit_that_names_its_file_can_be_shared() {
    check_move("#include \"node.h\"\nconst char *name(void) { return __FILE__; }\n", &[]);
}

#[test]
fn names_of_lambdas_move_with_the_project() {
    let source = "#include \"node.h\"\ntemplate <class F> int call(F f) { return f(); }\n\
        int run(node *n) { return call([n] { return n->next != nullptr; }); }\n";
    check_move(source, &["-xc++"]);
}

/// A text in place of a header is not what the store was asked for, and its unit is not for others.
#[test]
fn a_changed_text_neither_comes_from_the_store_nor_goes_there() {
    let store = Store::new();
    assert!(is_shared(&store.read(&project(), &[]).0));
    let stored = store.files("");
    let there = project();
    let changed = HEADER.replace("next;", "next; };\nstruct other { int n;").into_bytes();
    let overlay = Overlay::new([(there.path("node.h"), changed)].into());
    let jobs = jobs_from_sources(&["node.c".into()], &[], there.root()).jobs;
    let config = store.config(&there, Mode::ReadWrite);
    let read = |overlay: &Overlay| {
        let mut read = read_units_over(&jobs, &config, overlay, &|_| {}).expect("threads can be started");
        read.pop().expect("one job, one result").expect("it compiles")
    };
    assert!(matches!(read(&overlay).origin, UnitSource::Compiled { is_shared: false, .. }));
    assert_eq!(store.files(""), stored);
    let plain = read(&Overlay::default());
    assert!(plain.is_from_cache());
    assert_eq!(text(plain), text(Store::new().read(&there, &[]).0));
}

/// A program may depend on the length of a literal, so such a unit stays where it was made.
#[test]
fn a_literal_with_the_folder_is_not_shared() {
    let store = Store::new();
    let project = project();
    project.write("node.c", "const char *data(void) { return DATA; }\n");
    let flag = format!("-DDATA=\"{}/share\"", project.root().display());
    let (unit, troubles) = store.read(&project, &[&flag]);
    assert!(!is_shared(&unit) && !unit.is_from_cache() && troubles.is_none());
    assert!(store.files("").is_empty());
}

#[test]
fn a_file_that_includes_itself_is_read_all_the_same() {
    let source = "#ifndef ONCE\n#define ONCE\n#include __FILE__\n#else\nint twice(void) { return 2; }\n#endif\n";
    let project = Project::new(&[("node.c", source)]);
    assert!(text(Store::new().read(&project, &[]).0).contains("@twice"));
}

#[test]
fn what_is_made_for_this_processor_stays_here() {
    let store = Store::new();
    assert!(!is_shared(&store.read(&project(), &["-march=native"]).0));
    assert!(store.files("").is_empty());
}

#[test]
fn other_headers_other_flags_and_other_sources_are_other_entries() {
    let store = Store::new();
    let (here, there) = (project(), project());
    store.read(&here, &[]);
    let wide = "struct node { int before; struct node *next; };\n";
    there.write("node.h", wide);
    let (unit, _) = store.read(&there, &[]);
    assert!(is_shared(&unit) && text(unit).contains("next: 8"));
    assert!(is_shared(&store.read(&there, &["-DX"]).0));
    there.write("node.c", format!("{SOURCE}\n"));
    assert!(is_shared(&store.read(&there, &[]).0));
    // One list for each source and flags, one entry for each of what was compiled.
    assert_eq!((store.files(".list").len(), store.files(".unit.zst").len()), (3, 4));
    // All are still there, each for its own.
    assert_eq!(store.read(&here, &[]).0.origin, UnitSource::RemoteCache);
    there.write("node.c", SOURCE);
    assert_eq!(store.read(&there, &[]).0.origin, UnitSource::RemoteCache);
}

/// A header that includes another one in one checkout, and not in the other.
#[test]
fn several_sets_of_headers_are_known() {
    let store = Store::new();
    let (here, there) = (project(), project());
    there.write("more.h", "int more;\n");
    there.write("node.h", format!("#include \"more.h\"\n{HEADER}"));
    for project in [&here, &there] {
        assert!(is_shared(&store.read(project, &[]).0));
    }
    for project in [&here, &there] {
        assert_eq!(store.read(project, &[]).0.origin, UnitSource::RemoteCache);
    }
}

#[test]
fn who_may_only_read_stores_nothing() {
    let store = Store::new();
    let (unit, troubles) = store.read_with(&project(), &[], Mode::Read);
    assert!(!unit.is_from_cache() && !is_shared(&unit) && troubles.is_none());
    assert!(store.files("").is_empty());
}

/// Whatever stands in the files with this suffix, the unit is made again, the same as before; that is told, and what can be
/// written is repaired.
fn check_damage(suffix: &str, damage: impl Fn(&[u8]) -> Vec<u8>) {
    let store = Store::new();
    let (here, there) = (project(), project());
    let sound = text(store.read(&here, &[]).0);
    let [file] = store.files(suffix).try_into().expect("one file of each kind");
    let good = fs::read(&file).expect("readable");
    fs::write(&file, damage(&good)).expect("writable");
    let (unit, troubles) = store.read(&there, &[]);
    assert!(!unit.is_from_cache(), "{suffix}");
    assert_eq!(text(unit).replace(&there.root().display().to_string(), &here.root().display().to_string()), sound);
    let troubles = troubles.expect("a damaged entry is told");
    assert!(troubles.contains("1 entry was damaged or not what was asked for"), "{troubles}");
    assert_eq!(fs::read(&file).expect("readable"), good, "{suffix}");
    assert_eq!(store.read(&there, &[]).0.origin, UnitSource::RemoteCache);
}

#[test]
fn damaged_entries_are_made_again() {
    for suffix in [".list", ".unit.zst"] {
        check_damage(suffix, |_| Vec::new());
        check_damage(suffix, |good| good[..good.len() / 2].to_vec());
        check_damage(suffix, |good| good[..good.len() - 1].to_vec());
        check_damage(suffix, |_| b"<html>404 not found</html>".to_vec());
        check_damage(suffix, |good| {
            let mut flipped = good.to_vec();
            flipped[good.len() / 2] ^= 0x10;
            flipped
        });
    }
    // More than any unit is when it is unpacked, in a few kilobytes.
    check_damage(".unit.zst", |_| zstd::bulk::compress(&vec![0; 64 << 20], 3).expect("zeros compress"));
}

/// A sound entry under a name that is not its own: the hash in it fits, and what it was made from does not.
#[test]
fn an_entry_of_another_unit_is_refused() {
    let other = Store::new();
    let evil = Project::new(&[("node.h", HEADER), ("node.c", "#include \"node.h\"\nvoid *get(void) { return 0; }\n")]);
    other.read(&evil, &[]);
    for suffix in [".list", ".unit.zst"] {
        let forged = fs::read(&other.files(suffix)[0]).expect("readable");
        check_damage(suffix, |_| forged.clone());
    }
}

#[test]
fn two_writers_of_one_entry_do_no_harm() {
    let store = Store::new();
    let projects: Vec<Project> = (0..4).map(|_| project()).collect();
    std::thread::scope(|scope| {
        let read = |project| {
            let (unit, troubles) = store.read(project, &[]);
            assert_eq!(troubles, None);
            text(unit).replace(&project.root().display().to_string(), "ROOT")
        };
        let runs: Vec<_> = projects.iter().map(|project| scope.spawn(move || read(project))).collect();
        let texts: Vec<String> = runs.into_iter().map(|run| run.join().expect("no run panics")).collect();
        assert!(texts.iter().all(|text| *text == texts[0]));
    });
    assert_eq!((store.files(".list").len(), store.files("").len()), (1, 2), "{:?}", store.files(""));
    assert_eq!(store.read(&project(), &[]).0.origin, UnitSource::RemoteCache);
}
