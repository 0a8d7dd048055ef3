//! The test cases of a local copy of the suite.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::truth::FileTruth;

/// The folder of the weakness, and what all its files begin with.
const WEAKNESS: &str = "CWE401_Memory_Leak";

#[derive(Debug)]
pub(crate) struct Suite {
    pub cases: Vec<Case>,
    /// The folder with what all test cases share.
    pub support: PathBuf,
}

/// One test case with all its files: 22a and 22b, 81a, 81_bad and 81_goodB2G are one each.
#[derive(Debug)]
pub(crate) struct Case {
    /// Without the weakness: `char_malloc_22`.
    pub name: String,
    /// The flow variant, by its number.
    pub variant: String,
    pub is_cxx: bool,
    /// What the published figures leave out.
    pub is_wide: bool,
    pub files: Vec<CaseFile>,
}

#[derive(Debug)]
pub(crate) struct CaseFile {
    pub path: PathBuf,
    pub truth: FileTruth,
}

impl Case {
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Path> {
        let is_header = |path: &Path| path.extension().is_some_and(|e| e == "h");
        self.files.iter().map(|f| f.path.as_path()).filter(move |path| !is_header(path))
    }

    /// The file of a report's place.
    pub(crate) fn file(&self, reported: &str) -> Option<&CaseFile> {
        let name = Path::new(reported).file_name()?;
        self.files.iter().find(|f| f.path.file_name() == Some(name))
    }
}

impl Suite {
    pub(crate) fn read(root: &Path, only: &str) -> Result<Self> {
        let root = root.canonicalize().with_context(|| format!("there is no {}", root.display()))?;
        let support = root.join("testcasesupport");
        let folder = root.join("testcases").join(WEAKNESS);
        ensure!(
            support.is_dir() && folder.is_dir(),
            "{} has no testcases/{WEAKNESS} and testcasesupport",
            root.display()
        );
        let mut cases: BTreeMap<String, Case> = BTreeMap::new();
        for path in files_below(&folder)? {
            let Some(parts) = path.file_name().and_then(|n| n.to_str()).and_then(Parts::of) else { continue };
            if !parts.case.contains(only) {
                continue;
            }
            let truth = FileTruth::read(&path, parts.suffix)?;
            let case = cases.entry(parts.case.to_owned()).or_insert_with(|| Case {
                name: parts.case.to_owned(),
                variant: parts.variant.to_owned(),
                is_cxx: false,
                is_wide: parts.case.contains("wchar_t"),
                files: Vec::new(),
            });
            case.is_cxx |= path.extension().is_some_and(|e| e == "cpp");
            case.files.push(CaseFile { path, truth });
        }
        ensure!(!cases.is_empty(), "no test case of {} is called {only:?}", folder.display());
        Ok(Self { cases: cases.into_values().collect(), support })
    }
}

/// What the name of a file says.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    case: &'a str,
    variant: &'a str,
    /// `bad`, `goodB2G` and so on, where the whole file is one.
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn of(file: &'a str) -> Option<Self> {
        let (stem, extension) = file.rsplit_once('.')?;
        let stem = stem.strip_prefix(WEAKNESS)?.strip_prefix("__")?;
        if !["c", "cpp", "h"].contains(&extension) {
            return None;
        }
        let (stem, suffix) = match stem.rsplit_once('_') {
            Some((rest, suffix)) if suffix == "bad" || suffix.starts_with("good") => (rest, suffix),
            _ => (stem, ""),
        };
        let case =
            stem.strip_suffix(|c| ('a'..='e').contains(&c)).filter(|s| s.ends_with(|c: char| c.is_ascii_digit()));
        let case = case.unwrap_or(stem);
        let (_, variant) = case.rsplit_once('_')?;
        let is_number = variant.len() == 2 && variant.bytes().all(|b| b.is_ascii_digit());
        is_number.then_some(Self { case, variant, suffix })
    }
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let parts = |file| Parts::of(file).map(|p| (p.case, p.variant, p.suffix));
        assert_eq!(parts("CWE401_Memory_Leak__char_malloc_22a.c"), Some(("char_malloc_22", "22", "")));
        assert_eq!(parts("CWE401_Memory_Leak__new_int_81_goodB2G.cpp"), Some(("new_int_81", "81", "goodB2G")));
        assert_eq!(parts("CWE401_Memory_Leak__new_int_81.h"), Some(("new_int_81", "81", "")));
        assert_eq!(parts("CWE401_Memory_Leak__destructor_01_bad.cpp"), Some(("destructor_01", "01", "bad")));
        assert_eq!(parts("CWE401_Memory_Leak__Makefile"), None);
        assert_eq!(parts("main.cpp"), None);
    }
}
