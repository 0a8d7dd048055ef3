//! `--exclude GLOB`: units the user does not want to hear about.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::error::CaptureError;
use crate::job::{JobList, SkipReason};

/// Takes out the jobs whose path matches a pattern and returns how many went.
///
/// A pattern is compared with the shown path and with the absolute path; `*` also crosses `/`, and a pattern that names a
/// folder covers everything below it. The jobs taken out are listed as skipped.
pub fn exclude(list: &mut JobList, patterns: &[String]) -> Result<usize, CaptureError> {
    if patterns.is_empty() {
        return Ok(0);
    }
    let set = compile(patterns)?;
    let (gone, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut list.jobs)
        .into_iter()
        .partition(|job| set.is_match(job.display()) || set.is_match(job.path()));
    list.jobs = kept;
    for job in &gone {
        list.skipped.push(job.display().to_owned(), SkipReason::Excluded);
    }
    Ok(gone.len())
}

fn compile(patterns: &[String]) -> Result<GlobSet, CaptureError> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        let bad =
            |e: globset::Error| CaptureError::BadPattern { pattern: pattern.clone(), message: e.kind().to_string() };
        let plain = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
        builder.add(Glob::new(plain).map_err(bad)?);
        builder.add(Glob::new(&format!("{plain}/**")).map_err(bad)?);
    }
    builder.build().map_err(|e| CaptureError::BadPattern { pattern: patterns.join(" "), message: e.kind().to_string() })
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
        let gone = exclude(&mut list, &patterns).expect("good patterns");
        assert_eq!(gone, list.skipped.units.len());
        list.jobs.iter().map(|job| job.display().to_owned()).collect()
    }

    #[test]
    fn patterns() {
        let files = ["src/a.c", "tests/b.c", "third_party/z/c.c", "src/x.pb.cc"];
        assert_eq!(left(&files, &["tests"]), ["src/a.c", "third_party/z/c.c", "src/x.pb.cc"]);
        assert_eq!(left(&files, &["./third_party/", "*.pb.cc"]), ["src/a.c", "tests/b.c"]);
        assert_eq!(left(&files, &["/w/src/**"]), ["tests/b.c", "third_party/z/c.c"]);
        assert_eq!(left(&files, &[]).len(), 4);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let message = exclude(&mut JobList::default(), &["a[".to_owned()]).expect_err("open class").to_string();
        assert!(message.contains("`a[`"), "{message}");
    }
}
