//! Sources that were not named and define what the named ones use, read as *context*: linked so that values and functions are
//! known, with nothing of their own reported. Whatever goes wrong with one, the run goes on without it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use caulk_capture::{
    CompileJob, Job, JobList, Lacking, NeighbourConfig, PathGlobs, find_neighbours, jobs_from_sources, skip,
};
use caulk_frontend::{Config, LostUnit, ReadUnit, read_units};
use caulk_ir::{AliasTarget, Global, Initialiser, Linkage, PackedUnit, Unit};
use caulk_program::ProgramConfig;
use caulk_report::ReportConfig;

use crate::arguments::InputOptions;
use crate::input::report_config;
use crate::message::tell;
use crate::settled::{Flag, Folders, settled};

/// Names of one source that are told.
const MAX_TOLD: usize = 4;

/// What was read besides what was named.
#[derive(Default)]
pub(crate) struct Context {
    pub units: Vec<Arc<PackedUnit>>,
    /// Symbols of variables in them that no source nearby writes: see [`settled`].
    pub settled: Vec<String>,
}

type ReadResult = Result<ReadUnit, LostUnit>;

pub(crate) fn read(list: &JobList, results: &[ReadResult], config: &Config, options: &InputOptions) -> Context {
    let named = Named::new(list, results, &report_config(options));
    let bounds = NeighbourConfig::default();
    let given: Vec<PathBuf> = list.jobs.iter().map(|job| job.path().to_owned()).collect();
    let sources = find_neighbours(&named.lacking, &given, &bounds);
    let Ok(cwd) = std::env::current_dir() else { return Context::default() };
    let mut jobs = jobs_from_sources(&sources, &options.flags, &cwd);
    let bases = std::iter::once(list.root.clone()).chain(options.settings.clone()).collect();
    let Ok(globs) = PathGlobs::new(&options.skip, bases) else { return Context::default() };
    skip(&mut jobs, &globs);
    if jobs.jobs.is_empty() {
        return Context::default();
    }
    let Ok(results) = read_units(&jobs.jobs, config, &|_| {}) else { return Context::default() };
    let accepted = named.accept(&jobs.jobs, results);
    if !options.quiet && !accepted.is_empty() {
        tell(&accepted);
    }
    let folders = Folders { sources: sources_of(&named, &accepted), cwd: &cwd, skipped: &globs };
    let settled = settled(&variables(&accepted), &folders, &bounds, config, options);
    Context { units: accepted.into_iter().map(|neighbour| neighbour.unit).collect(), settled }
}

/// What the named units define and what they lack.
struct Named {
    /// Symbols with a definition that stands for itself.
    defined: BTreeSet<String>,
    /// Symbols that are used and not defined, and what is known of each.
    symbols: BTreeSet<String>,
    lacking: Vec<Lacking>,
    /// The sources that were read.
    sources: Vec<PathBuf>,
}

impl Named {
    fn new(list: &JobList, results: &[ReadResult], config: &ReportConfig) -> Self {
        let mut named =
            Named { defined: BTreeSet::new(), symbols: BTreeSet::new(), lacking: Vec::new(), sources: Vec::new() };
        let read: Vec<(&Job, &ReadUnit)> =
            list.jobs.iter().zip(results).filter_map(|(job, result)| Some((job, result.as_ref().ok()?))).collect();
        for (_, unit) in &read {
            named.defined.extend(definitions(&unit.unit.unit, |_| true));
        }
        for (job, unit) in read {
            named.sources.push(job.path().to_owned());
            if let Job::Compile(job) = job {
                named.add(job, unit, config);
            }
        }
        named
    }

    /// Notes what a unit uses that its own headers declare and no unit defines.
    fn add(&mut self, job: &CompileJob, read: &ReadUnit, config: &ReportConfig) {
        let unit = &read.unit.unit;
        let is_header = |file: &Path| file != job.source && !config.is_system(&file.to_string_lossy());
        let files = read.files.iter().map(PathBuf::from);
        let headers: Vec<PathBuf> = files.filter(|file| is_header(file)).collect();
        if headers.is_empty() {
            return;
        }
        let functions = unit.functions.iter().filter(|(_, f)| !f.is_definition);
        let functions = functions.map(|(id, f)| (unit.symbol(id), unit.function_name(id), f.file));
        let globals = unit.globals.values().filter(|g| g.init == Initialiser::External);
        let globals = globals.map(|g| (unit.str(g.symbol), unit.str(g.name.unwrap_or(g.symbol)), g.file));
        for (symbol, name, file) in functions.chain(globals) {
            let declared = file.and_then(|f| unit.files.get(f)).map(|f| job.directory.join(unit.str(*f)));
            let is_elsewhere = declared.as_deref().is_some_and(|file| !is_header(file));
            let Some(name) = plain_name(name) else { continue };
            if self.defined.contains(symbol) || is_elsewhere {
                continue;
            }
            self.symbols.insert(symbol.to_owned());
            self.lacking.push(Lacking { name: name.to_owned(), declared, headers: headers.clone() });
        }
    }

