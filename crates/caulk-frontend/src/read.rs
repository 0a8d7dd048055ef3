//! Reads all units of a project, side by side.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use caulk_capture::Job;
use caulk_ir::{PackedUnit, Unit, verify};
use rayon::prelude::*;

use crate::cache::{Cache, Cached};
use crate::clang::{Clang, Outputs};
use crate::dependencies;
use crate::error::FrontendError;
use crate::isolated::Isolated;
use crate::kept::KeptUnits;
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
    pub unit: Arc<PackedUnit>,
    pub origin: UnitSource,
    /// Every file that was read for it, absolute; of bitcode, itself alone.
    pub files: Vec<String>,
}

/// Where a unit came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitSource {
    Cache,
    RemoteCache,
    /// Compiled in this run.
    Compiled {
        took: Duration,
        /// Other machines can use it from now on.
        is_shared: bool,
    },
}

impl ReadUnit {
    pub fn is_from_cache(&self) -> bool {
        !matches!(self.origin, UnitSource::Compiled { .. })
    }
}

/// A unit that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostUnit {
    /// The path as shown to users.
    pub source: String,
    pub reason: String,
}

/// Reads every job; the result has one entry for each, in the same order. `done` is called after each, from any thread.
pub fn read_units(
    jobs: &[Job],
    config: &Config,
    done: &(dyn Fn(&Job) + Sync),
) -> Result<Vec<Result<ReadUnit, LostUnit>>, FrontendError> {
    read_units_over(jobs, config, &Overlay::default(), done)
}

/// Likewise, with other texts in place of some files.
pub fn read_units_over(
    jobs: &[Job],
    config: &Config,
    overlay: &Overlay,
    done: &(dyn Fn(&Job) + Sync),
) -> Result<Vec<Result<ReadUnit, LostUnit>>, FrontendError> {
    read_each(jobs, config, overlay, None, done, &|unit| unit)
}

/// Likewise, with units that an earlier run of this process has kept.
pub fn read_units_keeping(
    jobs: &[Job],
    config: &Config,
    overlay: &Overlay,
    kept: &KeptUnits,
    done: &(dyn Fn(&Job) + Sync),
) -> Result<Vec<Result<ReadUnit, LostUnit>>, FrontendError> {
    read_each(jobs, config, overlay, Some(kept), done, &|unit| unit)
}

/// Reads every job for the caches alone: units are dropped again, and where each came from is kept.
pub fn fill_caches(
    jobs: &[Job],
    config: &Config,
    done: &(dyn Fn(&Job) + Sync),
) -> Result<Vec<Result<UnitSource, LostUnit>>, FrontendError> {
    read_each(jobs, config, &Overlay::default(), None, done, &|unit| unit.origin)
}

fn read_each<T: Send>(
    jobs: &[Job],
    config: &Config,
    overlay: &Overlay,
    kept: Option<&KeptUnits>,
    done: &(dyn Fn(&Job) + Sync),
    keep: &(dyn Fn(ReadUnit) -> T + Sync),
) -> Result<Vec<Result<T, LostUnit>>, FrontendError> {
    let scratch = config.clang.lifeline().temp_folder().map_err(FrontendError::TempDir)?;
    let description = overlay.write(scratch.path()).map_err(FrontendError::Overlay)?;
    let over = Over { overlay, flags: overlay.flags(description.as_deref()) };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(config.threads)
        .stack_size(STACK_BYTES)
        .build()
        .map_err(|source| FrontendError::Threads { threads: config.threads, source })?;
    let iteration = kept.map(|kept| kept.iteration(overlay));
    let read = |job: &Job, number: usize| {
        let known = iteration.as_ref().and_then(|iteration| iteration.find(job, &config.clang));
        if let Some(known) = known {
            return Ok(known);
        }
        let read = read_unit(job, config, &over, scratch.path(), number)?;
        if let Some(iteration) = &iteration {
            iteration.keep(job, &config.clang, &read);
        }
        Ok(read)
    };
    let read_one = |(number, job): (usize, &Job)| {
        let result =
            read(job, number).map(keep).map_err(|reason| LostUnit { source: job.display().to_owned(), reason });
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
    let Some(cache) = &config.cache else {
        return compile(job, config, over, scratch, number).map(|(unit, _)| unit);
    };
    let key = cache.key(job, &config.clang);
    // Entries are made from the files as they are on disk.
    let is_usable = |cached: &Cached| !over.overlay.covers(&cached.files);
    if let Some(cached) = cache.load(&key).filter(is_usable) {
        return Ok(from_cache(cached, job, UnitSource::Cache));
    }
    let missing = match cache.load_remote(&key, job, &config.clang) {
        Ok(cached) if is_usable(&cached) => return Ok(from_cache(cached, job, UnitSource::RemoteCache)),
        Ok(_) => None,
        Err(missing) => missing,
    };
    let (mut read, started) = compile(job, config, over, scratch, number)?;
    if over.overlay.covers(&read.files) {
        return Ok(read);
    }
    cache.store(&key, &read.files, started, &read.unit);
    if let (Some(missing), UnitSource::Compiled { is_shared, .. }) = (missing, &mut read.origin) {
        *is_shared = cache.store_remote(&missing, job, &read.files, started, &read.unit);
    }
    Ok(read)
}

fn from_cache(cached: Cached, job: &Job, origin: UnitSource) -> ReadUnit {
    let Cached { mut unit, files } = cached;
    // How a source is shown depends on where the program was started, and the entry does not.
    unit.unit.source = job.display().to_owned();
    ReadUnit { unit: Arc::new(unit), origin, files }
}

/// Compiles and lowers a job, and says when that began.
fn compile(
    job: &Job,
    config: &Config,
    over: &Over<'_>,
    scratch: &Path,
    number: usize,
) -> Result<(ReadUnit, SystemTime), String> {
    let bitcode = scratch.join(format!("{number}.bc"));
    let rule = scratch.join(format!("{number}.d"));
    let (started, clock) = (SystemTime::now(), Instant::now());
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
    let origin = UnitSource::Compiled { took: clock.elapsed(), is_shared: false };
    Ok((ReadUnit { unit: Arc::new(lowered?), origin, files }, started))
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
