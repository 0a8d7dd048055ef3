//! The caches of a run: the folder of the project, and the remote one if the user named one.
//!
//! Which server is talked to is for the command line and the environment to say, never for a project: `caulk.toml` has no key
//! for it.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use caulk_files::{Destination, Folder};
use caulk_frontend::{Cache, Clang, Config, Isolated, LostUnit, UnitSource};
use caulk_remote::{Mode, Remote, Settings};
use clap::ValueEnum;

use crate::arguments::{InputOptions, RemoteModeArgument, RemoteOptions};
use crate::error::Error;
use crate::input::{runner, threads};
use crate::message::tell;

const DEFAULT_CACHE: &str = ".caulk";
const ADDRESS: &str = "CAULK_REMOTE_CACHE";
const MODE: &str = "CAULK_REMOTE_CACHE_MODE";

/// How units of the project at `root` are read.
pub(crate) fn front_end(options: &InputOptions, root: &Path) -> Result<Config, Error> {
    let clang = Clang::find_for(options.clang.as_deref(), runner(options))?.for_project(root);
    let remote = open_remote(&options.remote)?;
    let folder = if options.no_cache { None } else { open_folder(options, root)? };
    let cache = match remote {
        Some(remote) => folder.map(|folder| folder.with_remote(remote, root, &clang)),
        None => folder,
    };
    let isolated = std::env::current_exe().ok().map(Isolated::new);
    Ok(Config { clang, cache, isolated, threads: threads(options) })
}

/// A cache that no one named may have come with the project.
fn place(options: &InputOptions, root: &Path) -> Destination {
    options.cache.clone().unwrap_or_else(|| Destination::below(root, DEFAULT_CACHE.into()))
}

/// None, after a warning, if the disk is full, or if no one named a cache and the project's folder is not ours to write: that
/// costs time and no result.
fn open_folder(options: &InputOptions, root: &Path) -> Result<Option<Cache>, Error> {
    let place = place(options, root);
    let is_only_slower = |error: &std::io::Error| match error.kind() {
        ErrorKind::StorageFull => true,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => options.cache.is_none(),
        _ => false,
    };
    match Cache::open_at(&place) {
        Err(error) if is_only_slower(&error) => {
            tell!(
                "warning: {place} cannot be the cache ({error}); without it everything is compiled, the result is the same"
            );
            Ok(None)
        }
        opened => opened.map(Some).map_err(|source| Error::Cache { folder: place.to_string(), source }),
    }
}

/// The folder for what the analysis found out. Without one the next run takes longer, that is all.
pub(crate) fn results(options: &InputOptions, root: &Path) -> Option<Folder> {
    let folder = if options.no_cache || options.no_results { None } else { place(options, root).folder().ok() };
    folder?.make_folder(OsStr::new("results")).ok()
}

fn open_remote(options: &RemoteOptions) -> Result<Option<Remote>, Error> {
    let Some(address) = options.remote_cache.clone().or_else(|| variable(ADDRESS)) else { return Ok(None) };
    let mode = match (options.remote_cache_mode, variable(MODE)) {
        (Some(mode), _) => mode,
        (None, None) => RemoteModeArgument::ReadWrite,
        (None, Some(text)) => RemoteModeArgument::from_str(&text, false)
            .map_err(|_| Error::Usage(format!("{MODE} is {text:?}; it can be read-write or read-only")))?,
    };
    let settings = Settings {
        mode: match mode {
            RemoteModeArgument::ReadWrite => Mode::ReadWrite,
            RemoteModeArgument::ReadOnly => Mode::Read,
        },
        timeout: options.remote_timeout.map_or(Settings::TIMEOUT, Duration::from_secs),
    };
    let opened = Remote::open(&address, settings).map_err(|e| Error::Usage(format!("--remote-cache: {e}")))?;
    Ok(Some(opened))
}

/// Empty is the same as none: scripts cannot always leave a variable out.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Where units came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Origins {
    pub from_cache: usize,
    pub from_remote_cache: usize,
    pub compiled: usize,
    /// Of those that were compiled: how many other machines can use now.
    pub stored_remotely: usize,
    pub lost: usize,
}

impl Origins {
    pub(crate) fn of<'a>(results: impl IntoIterator<Item = Result<UnitSource, &'a LostUnit>>) -> Self {
        let mut origins = Self::default();
        for result in results {
            match result {
                Ok(UnitSource::Cache) => origins.from_cache += 1,
                Ok(UnitSource::RemoteCache) => origins.from_remote_cache += 1,
                Ok(UnitSource::Compiled { is_shared, .. }) => {
                    origins.compiled += 1;
                    origins.stored_remotely += usize::from(is_shared);
                }
                Err(_) => origins.lost += 1,
            }
        }
        origins
    }
}

/// One line on what the remote cache was worth, and one for each cache that failed.
pub(crate) fn tell_caches(config: &Config, origins: &Origins, options: &InputOptions) {
    let Some(cache) = &config.cache else { return };
    if cache.has_remote() && !options.quiet {
        let Origins { from_cache, from_remote_cache, compiled, stored_remotely, .. } = origins;
        tell!(
            "units: {from_cache} from the cache, {from_remote_cache} from the remote cache, {compiled} compiled \
             ({stored_remotely} stored in the remote cache)"
        );
    }
    if let Some(troubles) = cache.folder_troubles() {
        tell!("warning: {troubles}; the next run compiles again what is not there, the result is the same");
    }
    if let Some(troubles) = cache.remote_troubles() {
        tell!("warning: {troubles}; the result is the same without it");
    }
}
