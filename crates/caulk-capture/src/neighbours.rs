//! Sources that lie beside the headers a program uses and define what it lacks.
//!
//! Where sources are named one by one, nothing says which others belong to them. A header declares what some source defines,
//! and that source mostly lies in the header's own folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::job::SkipReason;
use crate::language::{Language, language_of};
use crate::paths::resolve;
use crate::{glance, mentions};

/// How far the search for neighbours goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeighbourConfig {
    /// Sources that are read besides those that were named. More would make a look at one file a look at a library.
    pub max_files: usize,
    /// Bytes of those sources together: a source of some megabytes takes clang longer than what was asked for.
    pub max_bytes: u64,
    /// Bytes of sources whose text is searched. Reading them costs a blink; folders with more are not searched to the end.
    pub max_searched: u64,
    /// Bytes of headers whose text is searched for names.
    pub max_headers: u64,
}

impl Default for NeighbourConfig {
    fn default() -> Self {
        Self { max_files: 8, max_bytes: 2 << 20, max_searched: 32 << 20, max_headers: 32 << 20 }
    }
}

/// Something that is used and not defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Its name in the source, without scopes.
    pub name: String,
    /// Where it is declared, if that is known.
    pub declared: Option<PathBuf>,
    /// The headers, other than the system's, of the unit that uses it.
    pub headers: Vec<PathBuf>,
}

/// The sources to read besides `given`, best first. All paths are absolute.
pub fn find_neighbours(lacking: &[Lacking], given: &[PathBuf], config: &NeighbourConfig) -> Vec<PathBuf> {
    let given: BTreeSet<PathBuf> = given.iter().map(|path| real(path)).collect();
    let mut budget = config.max_searched;
    let mut found: Vec<Found<'_>> = Vec::new();
    for (folder, wanted) in folders(lacking, config) {
        let mut names: BTreeSet<&str> = wanted.keys().copied().collect();
        names.insert(MAIN);
        for source in files_in(&folder, |kind| matches!(kind, Ok(Language::C | Language::Cxx))) {
            if given.contains(&real(&source)) {
                continue;
            }
            let Some(text) = read(&source, &mut budget) else { continue };
            if !wanted.keys().any(|name| text.contains(name)) {
                continue;
            }
            let mut defines = glance::defined(&text, &names);
            let has_main = defines.remove(MAIN);
            let stem = source.file_stem().map(|s| s.to_owned());
            let is_namesake = defines.iter().any(|name| wanted[name].iter().any(|h| h.file_stem() == stem.as_deref()));
            found.push(Found { source, bytes: text.len() as u64, defines, has_main, is_namesake });
        }
    }
    choose(found, config)
}

/// Who may write variables, as far as texts tell: see [`doubts_nearby`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Doubts<'n> {
    /// Sources that do more with variables than to look at them, as it seems, and with which. Their code decides.
    pub sources: BTreeMap<PathBuf, BTreeSet<&'n str>>,
    /// Variables that a header does more with, in all sources that include it.
    pub of_headers: BTreeSet<&'n str>,
}

/// Where in `folders` a text may write variables among `names`. Those of `read_already` are left aside: their code is known. None if
/// there is more text than may be searched.
pub fn doubts_nearby<'n>(
    names: &BTreeSet<&'n str>,
    folders: &BTreeSet<PathBuf>,
    read_already: &[PathBuf],
    config: &NeighbourConfig,
) -> Option<Doubts<'n>> {
    let known: BTreeSet<PathBuf> = read_already.iter().map(|path| real(path)).collect();
    let mut budget = config.max_searched;
    let mut doubts = Doubts::default();
    let is_code = |kind: &Result<Language, SkipReason>| matches!(kind, Ok(_) | Err(SkipReason::Header));
    for source in folders.iter().flat_map(|folder| files_in(folder, is_code)) {
        if known.contains(&real(&source)) {
            continue;
        }
        let text = read(&source, &mut budget)?;
        if !names.iter().any(|name| text.contains(name)) {
            continue;
        }
        let found = mentions::doubtful(&text, names);
        if found.is_empty() {
            continue;
        }
        match language_of(&source, None, false) {
            Ok(_) => drop(doubts.sources.insert(source, found)),
            Err(_) => doubts.of_headers.extend(found),
        }
    }
    Some(doubts)
}

/// Where programs begin.
const MAIN: &str = "main";

struct Found<'a> {
    source: PathBuf,
    bytes: u64,
    defines: BTreeSet<&'a str>,
    has_main: bool,
    /// Named like a header that declares what it defines.
    is_namesake: bool,
}

/// Of each folder, what may be defined there, with the headers in it that declare it.
type Folders<'a> = BTreeMap<PathBuf, BTreeMap<&'a str, BTreeSet<PathBuf>>>;

fn folders<'a>(lacking: &'a [Lacking], config: &NeighbourConfig) -> Folders<'a> {
    let mut budget = config.max_headers;
    let mut texts: BTreeMap<&Path, String> = BTreeMap::new();
    let mut folders = Folders::new();
    for Lacking { name, declared, headers } in lacking {
        let mut add = |header: &Path| {
            let header = resolve(Path::new("/"), header);
            if let Some(folder) = header.parent() {
                folders.entry(folder.to_owned()).or_default().entry(name).or_default().insert(header);
            }
        };
        if let Some(header) = declared {
            add(header);
            continue;
        }
        for header in headers {
            let text = texts.entry(header).or_insert_with(|| read(header, &mut budget).unwrap_or_default());
            if glance::mentions(text, name) {
                add(header);
            }
        }
    }
    folders
}

