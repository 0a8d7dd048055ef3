//! What the user wants to hear of: the files that were named, `--only` and `--exclude`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use caulk_capture::PathGlobs;
use caulk_program::{FuncId, Program};
use caulk_report::{Finding, ReportConfig};
use caulk_useflow::Candidate;

use crate::arguments::CheckOptions;
use crate::error::Error;
use crate::input::{Analysed, Read};

pub(crate) struct Wanted {
    root: PathBuf,
    focus: Vec<PathBuf>,
    only: PathGlobs,
    exclude: PathGlobs,
}

impl Wanted {
    pub(crate) fn new(options: &CheckOptions, read: &Read) -> Result<Self, Error> {
        let bases: Vec<PathBuf> = std::iter::once(read.root.clone()).chain(options.input.settings.clone()).collect();
        Ok(Self {
            root: read.root.clone(),
            focus: read.focus.clone(),
            only: PathGlobs::new(&options.only, bases.clone())?,
            exclude: PathGlobs::new(&options.exclude, bases)?,
        })
    }

    pub(crate) fn is_all(&self) -> bool {
        self.focus.is_empty() && self.only.is_empty() && self.exclude.is_empty()
    }

    /// Whether only a part of what is found is wanted, by name.
    pub(crate) fn is_part(&self) -> bool {
        !self.focus.is_empty() || !self.only.is_empty()
    }

    /// Whether nothing that was read can be wanted: a pattern with a mistake in it, most likely.
    pub(crate) fn matches_nothing(&self, program: &Program) -> bool {
        let is_wanted =
            |function: FuncId| program.function(function).file.is_some_and(|file| self.has(Path::new(file)));
        self.is_part() && !program.functions().any(is_wanted)
    }

    fn has(&self, path: &Path) -> bool {
        let is_named = self.focus.is_empty() || self.focus.iter().any(|named| path.starts_with(named));
        let is_chosen = self.only.is_empty() || self.only.matches(path);
        is_named && is_chosen && !self.exclude.matches(path)
    }

    /// Leaves out candidates that cannot become findings that are wanted, so that no time is spent on them.
    pub(crate) fn narrow(&self, analysed: &mut Analysed, config: &ReportConfig) {
        if self.is_all() {
            return;
        }
        let Analysed { program, analysis, .. } = analysed;
        let may_be_wanted = |function: FuncId| {
            let file = program.function(function).file;
            // What happens in a header of the system is shown at the user's own call, wherever that is.
            file.is_none_or(|file| config.is_system(file) || self.has(Path::new(file)))
        };
        let is_wanted = |candidate: &Candidate| {
            may_be_wanted(candidate.function) || candidate.chain.first().is_some_and(|(made, _)| may_be_wanted(*made))
        };
        for report in analysis.reports.values_mut() {
            report.candidates.retain(|candidate| is_wanted(candidate));
        }
    }

    /// Files of findings, and others by the same kind of path, whose findings are not wanted.
    pub(crate) fn unwanted<'a>(&self, found: &'a [Finding], others: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        let files = found.iter().flat_map(Finding::places).map(|site| site.file.as_str()).chain(others);
        let files: BTreeSet<&str> = files.collect();
        files.into_iter().filter(|file| !self.has(&self.root.join(file))).map(str::to_owned).collect()
    }
}
