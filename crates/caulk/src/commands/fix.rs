//! `caulk fix`: checked fixes for leaks, as a diff, in SARIF, or written to the files.

use std::io::Write;

use caulk_fix::{WriteError, unified, write};
use caulk_report::overview::count;
use caulk_report::{Finding, sarif};

use super::check::{self, Checked, Purpose};
use crate::arguments::{FixOptions, ReportFormat};
use crate::error::{Error, Exit};
use crate::fixing::{self, Fixes, Unfixed};
use crate::kept::Kept;
use crate::message::tell;
use crate::output::Output;

pub(crate) fn run(options: &FixOptions) -> Result<Exit, Error> {
    let format = options.check.format.unwrap_or(ReportFormat::Text);
    if !matches!(format, ReportFormat::Text | ReportFormat::Sarif) {
        return Err(Error::Usage(
            "fixes are shown as text (a diff) or as SARIF: --format text or --format sarif".to_owned(),
        ));
    }
    if options.check.write_baseline.is_some() {
        return Err(Error::Usage("`caulk fix` writes no baseline: use `caulk check --write-baseline`".to_owned()));
    }
    if let Some(place) = &options.check.output {
        place.check().map_err(|source| Error::Write { path: place.to_string(), source })?;
    }
    // Every proposal is analysed with the whole program, most of which it does not reach.
    let mut check_options = options.check.clone();
    check_options.input.kept = Kept::in_memory();
    let checked = check::check(&check_options, Purpose::Fixes)?;
    let findings = chosen(&checked, &options.finding)?;
    let fixes = fixing::fixes(&check_options, &checked, &findings, options.each)?;
    let texts = &fixes.texts;
    if options.apply {
        write(&checked.analysed.read.root, &checked.sources, texts, fixing::max_source())?;
    }
    let shown = match format {
        ReportFormat::Sarif => sarif::render(&checked.report, &checked.sources, &fixes.for_sarif()),
        _ if options.apply => String::new(),
        _ => unified(&checked.sources, texts),
    };
    match &options.check.output {
        Some(place) => {
            place.write(shown.as_bytes()).map_err(|source| Error::Write { path: place.to_string(), source })?
        }
        None => Output::new().write_all(shown.as_bytes())?,
    }
    if !options.check.input.quiet {
        tell_fixes(&fixes, options.apply);
    }
    Ok(if fixes.unfixed.is_empty() { checked.analysed.read.exit() } else { Exit::Leaks })
}

/// The findings that were asked for.
fn chosen<'c>(checked: &'c Checked, fingerprints: &[String]) -> Result<Vec<&'c Finding>, Error> {
    if fingerprints.is_empty() {
        return Ok(checked.report.leaks().collect());
    }
    let find = |wanted: &String| {
        let found = checked.report.findings.iter().find(|finding| finding.fingerprint == *wanted);
        found.ok_or_else(|| {
            Error::Usage(format!(
                "no finding has the fingerprint {wanted:?}; `caulk check --format json` shows those that there are"
            ))
        })
    };
    fingerprints.iter().map(find).collect()
}

fn tell_fixes(fixes: &Fixes, is_applied: bool) {
    for Unfixed { finding, reason } in &fixes.unfixed {
        tell!("{}: no fix for {}: {reason}", finding.loss, finding.subject());
    }
    let all = fixes.found.len() + fixes.unfixed.len();
    let done = match (is_applied, fixes.texts.len()) {
        (false, _) | (true, 0) => String::new(),
        (true, files) => format!("; {} written", count(files, "file was", "files were")),
    };
    let have = if all == 1 || fixes.found.len() == 1 { "has" } else { "have" };
    tell!("{} of {} {have} a checked fix{done}", fixes.found.len(), count(all, "leak", "leaks"));
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        Error::Usage(error.to_string())
    }
}