/// Those that add something to the ones before, as long as they are few and small.
fn choose(mut found: Vec<Found<'_>>, config: &NeighbourConfig) -> Vec<PathBuf> {
    found.sort_by(|a, b| {
        let rank = |f: &Found<'_>| (f.has_main, !f.is_namesake, usize::MAX - f.defines.len());
        rank(a).cmp(&rank(b)).then_with(|| a.source.cmp(&b.source))
    });
    let mut covered: BTreeSet<&str> = BTreeSet::new();
    let mut bytes = 0;
    let mut chosen = Vec::new();
    for candidate in found {
        let adds = candidate.defines.iter().any(|name| !covered.contains(name));
        if !adds || chosen.len() == config.max_files || bytes + candidate.bytes > config.max_bytes {
            continue;
        }
        bytes += candidate.bytes;
        // Whether one with a main can be used at all is not known yet.
        if !candidate.has_main {
            covered.extend(&candidate.defines);
        }
        chosen.push(candidate.source);
    }
    chosen
}

/// The files of a folder itself that are of a kind, by name.
fn files_in(folder: &Path, is_wanted: impl Fn(&Result<Language, SkipReason>) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_kind = |path: &PathBuf| is_wanted(&language_of(path, None, false));
    let mut files: Vec<PathBuf> = entries.filter(|path| is_kind(path) && path.is_file()).collect();
    files.sort();
    files
}

/// The text of a source, taken from the budget; None if there is not enough left of it.
fn read(source: &Path, budget: &mut u64) -> Option<String> {
    let bytes = caulk_files::read(source, *budget).ok()?;
    *budget -= bytes.len() as u64;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What tells whether two paths name the same file.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "extern int v; int f(void); int g(void);";

    /// The neighbours in a folder of these files, of a unit that lacks `f`, `g` and `v` of `s.h`.
    fn found(files: &[(&str, &str)], given: &[&str], config: &NeighbourConfig) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let root = dir.path().canonicalize().expect("it exists");
        for (file, text) in files.iter().chain(&[("s.h", HEADER)]) {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("below the directory")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        let header = root.join("x/../s.h");
        fs::create_dir_all(root.join("x")).expect("writable");
        let lacking = |name: &str, declared: Option<&PathBuf>| Lacking {
            name: name.to_owned(),
            declared: declared.cloned(),
            headers: vec![header.clone(), root.join("other/o.h")],
        };
        let lacking = [lacking("f", Some(&header)), lacking("g", Some(&header)), lacking("v", None)];
        let given: Vec<PathBuf> = given.iter().map(|file| root.join(file)).collect();
        let found = find_neighbours(&lacking, &given, config);
        let short = |path: &PathBuf| path.strip_prefix(&root).expect("below").display().to_string();
        found.iter().map(short).collect()
    }

    fn check(files: &[(&str, &str)], given: &[&str], expected: &[&str]) {
        assert_eq!(found(files, given, &NeighbourConfig::default()), expected, "{files:?}");
    }

    #[test]
    fn sources_beside_the_header_that_define_what_is_lacking() {
        check(
            &[("a.c", "int v;"), ("b.cpp", "int f() { return 1; }"), ("c.c", "int w;"), ("d.txt", "int v;")],
            &[],
            &["a.c", "b.cpp"],
        );
        check(&[("deep/a.c", "int v;"), ("other/o.h", "int w;"), ("other/o.c", "int v;")], &[], &[]);
        check(&[("a.c", "int v;")], &["a.c"], &[]);
        check(&[("a.c", "int f(void);\nextern int v;\nint h(void) { return f() + v; }")], &[], &[]);
    }

    #[test]
    fn the_best_come_first_and_the_others_must_add_something() {
        let (f, fg, v) =
            ("int f(void) { return 1; }", "int f(void) { return 1; }\nint g(void) { return 1; }", "int v;");
        check(&[("a.c", f), ("b.c", fg), ("c.c", v)], &[], &["b.c", "c.c"]);
        check(&[("a.c", fg), ("s.c", f)], &[], &["s.c", "a.c"]);
        let main = format!("{fg}\nint v;\nint main(void) {{ return 0; }}");
        check(&[("a.c", &main), ("b.c", fg), ("c.c", v)], &[], &["b.c", "c.c"]);
    }

    #[test]
    fn bounds_hold() {
        let files = [("a.c", "int f(void) { return 1; }"), ("b.c", "int g(void) { return 1; }"), ("c.c", "int v;")];
        let config = NeighbourConfig::default;
        assert_eq!(found(&files, &[], &NeighbourConfig { max_files: 2, ..config() }), ["a.c", "b.c"]);
        assert_eq!(found(&files, &[], &NeighbourConfig { max_bytes: 31, ..config() }), ["a.c", "c.c"]);
        assert_eq!(found(&files, &[], &NeighbourConfig { max_searched: 8, ..config() }), ["c.c"]);
    }

    #[test]
    fn writers_that_were_not_read() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::write(&path, text).expect("writable");
            path
        };
        let read = [file("a.c", "int v = 1; int w = 1; int u = 1;")];
        let writer = file("b.c", "int f(void) { v = 2; return u == 1; }");
        file("b.h", "extern int u, v, w;\n#define SET(x) (w = (x))");
        let (names, folders) = (BTreeSet::from(["u", "v", "w"]), BTreeSet::from([dir.path().to_owned()]));
        let config = NeighbourConfig::default;
        let expected =
            Doubts { sources: BTreeMap::from([(writer, BTreeSet::from(["v"]))]), of_headers: BTreeSet::from(["w"]) };
        assert_eq!(doubts_nearby(&names, &folders, &read, &config()), Some(expected));
        assert_eq!(doubts_nearby(&names, &folders, &read, &NeighbourConfig { max_searched: 8, ..config() }), None);
    }
}
