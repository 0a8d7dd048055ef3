//! From the arguments to lowered units, telling the user what was lost on the way.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use caulk_capture::{CompileJob, Duplicates, Job, JobList, Request, collect};
use caulk_explore::{Exploration, ExploreConfig, explore as run_stage_two, explore_keeping};
use caulk_frontend::{LostUnit, read_units_keeping, read_units_over};
use caulk_ir::PackedUnit;
use caulk_ir::entity::Entity;
use caulk_models::Models;
use caulk_process::{Limits, Runner};
use caulk_program::{FuncId, Marks, Program, ProgramConfig, UnitId, UnitInput};
use caulk_report::{ReportConfig, shown_path, terminal};
use caulk_rules::Rule;
use caulk_useflow::{Analysis, UseflowConfig, analyse_keeping};

use crate::arguments::{InputOptions, ModelOptions};
use crate::caches::{self, Origins};
use crate::error::{Error, Exit};
use crate::message::tell;
use crate::neighbours::{self, Context};
use crate::progress;
use crate::results::ResultsFile;
use crate::show;

/// More threads than this help on no machine that is known; each has a stack and may have a clang.
const MAX_THREADS: usize = 256;

/// Everything that was read.
pub(crate) struct Read {
    pub units: Vec<ReadUnit>,
    pub lost: Vec<LostUnit>,
    /// How many units there should have been.
    pub wanted: usize,
    /// Entries of the database that are no units of ours (assembler, duplicates), in words; empty when there are none.
    pub skipped: String,
    /// How many units were named. Those after them are context: they are linked, and nothing of them is reported.
    named: usize,
    /// The files and folders of a database that were named. Absolute; empty when all is wanted.
    pub focus: Vec<PathBuf>,
    /// The project's folder, which paths are relative to.
    pub root: PathBuf,
    /// The databases that were read; none if the sources were named one by one.
    pub databases: Vec<PathBuf>,
    /// No database was read.
    pub is_bare: bool,
    /// Variables of the context that are never written, as far as can be seen.
    pub settled: Vec<String>,
    /// How each unit is compiled, in the order of the units; None for bitcode, and for context.
    pub jobs: Vec<Option<CompileJob>>,
    /// When each unit was compiled, in the order of the units. A source that is newer is not what was read.
    pub compiled: Vec<SystemTime>,
}

pub(crate) struct ReadUnit {
    pub unit: Arc<PackedUnit>,
    /// The object file it is compiled to, where the database says so.
    pub output_hint: Option<String>,
}

impl Read {
    /// The exit status of a command that did its work on what was read.
    pub(crate) fn exit(&self) -> Exit {
        if self.lost.is_empty() { Exit::Clean } else { Exit::Incomplete }
    }

    pub(crate) fn is_context(&self, unit: UnitId) -> bool {
        unit.index() >= self.named
    }

    /// Whether a function is in what the user named.
    pub(crate) fn is_wanted(&self, program: &Program, function: FuncId) -> bool {
        let info = program.function(function);
        let is_named = |file: &str| self.focus.iter().any(|named| Path::new(file).starts_with(named));
        !self.is_context(info.unit) && (self.focus.is_empty() || info.file.is_some_and(is_named))
    }
}

