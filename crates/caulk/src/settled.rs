//! Which variables of the context keep their first value: those that no source beside it, nor beside what was named, writes.
//!
//! A text that evidently only compares a variable, tests it or declares it does not write it. A source whose text does anything else
//! with it is compiled, and its code decides; a header is not, and counts as a writer. Sources in other folders are not looked at: where
//! sources are named without a database, the program is taken to be what lies in these folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use caulk_capture::{NeighbourConfig, PathGlobs, doubts_nearby, jobs_from_sources, skip};
use caulk_frontend::{Config, read_units};
use caulk_program::only_reads;

use crate::arguments::InputOptions;

/// A variable that decides branches elsewhere.
pub(crate) struct Flag<'u> {
    pub symbol: &'u str,
    /// Its name in the source, without scopes.
    pub name: &'u str,
}

/// Where it may be written.
pub(crate) struct Folders<'a> {
    /// What was read already. The folders of these are searched.
    pub sources: Vec<PathBuf>,
    pub cwd: &'a Path,
    pub skipped: &'a PathGlobs,
}

/// The symbols of those that are never written.
pub(crate) fn settled(
    flags: &[Flag<'_>],
    folders: &Folders<'_>,
    bounds: &NeighbourConfig,
    config: &Config,
    options: &InputOptions,
) -> Vec<String> {
    if flags.is_empty() {
        return Vec::new();
    }
    let names: BTreeSet<&str> = flags.iter().map(|flag| flag.name).collect();
    let searched = folders.sources.iter().filter_map(|source| Some(source.parent()?.to_owned())).collect();
    let Some(doubts) = doubts_nearby(&names, &searched, &folders.sources, bounds) else { return Vec::new() };
    let mut written = doubts.of_headers;
    // Each source that has to be compiled costs as much as what was asked for.
    let (looked_at, others): (Vec<_>, Vec<_>) =
        doubts.sources.into_iter().enumerate().partition(|(number, _)| *number < bounds.max_files);
    written.extend(others.into_iter().flat_map(|(_, (_, names))| names));
    for (_, (source, names)) in looked_at {
        let doubtful = flags.iter().filter(|flag| names.contains(flag.name) && !written.contains(flag.name));
        let doubtful: Vec<&Flag<'_>> = doubtful.collect();
        if !doubtful.is_empty() {
            written.extend(written_by(&source, &doubtful, folders, config, options));
        }
    }
    flags.iter().filter(|flag| !written.contains(flag.name)).map(|flag| flag.symbol.to_owned()).collect()
}

/// The names of those that a source may write, as its code says. One that does not compile may write all.
fn written_by<'u>(
    source: &Path,
    flags: &[&Flag<'u>],
    folders: &Folders<'_>,
    config: &Config,
    options: &InputOptions,
) -> Vec<&'u str> {
    let mut jobs = jobs_from_sources(&[source.to_owned()], &options.flags, folders.cwd);
    skip(&mut jobs, folders.skipped);
    let results = read_units(&jobs.jobs, config, &|_| {}).unwrap_or_default();
    let unit = results.into_iter().next().and_then(Result::ok).map(|read| read.unit);
    let keeps = |flag: &Flag<'_>| unit.as_ref().is_some_and(|unit| only_reads(unit, flag.symbol));
    flags.iter().filter(|flag| !keeps(flag)).map(|flag| flag.name).collect()
}