    /// Those that define something needed, begin no program, and define nothing a second time.
    fn accept(&self, jobs: &[Job], results: Vec<ReadResult>) -> Vec<Neighbour> {
        let entries = ProgramConfig::default().entry_symbols;
        let mut defined = self.defined.clone();
        let mut accepted = Vec::new();
        for (job, result) in jobs.iter().zip(results) {
            let Ok(ReadUnit { unit, .. }) = result else { continue };
            let own: BTreeSet<String> = definitions(&unit.unit, |linkage| linkage == Linkage::External).collect();
            let begins = entries.iter().any(|entry| own.contains(entry));
            let all: BTreeSet<String> = definitions(&unit.unit, |_| true).collect();
            let needed: Vec<String> =
                all.iter().filter(|s| self.symbols.contains(*s) && !defined.contains(*s)).cloned().collect();
            if begins || needed.is_empty() || !own.is_disjoint(&defined) {
                continue;
            }
            defined.extend(all);
            let (source, display) = (job.path().to_owned(), job.display().to_owned());
            accepted.push(Neighbour { source, display, unit, needed });
        }
        accepted
    }
}

/// A source that was not named and is used.
struct Neighbour {
    source: PathBuf,
    display: String,
    unit: Arc<PackedUnit>,
    /// What it defines that was lacking, by symbol.
    needed: Vec<String>,
}

impl Neighbour {
    /// The needed variables that others might write.
    fn variables(&self) -> impl Iterator<Item = &Global> {
        let unit = &self.unit.unit;
        let is_needed = |g: &&Global| self.needed.iter().any(|s| s == unit.str(g.symbol));
        unit.globals.values().filter(|g| !g.is_const && g.linkage == Linkage::External).filter(is_needed)
    }

    /// What is needed of it, in the source's words and in the order of the source.
    fn names(&self) -> Vec<String> {
        let unit = &self.unit.unit;
        let functions = unit.functions.iter().map(|(id, f)| (f.line, unit.symbol(id), unit.function_name(id)));
        let globals = unit.globals.values().map(|g| (g.line, unit.str(g.symbol), unit.str(g.name.unwrap_or(g.symbol))));
        let all = functions.chain(globals).filter(|(_, symbol, _)| self.needed.iter().any(|s| s == symbol));
        let mut named: Vec<(u32, &str)> = all.map(|(line, _, name)| (line, name)).collect();
        named.sort_unstable();
        named.into_iter().map(|(_, name)| name.to_owned()).collect()
    }
}

/// The symbols a unit defines for others to see.
fn definitions(unit: &Unit, is_wanted: impl Fn(Linkage) -> bool) -> impl Iterator<Item = String> {
    let functions = unit.functions.values().filter(|f| f.is_definition).map(|f| (f.linkage, f.symbol));
    let globals = unit.globals.values().filter(|g| g.init != Initialiser::External).map(|g| (g.linkage, g.symbol));
    let is_alias = |target: AliasTarget| match target {
        AliasTarget::Function(f) => unit.functions[f].is_definition,
        AliasTarget::Global(g) => unit.globals[g].init != Initialiser::External,
    };
    let aliases = unit.aliases.iter().filter(|a| is_alias(a.target)).map(|a| (a.linkage, a.symbol));
    let all = functions.chain(globals).chain(aliases);
    let seen = all.filter(|(linkage, _)| *linkage != Linkage::Internal && is_wanted(*linkage));
    let symbols: Vec<String> = seen.map(|(_, symbol)| unit.str(symbol).to_owned()).collect();
    symbols.into_iter()
}

/// `n::c::f<int>` is looked for as `f`; operators are not looked for.
fn plain_name(name: &str) -> Option<&str> {
    let name = name.split(['<', '(']).next()?;
    let last = name.rsplit("::").next()?.trim_start_matches('~');
    let is_plain = !last.is_empty() && last.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80);
    is_plain.then_some(last)
}

/// The sources that were read so far.
fn sources_of(named: &Named, accepted: &[Neighbour]) -> Vec<PathBuf> {
    named.sources.iter().cloned().chain(accepted.iter().map(|n| n.source.clone())).collect()
}

/// The needed variables of the context that others might write.
fn variables(accepted: &[Neighbour]) -> Vec<Flag<'_>> {
    let mut flags = Vec::new();
    for neighbour in accepted {
        let unit = &neighbour.unit.unit;
        for global in neighbour.variables() {
            let name = plain_name(unit.str(global.name.unwrap_or(global.symbol)));
            flags.extend(name.map(|name| Flag { symbol: unit.str(global.symbol), name }));
        }
    }
    flags
}

fn tell(accepted: &[Neighbour]) {
    let (what, pronoun) = match accepted {
        [one] => {
            let mut names = one.names();
            if names.len() > MAX_TOLD {
                let rest = names.len() - (MAX_TOLD - 1);
                names.truncate(MAX_TOLD - 1);
                names.push(format!("{rest} more"));
            }
            (format!("{} for {}", one.display, listed(&names)), "it")
        }
        several => {
            let displays: Vec<String> = several.iter().map(|n| n.display.clone()).collect();
            (format!("{}, which define what is used here", listed(&displays)), "them")
        }
    };
    tell!("also read {what} (--no-neighbours leaves {pronoun} out)");
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}