pub(crate) fn threads(options: &InputOptions) -> usize {
    options.jobs.map_or_else(cores, usize::from).min(MAX_THREADS)
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How clang is run: within what the options say, and no longer than Caulk itself.
pub(crate) fn runner(options: &InputOptions) -> Runner {
    let usual = Limits::DEFAULT;
    let limits = Limits {
        time: options.clang_timeout.map_or(usual.time, Duration::from_secs),
        memory_bytes: options.clang_memory.map_or(usual.memory_bytes, |mebibytes| mebibytes << 20),
        ..usual
    };
    Runner { limits, lifeline: options.lifeline.clone() }
}

/// What the user named, and the neighbours that define what it lacks.
pub(crate) fn read(options: &InputOptions) -> Result<Read, Error> {
    read_with(options, !options.no_neighbours && options.rules.is_on(Rule::Neighbours))
}

/// What the user named, alone.
pub(crate) fn read_given(options: &InputOptions) -> Result<Read, Error> {
    let mut list = collect_jobs(options)?;
    let focus = std::mem::take(&mut list.focus);
    list.jobs.retain(|job| focus.is_empty() || focus.iter().any(|named| job.path().starts_with(named)));
    read_jobs(list, options, false)
}

fn read_with(options: &InputOptions, with_neighbours: bool) -> Result<Read, Error> {
    read_jobs(collect_jobs(options)?, options, with_neighbours)
}

fn read_jobs(list: JobList, options: &InputOptions, with_neighbours: bool) -> Result<Read, Error> {
    let config = caches::front_end(options, &list.root)?;
    let started = SystemTime::now();
    let bar = progress::bar(list.jobs.len(), "reading", options.quiet);
    let done = |job: &Job| {
        bar.set_message(terminal::piece(job.display()));
        bar.inc(1);
    };
    let results = match options.kept.units() {
        Some(units) => read_units_keeping(&list.jobs, &config, &options.overlay, units, &done),
        None => read_units_over(&list.jobs, &config, &options.overlay, &done),
    }?;
    bar.finish_and_clear();
    let is_bare = list.databases.is_empty();
    let context = if with_neighbours && is_bare {
        let context = neighbours::read(&list, &results, &config, options);
        options.rules.note(Rule::Neighbours, context.units.len());
        context
    } else {
        Context::default()
    };
    let origins = Origins::of(results.iter().map(|result| result.as_ref().map(|unit| unit.origin)));
    caches::tell_caches(&config, &origins, options);
    let mut read = sort_results(&list, results, started);
    // What a changed text makes of a unit is told by who changed it.
    if options.overlay.is_empty() {
        tell_lost(&read);
    }
    if read.units.is_empty() {
        return Err(Error::NothingRead(read.wanted));
    }
    read.wanted += context.units.len();
    read.compiled.extend(context.units.iter().map(|_| started));
    read.units.extend(context.units.into_iter().map(|unit| ReadUnit { unit, output_hint: None }));
    read.settled = context.settled;
    Ok(read)
}

pub(crate) fn collect_jobs(options: &InputOptions) -> Result<JobList, Error> {
    let duplicates = if options.all_flag_sets { Duplicates::KeepDifferent } else { Duplicates::FirstOnly };
    let request = Request {
        inputs: options.inputs.clone(),
        database: options.build_dir.clone(),
        flags: options.flags.clone(),
        skip: options.skip.clone(),
        duplicates,
        root: options.root.as_ref().map(|root| root_folder(root)).transpose()?,
        settings: options.settings.clone(),
        cwd: current_folder()?,
    };
    let list = collect(&request)?;
    // With --quiet too: from a wrong database come wrong findings, or none.
    tell_choice(&list);
    Ok(list)
}

fn root_folder(root: &Path) -> Result<PathBuf, Error> {
    let found = root.canonicalize().ok().filter(|root| root.is_dir());
    found.ok_or_else(|| Error::Usage(format!("{} cannot be the project's directory: it is not there", root.display())))
}

/// Which database was taken, where there was a choice.
fn tell_choice(list: &JobList) {
    let ([taken, ..], false) = (list.databases.as_slice(), list.other_databases.is_empty()) else { return };
    let shown = |path: &PathBuf| show::path(&path.to_string_lossy()).to_owned();
    let others: Vec<String> = list.other_databases.iter().map(shown).collect();
    tell!("reading {}; there is also {} (-p DIR chooses)", shown(taken), others.join(", "));
}

pub(crate) fn current_folder() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|e| Error::Usage(format!("the current directory is gone: {e}")))
}

