//! Reads all units of a project, side by side.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::SystemTime;

use caulk_capture::Job;
use caulk_ir::{PackedUnit, Unit, verify};
use rayon::prelude::*;

use crate::cache::Cache;
use crate::clang::{Clang, Outputs};
use crate::dependencies;
use crate::isolated::Isolated;
use crate::llvm::Module;
use crate::lower::lower_unit;
use crate::overlay::Overlay;

/// LLVM's reader recurses over nested constants and types; the default of 2 MiB is small for generated code.
pub(crate) const STACK_BYTES: usize = 64 << 20;

/// Longest list of the files that were read for a unit.
const MAX_RULE: u64 = 64 << 20;

/// How units are read.
#[derive(Debug)]
pub struct Config {
    pub clang: Clang,
    pub cache: Option<Cache>,
    /// Who lowers bitcode that was given as such. None: this process, which then ends if LLVM does.
    pub isolated: Option<Isolated>,
    /// How many units are worked on at once.
    pub threads: usize,
}

#[derive(Debug)]
pub struct ReadUnit {
    pub unit: PackedUnit,
    pub from_cache: bool,
    /// Every file that was read for it, absolute; of bitcode, itself alone.
    pub files: Vec<String>,
}

/// A unit that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostUnit {
    /// The path as shown to users.
    pub source: String,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadUnitsError {
    #[error("cannot make a folder for temporary files: {0}")]
    TempDir(std::io::Error),
    #[error("cannot write the changed texts for clang: {0}")]
    Overlay(std::io::Error),
    #[error("cannot start {threads} threads: {source}")]
    Threads { threads: usize, source: rayon::ThreadPoolBuildError },
}

/// Reads every job; the result has one entry for each, in the same order. `done` is called after each, from any thread.
pub fn read_units(
    jobs: &[Job],
    config: &Config,
    done: &(dyn Fn(&Job) + Sync),
) -> Result<Vec<Result<ReadUnit, LostUnit>>, ReadUnitsError> {
    read_units_over(jobs, config, &Overlay::default(), done)
}

/// Likewise, with other texts in place of some files.
pub fn read_units_over(
    jobs: &[Job],
    config: &Config,
    overlay: &Overlay,
    done: &(dyn Fn(&Job) + Sync),
) -> Result<Vec<Result<ReadUnit, LostUnit>>, ReadUnitsError> {
    let scratch = config.clang.lifeline().temp_folder().map_err(ReadUnitsError::TempDir)?;
    let description = overlay.write(scratch.path()).map_err(ReadUnitsError::Overlay)?;
    let over = Over { overlay, flags: overlay.flags(description.as_deref()) };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(config.threads)
        .stack_size(STACK_BYTES)
        .build()
        .map_err(|source| ReadUnitsError::Threads { threads: config.threads, source })?;
    let read_one = |(number, job): (usize, &Job)| {
        let result = read_unit(job, config, &over, scratch.path(), number)
            .map_err(|reason| LostUnit { source: job.display().to_owned(), reason });
        done(job);
        result
    };
    // One job at a time a thread: their costs differ too much for larger pieces.
    Ok(pool.install(|| jobs.par_iter().enumerate().with_max_len(1).map(read_one).collect()))
}

/// Texts in place of files, and the flags that say so to clang.
struct Over<'a> {
    overlay: &'a Overlay,
    flags: Vec<OsString>,
}

fn read_unit(job: &Job, config: &Config, over: &Over<'_>, scratch: &Path, number: usize) -> Result<ReadUnit, String> {
    let key = config.cache.as_ref().map(|cache| (cache, cache.key(job, &config.clang)));
    if let Some((cache, key)) = &key
        && let Some((mut unit, files)) = cache.load(key)
        && !over.overlay.covers(&files)
    {
        // How a source is shown depends on where the program was started, and the entry does not.
        unit.unit.source = job.display().to_owned();
        return Ok(ReadUnit { unit, from_cache: true, files });
    }
    let bitcode = scratch.join(format!("{number}.bc"));
    let rule = scratch.join(format!("{number}.d"));
    let started = SystemTime::now();
    config.clang.compile(job, Outputs { bitcode: &bitcode, dependencies: &rule, scratch, overlay: &over.flags })?;
    let lowered = match (job, &config.isolated) {
        (Job::Bitcode(_), Some(isolated)) => {
            let out = scratch.join(format!("{number}.unit"));
            isolated.lower(&bitcode, job.display(), &out, config.clang.runner())
        }
        _ => lower_file(&bitcode, job.display()).map(PackedUnit::pack),
    };
    let files = files_read(job, &rule);
    let _ = std::fs::remove_file(&bitcode);
    let _ = std::fs::remove_file(&rule);
    let unit = lowered?;
    if let Some((cache, key)) = key.as_ref().filter(|_| !over.overlay.covers(&files)) {
        cache.store(key, &files, started, &unit);
    }
    Ok(ReadUnit { unit, from_cache: false, files })
}

/// Reads and lowers one bitcode file. A mistake of ours in one odd unit must not end the run.
pub(crate) fn lower_file(bitcode: &Path, source: &str) -> Result<Unit, String> {
    let lower = || -> Result<Unit, String> {
        let module = Module::read(bitcode).map_err(|e| e.to_string())?;
        let unit = lower_unit(&module, source).map_err(|e| e.to_string())?;
        verify::verify_unit(&unit).map_err(|errors| match errors.first() {
            Some(first) => format!("internal error, please report it: lowering made invalid IR: {first}"),
            None => "internal error, please report it: lowering made invalid IR".to_owned(),
        })?;
        Ok(unit)
    };
    catch_unwind(AssertUnwindSafe(lower))
        .unwrap_or_else(|_| Err("internal error, please report it: lowering panicked".to_owned()))
}

fn files_read(job: &Job, rule: &Path) -> Vec<String> {
    let directory = match job {
        Job::Compile(job) => &job.directory,
        Job::Bitcode(job) => return vec![job.path.display().to_string()],
    };
    let text = caulk_files::read_text(rule, MAX_RULE).unwrap_or_default();
    let absolute = |file: String| directory.join(file).display().to_string();
    dependencies::parse(&text).into_iter().map(absolute).collect()
}
