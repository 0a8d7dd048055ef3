//! `caulk prove-leak`: findings that are run, and whether LeakSanitizer agrees.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use caulk_frontend::Clang;
use caulk_harness::Outcome;
use caulk_process::Runner;
use caulk_report::Finding;
use caulk_report::overview::count;
use serde_json::{Value, json};

use super::check::{self, Checked, Purpose};
use crate::arguments::{CheckOptions, ProveLeakOptions, ReportFormat};
use crate::confirming::{self, Confirmation, Effort, Session};
use crate::error::{Error, Exit};
use crate::input;
use crate::output::{Lines, Output};
use crate::progress;

/// Stubs named in text; JSON has all.
const MAX_STUBS_NAMED: usize = 8;

pub(crate) fn run(options: &ProveLeakOptions) -> Result<Exit, Error> {
    let format = options.check.format.unwrap_or(ReportFormat::Text);
    if !matches!(format, ReportFormat::Text | ReportFormat::Json) {
        return Err(Error::Usage(
            "what was run is shown as text or as JSON: --format text or --format json".to_owned(),
        ));
    }
    let check = check_options(options);
    let checked = check::check(&check, Purpose::Runs)?;
    let findings = chosen(&checked, options)?;
    let runner = input::runner(&check.input);
    let clang = Clang::find_for(check.input.clang.as_deref(), runner.clone())?;
    let runner = Runner { limits: confirming::limits(&runner.limits), ..runner };
    let mut effort = Effort::default();
    effort.max_runs = options.max_runs.map_or(effort.max_runs, |runs| runs as usize);
    effort.limits.time = options.run_timeout.map_or(effort.limits.time, Duration::from_secs);
    let mut session = Session::new(&checked, &clang, runner, effort)?;
    let bar = progress::bar(findings.len(), "running", check.input.quiet);
    let mut results: Vec<(&Finding, Confirmation)> = Vec::new();
    for finding in findings {
        let mut confirmation = session.confirm(finding);
        if let Some(place) = &options.keep {
            session.keep(&confirmation, place)?;
        }
        // A harness of a large project has many megabytes.
        confirmation.harness = None;
        let result = (finding, confirmation);
        // They take their time: each is shown when it is there.
        if format == ReportFormat::Text && check.output.is_none() {
            bar.suspend(|| Output::new().write_all(one_as_text(&result).as_bytes()))?;
        }
        results.push(result);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let shown = match format {
        ReportFormat::Json => format!("{:#}\n", as_json(&results)),
        _ if check.output.is_none() => table(&results, options.all),
        _ => results.iter().map(one_as_text).collect::<String>() + &table(&results, options.all),
    };
    match &check.output {
        Some(place) => {
            place.write(shown.as_bytes()).map_err(|source| Error::Write { path: place.to_string(), source })?
        }
        None => Output::new().write_all(shown.as_bytes())?,
    }
    let is_confirmed = |(_, result): &(&Finding, Confirmation)| matches!(result.outcome, Outcome::Confirmed { .. });
    Ok(if results.iter().all(is_confirmed) { Exit::Clean } else { Exit::Leaks })
}

/// With `--all` the first word is no finding but what is read.
fn check_options(options: &ProveLeakOptions) -> CheckOptions {
    let mut check = options.check.clone();
    check.input.wants_inputs = true;
    if options.all {
        let first = options.finding.iter().map(PathBuf::from);
        check.input.inputs = first.chain(check.input.inputs).collect();
    }
    check
}

fn chosen<'c>(checked: &'c Checked, options: &ProveLeakOptions) -> Result<Vec<&'c Finding>, Error> {
    let findings = &checked.report.findings;
    let Some(wanted) = options.finding.as_deref().filter(|_| !options.all) else {
        let mut all: Vec<&Finding> = checked.report.leaks().collect();
        if let Some(count) = options.sample {
            let mut names: Vec<&str> = all.iter().map(|finding| finding.fingerprint.as_str()).collect();
            names.sort_unstable();
            names.truncate(count);
            all.retain(|finding| names.contains(&finding.fingerprint.as_str()));
        }
        return Ok(all);
    };
    let by_name: Vec<&Finding> = findings.iter().filter(|finding| finding.fingerprint == wanted).collect();
    if !by_name.is_empty() {
        return Ok(by_name);
    }
    let place = wanted.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
    let is_there = |finding: &&Finding| {
        let mut places =
            finding.also_lost_at.iter().map(|other| &other.site).chain([&finding.loss, &finding.allocation.site]);
        let is_file = |shown: &str, file: &str| shown == file || shown.ends_with(&format!("/{file}"));
        place.is_some_and(|(file, line)| places.any(|site| site.line == line && is_file(&site.file, file)))
    };
    let there: Vec<&Finding> = findings.iter().filter(is_there).collect();
    if there.is_empty() {
        return Err(Error::Usage(format!(
            "{wanted:?} is neither the fingerprint nor the place (FILE:LINE) of a finding; `caulk check` shows the places, and \
             with --format json the fingerprints"
        )));
    }
    Ok(there)
}