fn sort_results(list: &JobList, results: Vec<Result<caulk_frontend::ReadUnit, LostUnit>>, started: SystemTime) -> Read {
    let skipped_losses =
        list.skipped.losses().map(|unit| LostUnit { source: unit.file.clone(), reason: unit.reason.to_string() });
    let mut read = Read {
        units: Vec::with_capacity(results.len()),
        lost: skipped_losses.collect(),
        wanted: 0,
        skipped: list.skipped.summary(),
        named: 0,
        focus: list.focus.clone(),
        root: list.root.clone(),
        databases: list.databases.clone(),
        is_bare: list.databases.is_empty(),
        settled: Vec::new(),
        jobs: Vec::with_capacity(results.len()),
        compiled: Vec::with_capacity(results.len()),
    };
    for (job, result) in list.jobs.iter().zip(results) {
        match result {
            Ok(unit) => {
                let compile = match job {
                    Job::Compile(job) => Some(job),
                    Job::Bitcode(_) => None,
                };
                let output_hint = compile.and_then(|job| job.output_hint.clone());
                read.jobs.push(compile.cloned());
                read.compiled.push(compiled(job).unwrap_or(started));
                read.units.push(ReadUnit { unit: unit.unit, output_hint });
            }
            Err(lost) => read.lost.push(lost),
        }
    }
    read.named = read.units.len();
    read.wanted = read.units.len() + read.lost.len();
    read
}

/// When a unit was compiled, if that was before this run. (What the cache holds is compared with its sources in each run.)
fn compiled(job: &Job) -> Option<SystemTime> {
    match job {
        Job::Compile(_) => None,
        Job::Bitcode(job) => std::fs::metadata(&job.path).and_then(|m| m.modified()).ok(),
    }
}

fn tell_lost(read: &Read) {
    for lost in &read.lost {
        tell!("{} was not read: {}", terminal::piece(&lost.source), lost.reason);
    }
    if !read.lost.is_empty() {
        let units = if read.wanted == 1 { "unit was" } else { "units were" };
        tell!("{} of {} {units} read", read.units.len(), read.wanted);
    }
}

/// Links what was read, on as many threads as were asked for. The units move into the program.
pub(crate) fn link(read: &mut Read, options: &InputOptions) -> Result<Program, Error> {
    let inputs = std::mem::take(&mut read.units)
        .into_iter()
        .map(|unit| UnitInput { packed: unit.unit, output_hint: unit.output_hint })
        .collect();
    let config = ProgramConfig {
        settled_variables: read.settled.clone(),
        rules: options.rules.clone(),
        ..ProgramConfig::default()
    };
    let spinner = progress::spinner("linking", options.quiet);
    let program = in_pool(options, || Program::link(inputs, config));
    spinner.finish_and_clear();
    program
}

/// Runs something on as many threads as were asked for.
pub(crate) fn in_pool<T: Send>(options: &InputOptions, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let threads = threads(options);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::Usage(format!("cannot start {threads} threads: {e}")))?;
    Ok(pool.install(work))
}

/// A program with what stage one found out about it.
pub(crate) struct Analysed {
    pub read: Read,
    pub program: Program,
    pub models: Models,
    pub config: UseflowConfig,
    pub analysis: Analysis,
}

impl Analysed {
    /// A file as reports name it: relative to the project's directory.
    pub(crate) fn shown(&self, file: Option<&str>) -> String {
        shown_path(file.unwrap_or("?"), &self.read.root)
    }

    /// Whether a function is in what the user named.
    pub(crate) fn is_wanted(&self, function: FuncId) -> bool {
        self.read.is_wanted(&self.program, function)
    }
}

/// How findings are reported, with what the settings say of it.
pub(crate) fn report_config(options: &InputOptions) -> ReportConfig {
    let mut config = ReportConfig::default();
    if !options.system_folders.is_empty() {
        config.system_folders = options.system_folders.clone();
    }
    config
}

/// Reads, links and runs stage one.
pub(crate) fn analyse(options: &InputOptions, models: &ModelOptions) -> Result<Analysed, Error> {
    analyse_with(options, Models::with_files(&models.models)?, UseflowConfig::default())
}

