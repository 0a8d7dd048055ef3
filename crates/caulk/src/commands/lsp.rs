//! `caulk lsp`: the project behind the server of the language server protocol.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use caulk_frontend::Overlay;
use caulk_lsp::{Engine, Replacement, Texts, serve};
use caulk_report::source::SourceFile;
use caulk_report::{Finding, Report, Run, json, rules};
use caulk_summary::print;

use super::check::{Checked, Purpose, check};
use super::why;
use crate::arguments::{CheckOptions, LspOptions};
use crate::error::{Error, Exit};
use crate::fixing;
use crate::kept::Kept;
use crate::settings::apply_in_folder;

pub(crate) fn run(options: &LspOptions) -> Result<Exit, Error> {
    let asked = options.asked.as_deref().unwrap_or(&options.check).clone();
    let here = options.check.clone();
    let make = move |folder: Option<&Path>| match folder {
        None => Project::new(Ok(here.clone()), &here),
        Some(folder) => Project::new(apply_in_folder(&asked, folder).map_err(|error| error.to_string()), &asked),
    };
    serve(make, env!("CARGO_PKG_VERSION")).map_err(|error| Error::Usage(error.to_string()))?;
    Ok(Exit::Clean)
}

struct Project {
    options: CheckOptions,
    /// Why its settings cannot be used.
    trouble: Option<String>,
    checked: Option<Checked>,
}

impl Project {
    fn new(options: Result<CheckOptions, String>, otherwise: &CheckOptions) -> Self {
        let (mut options, trouble) = match options {
            Ok(options) => (options, None),
            Err(trouble) => (otherwise.clone(), Some(trouble)),
        };
        options.input.quiet = true;
        options.input.kept = Kept::in_memory();
        Self { options, trouble, checked: None }
    }

    fn finding(&self, fingerprint: &str) -> Option<(&Checked, &Finding)> {
        let checked = self.checked.as_ref()?;
        Some((checked, checked.report.findings.iter().find(|f| f.fingerprint == fingerprint)?))
    }
}

impl Engine for Project {
    fn analyse(&mut self, texts: &Texts) -> Result<String, String> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.clone());
        }
        let start = Instant::now();
        self.options.input.overlay = Overlay::new(texts.clone());
        self.options.input.rules = self.options.input.rules.counting_apart();
        self.checked = Some(check(&self.options, Purpose::Fixes).map_err(|error| error.to_string())?);
        let again = self.options.input.kept.project().map(|project| project.results().in_words()).unwrap_or_default();
        Ok(format!("analysed in {:.1} s{again}", start.elapsed().as_secs_f64()))
    }

    fn root(&self) -> Option<PathBuf> {
        self.checked.as_ref().map(|checked| checked.analysed.read.root.clone())
    }

    fn findings(&self) -> Vec<Finding> {
        self.checked.as_ref().map_or_else(Vec::new, |checked| checked.report.counted().cloned().collect())
    }

    fn source(&self, file: &str) -> Option<Rc<SourceFile>> {
        self.checked.as_ref()?.sources.get(file)
    }

    fn function(&self, name: &str) -> Option<String> {
        let analysed = &self.checked.as_ref()?.analysed;
        let functions = analysed.program.functions_named(name);
        let said = |function| {
            let lines = print::summary(&analysed.program, function, analysed.analysis.summary(function));
            lines.into_iter().map(|line| format!("- {}", line.trim())).collect::<Vec<_>>()
        };
        let mut lines: Vec<String> = functions.iter().copied().flat_map(said).collect();
        lines.dedup();
        if lines.is_empty() && !functions.is_empty() {
            lines.push("- allocates nothing for its caller, frees nothing and keeps nothing".to_owned());
        }
        (!functions.is_empty()).then(|| format!("`{name}()`\n\n{}", lines.join("\n")))
    }

    fn allocation(&self, file: &str, line: u32) -> Option<String> {
        let checked = self.checked.as_ref()?;
        let said = why::allocated(&checked.analysed, &checked.sources, file, line);
        (!said.is_empty()).then(|| format!("```text\n{}```", said.concat()))
    }

    fn report(&self) -> Option<String> {
        // When it was made has no part in what was found.
        let report = Report { run: Run::default(), ..self.checked.as_ref()?.report.clone() };
        Some(json::render(&report))
    }

    fn proposed(&self, fingerprint: &str) -> Option<String> {
        let (checked, finding) = self.finding(fingerprint)?;
        fixing::proposals(checked, finding).first().map(|proposal| proposal.title.clone())
    }

    fn fix(&mut self, fingerprint: &str) -> Result<Vec<Replacement>, String> {
        let (checked, finding) = self.finding(fingerprint).ok_or("the finding is no longer there")?;
        let fixes = fixing::fixes(&self.options, checked, &[finding], false).map_err(|error| error.to_string())?;
        if let Some(unfixed) = fixes.unfixed.first() {
            return Err(unfixed.reason.clone());
        }
        let edits = fixes.found.iter().flat_map(|fix| fix.proposal.patch.edits());
        let replacement = |edit: &caulk_fix::Edit| Replacement {
            file: edit.file.clone(),
            start: edit.start,
            end: edit.end,
            text: edit.text.clone(),
        };
        Ok(edits.map(replacement).collect())
    }

    fn explain(&self, rule: &str) -> Option<String> {
        rules::ALL.iter().find(|known| known.id == rule).map(|known| known.page.to_owned())
    }
}
