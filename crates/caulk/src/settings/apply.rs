//! Fills in what the command line leaves open.

use std::path::{Path, PathBuf};

use caulk_files::Destination;
use caulk_report::Kind;
use caulk_report::suppress::Ignore;
use caulk_rules::{Rules, UnknownRule};

use super::{IgnoreSetting, Settings};
use crate::arguments::{CheckOptions, Command, InputOptions, ModelOptions};
use crate::error::Error;
use crate::input::cores;

/// Settings of the project for a command that reads one.
pub(crate) fn apply(command: &mut Command) -> Result<(), Error> {
    let Some(input) = command.input_mut() else { return Ok(()) };
    let settings = super::load(input.config.as_deref(), input.no_config)?;
    settings.fill_input(input);
    input.rules = settings.rules_left(&input.without_rule)?;
    if let Some(models) = command.models_mut() {
        settings.fill_models(models);
    }
    if let Command::Check(check) = command {
        settings.fill_check(check)?;
    }
    Ok(())
}

impl Settings {
    /// Paths of the file are relative to it; written short where that is the current folder.
    fn path(&self, path: &Path) -> PathBuf {
        let is_here = std::env::current_dir().is_ok_and(|current| current == self.folder);
        if is_here { path.to_owned() } else { self.folder.join(path) }
    }

    fn destination(&self, path: PathBuf) -> Destination {
        Destination::below(&self.folder, path)
    }

    fn fill_input(&self, input: &mut InputOptions) {
        if input.inputs.is_empty() && input.build_dir.is_none() {
            input.inputs = self.inputs.iter().map(|p| self.path(p)).collect();
            input.build_dir = self.build_dir.as_deref().map(|p| self.path(p));
        }
        input.exclude.extend(self.exclude.iter().cloned());
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
        input.cache = input.cache.take().or_else(|| self.cache.clone().map(|p| self.destination(p)));
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
        check.output = check.output.take().or_else(|| self.output.clone().map(|p| self.destination(p)));
        check.report_level = check.report_level.or(self.report_level);
        check.min_confidence = check.min_confidence.or(self.min_confidence);
        check.alloc_failure = check.alloc_failure.or(self.alloc_failure);
        check.baseline = check.baseline.take().or_else(|| self.baseline.as_deref().map(|p| self.path(p)));
        check.strict |= self.strict;
        check.second_opinion = check.second_opinion.or(self.second_opinion);
        check.color = check.color.or(self.color);
        check.full_path |= self.full_path;
        check.root = self.folder.clone();
        let ignores = self.ignore.iter().enumerate().map(|(i, setting)| ignore(i, setting));
        check.ignores = ignores.collect::<Result<_, _>>()?;
        Ok(())
    }
}

fn ignore(index: usize, setting: &IgnoreSetting) -> Result<Ignore, Error> {
    let place = format!("{}: ignore {}", super::FILE_NAME, index + 1);
    let IgnoreSetting { path, function, rule, reason } = setting;
    if path.is_none() && function.is_none() && rule.is_none() {
        return Err(Error::Usage(format!("{place} would silence everything: give a path, a function or a rule")));
    }
    let named = |name: &String| {
        let found = Kind::ALL.into_iter().find(|k| k.rule() == name);
        found.ok_or_else(|| Error::Usage(format!("{place}: there is no rule {name:?}; rules are lost and forgotten")))
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