/// Likewise, with other models and bounds.
pub(crate) fn analyse_with(options: &InputOptions, models: Models, config: UseflowConfig) -> Result<Analysed, Error> {
    let mut read = read(options)?;
    let program = link(&mut read, options)?;
    let config = UseflowConfig { rules: options.rules.clone(), ..config };
    let spinner = progress::spinner("stage one", options.quiet);
    let mut analysis = in_pool(options, || stage_one(options, &read, &program, &models, &config))?;
    spinner.finish_and_clear();
    // What context loses was not asked for.
    for function in program.functions().filter(|f| read.is_context(program.function(*f).unit)) {
        analysis.reports[function].candidates.clear();
    }
    Ok(Analysed { read, program, models, config, analysis })
}

/// Stage one, with what the last analysis has kept.
fn stage_one(
    options: &InputOptions,
    read: &Read,
    program: &Program,
    models: &Models,
    config: &UseflowConfig,
) -> Analysis {
    let Some(project) = options.kept.project() else { return caulk_useflow::analyse(program, models, config) };
    let results = &mut *project.results();
    results.marks = Marks::new(program, &mut results.shapes);
    if !std::mem::replace(&mut results.is_begun, true)
        && let Some(place) = ResultsFile::new(options, read, results.models, config, &bounds(options, config))
    {
        let names = Arc::clone(&results.marks.names);
        place.load(&names, results);
    }
    let (analysis, tables) = analyse_keeping(program, models, config, &results.marks, &mut results.useflow);
    results.tables = tables;
    analysis
}

/// Stage two, likewise.
fn stage_two(options: &InputOptions, analysed: &Analysed, bounds: &ExploreConfig) -> Exploration {
    let Analysed { program, config, analysis, .. } = analysed;
    let Some(project) = options.kept.project() else { return run_stage_two(program, config, analysis, bounds) };
    let results = &mut *project.results();
    let tables = (&results.marks, &results.tables);
    explore_keeping(program, config, analysis, bounds, tables, &mut results.explore)
}

/// Stage two uses the rules that stage one used.
pub(crate) fn explore_config(config: &UseflowConfig) -> ExploreConfig {
    ExploreConfig { rules: config.rules.clone(), ..ExploreConfig::default() }
}

fn bounds(options: &InputOptions, config: &UseflowConfig) -> ExploreConfig {
    ExploreConfig { wants_inputs: options.wants_inputs, ..explore_config(config) }
}

/// Keeps in the cache what both stages found out, if any of it is new.
pub(crate) fn keep(options: &InputOptions, analysed: &Analysed) -> Result<(), Error> {
    let Some(project) = options.kept.project().filter(|project| project.is_stored()) else { return Ok(()) };
    let Analysed { read, config, .. } = analysed;
    let results = &*project.results();
    let place = || ResultsFile::new(options, read, results.models, config, &bounds(options, config));
    match results.are_new().then(place).flatten() {
        Some(place) => in_pool(options, || place.store(results)),
        None => Ok(()),
    }
}

/// Runs stage two on what stage one found.
pub(crate) fn explore(options: &InputOptions, analysed: &Analysed) -> Result<Exploration, Error> {
    let spinner = progress::spinner("stage two", options.quiet);
    let bounds = bounds(options, &analysed.config);
    let exploration = in_pool(options, || stage_two(options, analysed, &bounds));
    spinner.finish_and_clear();
    exploration
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{MAX_THREADS, threads};
    use crate::arguments::Arguments;

    #[test]
    fn the_number_of_threads_has_a_bound() {
        for (jobs, expected) in [("1", 1), ("256", 256), ("5000", MAX_THREADS), ("18446744073709551615", MAX_THREADS)] {
            let mut arguments = Arguments::parse_from(["caulk", "ir", "--jobs", jobs]);
            let input = arguments.command.input_mut().expect("ir reads a project");
            assert_eq!(threads(input), expected, "{jobs}");
        }
    }
}