fn one_as_text((finding, Confirmation { outcome, runs, .. }): &(&Finding, Confirmation)) -> String {
    let mut text = Lines::default();
    let what = format!("{}: {}", finding.loss, finding.title());
    let runs = count(*runs, "run", "runs");
    match outcome {
        Outcome::Confirmed { bytes, stubs, trusted, assumed } => {
            text.line(format_args!("{what}: confirmed by execution"));
            let site = &finding.allocation.site;
            let size = count(usize::try_from(*bytes).unwrap_or(usize::MAX), "byte", "bytes");
            text.line(format_args!("  LeakSanitizer reports {size} allocated at {}:{} ({runs})", site.file, site.line));
            if !stubs.is_empty() {
                text.line(format_args!("  stubs stood for {}", named(stubs)));
            }
            if !assumed.is_empty() {
                text.line(format_args!("  not called: {}; by the analysis, they may return this", named(assumed)));
            }
            if !trusted.is_empty() {
                text.line(format_args!("  given to {}: by the analysis, left to the caller", named(trusted)));
            }
        }
        Outcome::NotConfirmed(reason) => {
            text.line(format_args!("{what}: not confirmed"));
            text.line(format_args!("  {reason} ({runs})"));
        }
    }
    text.0
}

/// How many were confirmed, and what kept the others from it.
fn table(results: &[(&Finding, Confirmation)], is_wanted: bool) -> String {
    let mut text = Lines::default();
    if is_wanted {
        let confirmed = results.len() - reasons(results).values().sum::<usize>();
        text.line(format_args!(""));
        text.line(format_args!("{confirmed:5}  confirmed by execution"));
        let is_assumed = |(_, result): &&(&Finding, Confirmation)| matches!(&result.outcome, Outcome::Confirmed { assumed, .. } if !assumed.is_empty());
        match results.iter().filter(is_assumed).count() {
            0 => {}
            some => text.line(format_args!("{some:5}    of them with functions of the project that were not called")),
        }
        let mut rows: Vec<(&str, usize)> = reasons(results).into_iter().collect();
        rows.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        rows.iter().for_each(|(reason, count)| text.line(format_args!("{count:5}  {reason}")));
    }
    text.0
}

fn named(stubs: &[String]) -> String {
    let shown = stubs.iter().take(MAX_STUBS_NAMED).map(|name| format!("{name}()")).collect::<Vec<_>>().join(", ");
    match stubs.len().saturating_sub(MAX_STUBS_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// How often each reason was met.
fn reasons(results: &[(&Finding, Confirmation)]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (_, result) in results {
        if let Outcome::NotConfirmed(reason) = &result.outcome {
            *counts.entry(reason.group()).or_default() += 1;
        }
    }
    counts
}

fn as_json(results: &[(&Finding, Confirmation)]) -> Value {
    let one = |(finding, Confirmation { outcome, runs, .. }): &(&Finding, Confirmation)| {
        let none: &[String] = &[];
        let (verdict, reason, detail, bytes, [stubs, trusted, assumed]) = match outcome {
            Outcome::Confirmed { bytes, stubs, trusted, assumed } => {
                ("confirmed", None, None, Some(bytes), [stubs, trusted, assumed].map(Vec::as_slice))
            }
            Outcome::NotConfirmed(reason) => ("notConfirmed", Some(reason.group()), reason.detail(), None, [none; 3]),
        };
        json!({
            "fingerprint": finding.fingerprint, "title": finding.title(), "loss": finding.loss, "allocation": finding.allocation,
            "verdict": verdict, "reason": reason, "detail": detail, "bytes": bytes, "stubs": stubs, "trusted": trusted, "assumed": assumed,
            "runs": runs,
        })
    };
    let counts: Vec<Value> =
        reasons(results).into_iter().map(|(reason, count)| json!({ "reason": reason, "count": count })).collect();
    let confirmed = results.iter().filter(|(_, result)| matches!(result.outcome, Outcome::Confirmed { .. })).count();
    let findings: Vec<Value> = results.iter().map(one).collect();
    json!({ "format": "caulk-prove-leak", "version": 1, "confirmed": confirmed, "reasons": counts, "findings": findings })
}
