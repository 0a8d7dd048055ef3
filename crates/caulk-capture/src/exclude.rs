//! Paths that match globs: units that are not analysed (`--skip`), and findings that are not reported.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::error::CaptureError;
use crate::job::{JobList, SkipReason};

/// Globs of paths. `*` also crosses `/`, and a pattern that names a folder covers everything below it.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs {
    set: GlobSet,
    /// The folders that patterns are relative to: the project's, and that of its settings.
    bases: Vec<PathBuf>,
}

impl PathGlobs {
    pub fn new(patterns: &[String], bases: Vec<PathBuf>) -> Result<Self, CaptureError> {
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            let bad = |e: globset::Error| CaptureError::BadPattern {
                pattern: pattern.clone(),
                message: e.kind().to_string(),
            };
            let plain = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
            builder.add(Glob::new(plain).map_err(bad)?);
            builder.add(Glob::new(&format!("{plain}/**")).map_err(bad)?);
        }
        let bad =
            |e: globset::Error| CaptureError::BadPattern { pattern: patterns.join(" "), message: e.kind().to_string() };
        Ok(Self { set: builder.build().map_err(bad)?, bases })
    }

    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Whether a path matches, whole or as seen from one of the folders.
    pub fn matches(&self, path: &Path) -> bool {
        let below = self.bases.iter().filter_map(|base| path.strip_prefix(base).ok());
        !self.is_empty() && (self.set.is_match(path) || below.into_iter().any(|path| self.set.is_match(path)))
    }
}

/// Takes out the jobs whose path matches and returns how many went. They are listed as skipped.
pub fn skip(list: &mut JobList, globs: &PathGlobs) -> usize {
    let (gone, kept): (Vec<_>, Vec<_>) =
        std::mem::take(&mut list.jobs).into_iter().partition(|job| globs.matches(job.path()));
    list.jobs = kept;
    for job in &gone {
        list.skipped.push(job.display().to_owned(), SkipReason::Excluded);
    }
    gone.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{BitcodeJob, Job};

    fn left(files: &[&str], patterns: &[&str]) -> Vec<String> {
        let mut list = JobList::default();
        for file in files {
            list.jobs.push(Job::Bitcode(BitcodeJob { path: format!("/w/{file}").into(), display: file.to_string() }));
        }
        let patterns: Vec<String> = patterns.iter().map(|p| p.to_string()).collect();
        let globs = PathGlobs::new(&patterns, vec!["/w".into(), "/w/src".into()]).expect("good patterns");
        let gone = skip(&mut list, &globs);
        assert_eq!(gone, list.skipped.units.len());
        list.jobs.iter().map(|job| job.display().to_owned()).collect()
    }

    #[test]
    fn patterns() {
        let files = ["src/a.c", "tests/b.c", "third_party/z/c.c", "src/x.pb.cc"];
        assert_eq!(left(&files, &["tests"]), ["src/a.c", "third_party/z/c.c", "src/x.pb.cc"]);
        assert_eq!(left(&files, &["./third_party/", "*.pb.cc"]), ["src/a.c", "tests/b.c"]);
        assert_eq!(left(&files, &["/w/src/**"]), ["tests/b.c", "third_party/z/c.c"]);
        assert_eq!(left(&files, &["a.c"]), ["tests/b.c", "third_party/z/c.c", "src/x.pb.cc"], "as seen from src");
        assert_eq!(left(&files, &[]).len(), 4);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let message = PathGlobs::new(&["a[".to_owned()], Vec::new()).expect_err("open class").to_string();
        assert!(message.contains("`a[`"), "{message}");
    }
}
