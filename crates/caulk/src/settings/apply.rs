//! Fills in what the command line leaves open.

use std::path::{Path, PathBuf};

use caulk_capture::find_database_upward;
use caulk_files::Destination;
use caulk_models::nearest;
use caulk_report::Kind;
use caulk_report::suppress::Ignore;
use caulk_rules::{Rules, UnknownRule};

use super::{IgnoreSetting, Settings};
use crate::arguments::{CheckOptions, Command, FixOptions, InputOptions, LspOptions, ModelOptions, ProveLeakOptions};
use crate::error::Error;
use crate::input::{cores, current_folder};

/// Settings of the project for a command that reads one.
pub(crate) fn apply(command: &mut Command) -> Result<(), Error> {
    if let Command::Lsp(options) = command {
        options.asked = Some(Box::new(options.check.clone()));
    }
    apply_in(command, &current_folder()?)
}

/// The same for the project of a folder, which another program has open.
pub(crate) fn apply_in_folder(options: &CheckOptions, folder: &Path) -> Result<CheckOptions, Error> {
    let mut command = Command::Lsp(LspOptions { check: options.clone(), asked: None });
    apply_in(&mut command, folder)?;
    let Command::Lsp(LspOptions { mut check, .. }) = command else { unreachable!("it was made so above") };
    if check.input.inputs.is_empty() && check.input.build_dir.is_none() {
        check.input.build_dir = Some(folder.to_owned());
    }
    check.input.root.get_or_insert_with(|| folder.to_owned());
    Ok(check)
}

fn apply_in(command: &mut Command, cwd: &Path) -> Result<(), Error> {
    let place = command.place().map(str::to_owned);
    let Some(input) = command.input_mut() else { return Ok(()) };
    let settings = match input.no_config {
        true => Settings::default(),
        false => super::load(input.config.as_deref(), &starts(input, cwd))?,
    };
    settings.fill_input(input);
    find_input(input, place.as_deref(), cwd);
    input.rules = settings.rules_left(&input.without_rule)?;
    if let Some(models) = command.models_mut() {
        settings.fill_models(models);
    }
    match command {
        Command::Check(check) => settings.fill_check(check)?,
        Command::Why(why) => why.resources = why.resources.or(settings.resources),
        Command::Fix(FixOptions { check, .. })
        | Command::Lsp(LspOptions { check, .. })
        | Command::ProveLeak(ProveLeakOptions { check, .. }) => {
            // How the project wants its reports is nothing that a diff could be.
            let (format, output) = (check.format, check.output.clone());
            settings.fill_check(check)?;
            (check.format, check.output) = (format, output);
        }
        _ => {}
    }
    Ok(())
}

/// Where to look for settings: the project that is named, and then the current folder, for builds elsewhere.
fn starts(input: &InputOptions, cwd: &Path) -> Vec<PathBuf> {
    let named = input.build_dir.as_ref().or(input.inputs.first()).and_then(|path| cwd.join(path).canonicalize().ok());
    let folder = named.map(|path| if path.is_dir() { path } else { path.parent().unwrap_or(cwd).to_owned() });
    folder.into_iter().chain([cwd.to_owned()]).collect()
}

/// What is read when neither the command line nor the settings say: the nearest database. Where the command asks about a place,
/// and flags are given or there is no database, the file of that place is read.
fn find_input(input: &mut InputOptions, place: Option<&str>, cwd: &Path) {
    if !input.inputs.is_empty() || input.build_dir.is_some() {
        return;
    }
    let file =
        place.and_then(|place| place.split(':').next()).map(PathBuf::from).filter(|file| cwd.join(file).is_file());
    let database = find_database_upward(cwd);
    match (file, database) {
        (Some(file), database) if database.is_none() || !input.flags.is_empty() => input.inputs.push(file),
        // In the current folder itself that is what is read anyway.
        (_, Some(folder)) if folder != cwd => input.build_dir = Some(folder),
        _ => {}
    }
}

impl Settings {
    /// Paths of the file are relative to it; written short where that is the current folder.
    fn path(&self, path: &Path) -> PathBuf {
        let is_here = std::env::current_dir().is_ok_and(|current| self.folder.as_ref() == Some(&current));
        match &self.folder {
            Some(folder) if !is_here => folder.join(path),
            _ => path.to_owned(),
        }
    }

    /// Without a file nothing is named, and so nothing is written.
    fn destination(&self, path: &Option<PathBuf>) -> Option<Destination> {
        Some(Destination::below(self.folder.as_ref()?, path.clone()?))
    }

    fn fill_input(&self, input: &mut InputOptions) {
        if input.inputs.is_empty() && input.build_dir.is_none() {
            input.inputs = self.inputs.iter().map(|p| self.path(p)).collect();
            input.build_dir = self.build_dir.as_deref().map(|p| self.path(p));
        } else if input.build_dir.is_none() && input.inputs.iter().all(|path| is_source(path)) {
            input.build_dir = self.build_dir.as_deref().map(|p| self.path(p));
        }
        input.skip.extend(self.skip.iter().cloned());
        input.root = input.root.take().or_else(|| self.root.as_deref().map(|p| self.path(p)));
        input.settings = self.folder.clone();
        input.flags.splice(0..0, self.flags.iter().cloned());
        input.all_flag_sets |= self.all_flag_sets;
        input.no_neighbours |= self.no_neighbours;
        input.system_folders = self.system_folders.clone();
        input.no_cache |= self.no_cache;
        input.quiet |= self.quiet;
        // A project may ask for less than usual of the machine, and not for more.
        input.jobs = input.jobs.or(self.jobs.filter(|jobs| jobs.get() < cores()));
        input.clang_timeout = input.clang_timeout.or(self.clang_timeout);
        input.clang_memory = input.clang_memory.or(self.clang_memory);
        input.cache = input.cache.take().or_else(|| self.destination(&self.cache));
    }

    /// All rules but those that the settings or the command line switch off.
    fn rules_left(&self, without: &[String]) -> Result<Rules, Error> {
        let off = self.rules.iter().filter(|(_, is_on)| !**is_on).map(|(name, _)| name.as_str());
        let off = off.chain(without.iter().map(String::as_str));
        Rules::without(off).map_err(|UnknownRule(name)| Error::Usage(super::unknown_rule(&name)))
    }

    fn fill_models(&self, models: &mut ModelOptions) {
        models.models.splice(0..0, self.models.iter().map(|p| self.path(p)));
    }

    fn fill_check(&self, check: &mut CheckOptions) -> Result<(), Error> {
        check.format = check.format.or(self.format);
        check.output = check.output.take().or_else(|| self.destination(&self.output));
        check.report_level = check.report_level.or(self.report_level);
        check.min_confidence = check.min_confidence.or(self.min_confidence);
        check.alloc_failure = check.alloc_failure.or(self.alloc_failure);
        check.resources = check.resources.or(self.resources);
        check.at_exit = check.at_exit.or(self.at_exit);
        check.baseline = check.baseline.take().or_else(|| self.baseline.as_deref().map(|p| self.path(p)));
        check.strict |= self.strict;
        check.second_opinion = check.second_opinion.or(self.second_opinion);
        check.color = check.color.or(self.color);
        check.full_path |= self.full_path;
        if check.only.is_empty() {
            check.only = self.only.clone();
        }
        check.exclude.extend(self.exclude.iter().cloned());
        let ignores = self.ignore.iter().enumerate().map(|(i, setting)| ignore(i, setting));
        check.ignores = ignores.collect::<Result<_, _>>()?;
        Ok(())
    }
}

/// Named on the command line as a file of code, not as a database or a folder with one.
fn is_source(path: &Path) -> bool {
    let is_other = path.extension().is_some_and(|suffix| suffix == "json" || suffix == "bc" || suffix == "ll");
    path.is_file() && !is_other
}

fn ignore(index: usize, setting: &IgnoreSetting) -> Result<Ignore, Error> {
    let place = format!("{}: ignore {}", super::FILE_NAME, index + 1);
    let IgnoreSetting { path, function, rule, reason } = setting;
    if path.is_none() && function.is_none() && rule.is_none() {
        return Err(Error::Usage(format!("{place} would silence everything: give a path, a function or a rule")));
    }
    let named = |name: &String| {
        let found = Kind::ALL.into_iter().find(|k| k.rule() == name);
        let rules = Kind::ALL.map(Kind::rule);
        let hint = || {
            nearest(name, rules)
                .map_or_else(|| format!("rules are {}", rules.join(", ")), |r| format!("did you mean {r}?"))
        };
        found.ok_or_else(|| Error::Usage(format!("{place}: there is no rule {name:?}; {}", hint())))
    };
    let glob = |text: &String| {
        let glob = globset::GlobBuilder::new(text).literal_separator(true).build();
        glob.map(|g| g.compile_matcher()).map_err(|e| Error::Usage(format!("{place}: {e}")))
    };
    Ok(Ignore {
        rule: rule.as_ref().map(named).transpose()?,
        path: path.as_ref().map(glob).transpose()?,
        function: function.clone(),
        reason: reason.clone().filter(|r| !r.trim().is_empty()),
        place,
    })
}

#[cfg(test)]
mod fuzz;
