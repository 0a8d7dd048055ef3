//! `caulk check`: the leaks of a project.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Instant, SystemTime};

use caulk_explore::{Exploration, Verdict};
use caulk_files::Destination;
use caulk_report::baseline::Baseline;
use caulk_report::source::Sources;
use caulk_report::witness::confirmed;
use caulk_report::{
    AllocFailure, Choices, Confidence, Costs, Evidence, Finding, Kind, Level, LostUnit, Narrator, Report, ReportConfig,
    Run, Scope, Selection, Statistics, Step, StepKind, TextOptions, Unknown, code_climate, csv, git, github, html,
    json, junit, overview::count, sarif, sarif_fixes, shown_path, text,
};

use caulk_models::{Family, Models, Resource};
use caulk_program::mark;
use caulk_useflow::{Candidate, CandidateId, UseflowConfig, escaped};

use super::second_opinion::Contradicted;
use super::statistics;
use crate::arguments::{
    AllocFailureArgument, CheckOptions, ColorArgument, ConfidenceArgument, InputOptions, ModelOptions, ReportFormat,
    ResourcesArgument,
};
use crate::changes::Revision;
use crate::date;
use crate::error::{Error, Exit};
use crate::fixing::{self, Fixes};
use crate::input::{self, Analysed, Read};
use crate::kept::Kept;
use crate::message::tell;
use crate::output::Output;
use crate::pictures::Pictures;
use crate::scope::Wanted;

/// Largest baseline read: a hundred bytes a finding make that more than half a million.
const MAX_BASELINE: u64 = 64 << 20;

/// Largest file of models that is compared with the one before; a larger one is refused anyway.
const MAX_MODELS: u64 = 64 << 20;

/// What a check came to.
pub(crate) struct Checked {
    pub analysed: Analysed,
    pub sources: Sources,
    pub report: Report,
    pub exploration: Exploration,
    /// All findings, those too that the options hold back; empty unless they are wanted.
    pub all: Vec<Finding>,
}

pub(crate) fn run(options: &CheckOptions) -> Result<Exit, Error> {
    let start = Instant::now();
    check_destinations(options)?;
    if options.fixes && options.format != Some(ReportFormat::Sarif) {
        return Err(Error::Usage(
            "--fixes adds to a report in SARIF: say --format sarif, or use `caulk fix`".to_owned(),
        ));
    }
    let kept = InputOptions { kept: Kept::in_cache(), ..options.input.clone() };
    let options = &CheckOptions { input: kept, ..options.clone() };
    let checked = check(options, if options.fixes { Purpose::Fixes } else { Purpose::Report })?;
    let leaks: Vec<&Finding> = checked.report.leaks().collect();
    let fixes = if options.fixes { fixing::fixes(options, &checked, &leaks, false)? } else { Fixes::default() };
    let Checked { analysed, sources, report, .. } = &checked;
    deliver(report, sources, options, &fixes.for_sarif())?;
    tell_unsaid(report, options);
    if !options.input.quiet {
        tell_root(report, options);
        tell(report, start);
    }
    if let Some(path) = &options.write_baseline {
        write_file(path, &report.as_baseline().render())?;
    }
    let is_clean =
        (report.leaks().next().is_none() || options.write_baseline.is_some()) && report.complaints.is_empty();
    Ok(if is_clean { analysed.read.exit() } else { Exit::Leaks })
}

/// What findings are wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be read by people: leaks of one cause are one finding.
    Report,
    /// To be fixed one by one, and compared with what is found after the change: what the options hold back is wanted as well.
    Fixes,
    /// To be run one by one.
    Runs,
}

/// Reads, analyses and reports.
pub(crate) fn check(options: &CheckOptions, purpose: Purpose) -> Result<Checked, Error> {
    let baseline = options.baseline.as_deref().map(read_baseline).transpose()?;
    let mut analysed = analyse(&options.input, &options.models, options.resources)?;
    let root = analysed.read.root.clone();
    let since = options.changed_since.as_deref().map(|name| Revision::find(name, &root, &options.input.lifeline));
    let since = since.transpose()?;
    let config = input::report_config(&options.input);
    let wanted = Wanted::new(options, &analysed.read)?;
    if wanted.is_part() && options.write_baseline.is_some() {
        return Err(Error::Usage("a baseline of some files would forget the others: write it for all".to_owned()));
    }
    if wanted.matches_nothing(&analysed.program) {
        tell!(
            "no function that was read is in the files that were asked for: see the named files, --only and --exclude"
        );
    }
    wanted.narrow(&mut analysed, &config);
    let sources = Sources::new(&root, config.max_source);
    for (path, text) in options.input.overlay.iter() {
        sources.put(&shown_path(&path.to_string_lossy(), &root), text.to_vec());
    }
    let exploration = input::explore(&options.input, &analysed)?;
    input::keep(&options.input, &analysed)?;
    let contradicted = match options.second_opinion.unwrap_or(false) {
        true => Contradicted::new(&options.input, &analysed, &exploration)?,
        false => Contradicted::default(),
    };
    let wants_pictures = options.format == Some(ReportFormat::Html);
    let found = findings(&analysed, &exploration, &contradicted, &config, &sources, wants_pictures);
    let strict = options.strict.then(|| files_of(&analysed, &config, &root));
    let newer = newer_files(&analysed, &found, &root);
    let scope = scope(&wanted, since.as_ref(), &found, baseline.as_ref(), (&analysed, &config))?;
    let ignores = options.ignores.clone();
    let all = if purpose == Purpose::Fixes { everything(&root, found.clone(), &sources) } else { Vec::new() };
    let selection = Selection { merge_causes: purpose == Purpose::Report, ..selection(options, &analysed.read) };
    let choices = Choices { selection, baseline, ignores, strict, newer, scope };
    let mut report = Report::new(&root, found, &choices, &sources);
    fill_in(&mut report, &analysed, &exploration, &contradicted);
    // Where results may be kept, what a run costs depends on those before it, and a report must not.
    if !options.input.no_results {
        report.statistics.costs = Costs::default();
    }
    Ok(Checked { analysed, sources, report, exploration, all })
}

/// Findings that nothing is held back of.
fn everything(root: &Path, found: Vec<Finding>, sources: &Sources) -> Vec<Finding> {
    let selection = Selection {
        level: Level::Leaks,
        min_confidence: Confidence::Low,
        at_exit: true,
        alloc_failure: AllocFailure::Show,
        merge_causes: false,
    };
    Report::new(root, found, &Choices { selection, ..Choices::default() }, sources).findings
}

/// What cannot be written is told before the work, not after it.
fn check_destinations(options: &CheckOptions) -> Result<(), Error> {
    let failed = |place: &Destination, source| Error::Write { path: place.to_string(), source };
    match (&options.output, options.format) {
        (None, Some(ReportFormat::Html)) => return Err(needs_folder()),
        (Some(place), Some(ReportFormat::Html)) => html::check(place).map_err(|e| failed(place, e))?,
        (Some(place), _) => place.check().map_err(|e| failed(place, e))?,
        (None, _) => {}
    }
    match &options.write_baseline {
        Some(place) => place.check().map_err(|e| failed(place, e)),
        None => Ok(()),
    }
}

fn read_baseline(path: &Path) -> Result<Baseline, Error> {
    let failed = |reason: String| Error::Usage(format!("cannot use {} as the baseline: {reason}", path.display()));
    let text = caulk_files::read_text(path, MAX_BASELINE).map_err(|e| failed(e.to_string()))?;
    Baseline::parse(&text).map_err(|e| failed(e.to_string()))
}

/// What of the findings concerns the user.
fn scope(
    wanted: &Wanted,
    since: Option<&Revision>,
    found: &[Finding],
    baseline: Option<&Baseline>,
    (analysed, config): (&Analysed, &ReportConfig),
) -> Result<Scope, Error> {
    let known = baseline.into_iter().flat_map(Baseline::files);
    let changed = since.map(|revision| {
        let mut files: BTreeSet<String> = files_of(analysed, config, &analysed.read.root).into_iter().collect();
        files.extend(found.iter().flat_map(Finding::places).map(|site| site.file.clone()));
        revision.changed(&analysed.read.root, &files, &analysed.program)
    });
    Ok(Scope { unwanted: wanted.unwanted(found, known), changed: changed.transpose()? })
}

/// The files of the project itself, as the report names them.
pub(crate) fn files_of(analysed: &Analysed, config: &ReportConfig, root: &Path) -> Vec<String> {
    let units = analysed.program.units().filter(|(id, _)| !analysed.read.is_context(*id));
    let files = units.map(|(_, packed)| &packed.unit).flat_map(|unit| unit.files.values().map(|file| unit.str(*file)));
    let own: BTreeSet<String> =
        files.filter(|file| !config.is_system(file)).map(|file| shown_path(file, root)).collect();
    own.into_iter().collect()
}

/// Files that findings speak of and that are newer than a unit compiled from them.
fn newer_files(analysed: &Analysed, found: &[Finding], root: &Path) -> BTreeSet<String> {
    let files: BTreeSet<&str> = found.iter().flat_map(Finding::places).map(|place| place.file.as_str()).collect();
    let modified = |file: &str| std::fs::metadata(root.join(file)).and_then(|m| m.modified()).ok();
    // A time that is yet to come says nothing.
    let now = SystemTime::now();
    let known = files.into_iter().filter_map(|file| Some((file, modified(file).filter(|time| *time <= now)?)));
    let modified: BTreeMap<&str, SystemTime> = known.collect();
    let mut newer = BTreeSet::new();
    for ((_, packed), compiled) in analysed.program.units().zip(&analysed.read.compiled) {
        let files = packed.unit.files.values().map(|file| shown_path(packed.unit.str(*file), root));
        newer.extend(files.filter(|file| modified.get(file.as_str()).is_some_and(|time| time > compiled)));
    }
    newer
}

fn write_file(place: &Destination, rendered: &str) -> Result<(), Error> {
    place.write(rendered.as_bytes()).map_err(|source| Error::Write { path: place.to_string(), source })
}

fn findings(
    analysed: &Analysed,
    exploration: &Exploration,
    contradicted: &Contradicted,
    config: &ReportConfig,
    sources: &Sources,
    wants_pictures: bool,
) -> Vec<Finding> {
    let Analysed { program, models, analysis, .. } = analysed;
    let narrator = Narrator::new(program, models, analysis, config, sources, &analysed.read.root);
    let judged = exploration.judged(analysis).filter(|(id, ..)| !contradicted.contains(*id));
    let mut pictures = wants_pictures.then(|| Pictures::new(analysed));
    let finding = |(_, candidate, verdict): (CandidateId, &Candidate, &Verdict)| {
        let evidence = match verdict {
            Verdict::Refuted(_) => return None,
            Verdict::Confirmed(witness) => confirmed(candidate, witness),
            Verdict::Unexamined => narrator.stage_one(candidate),
            // No path was seen that can be taken.
            Verdict::Cut => Evidence {
                confidence: Confidence::Low,
                reason: "the search for a path to it ran out of its budget",
                ..narrator.stage_one(candidate)
            },
        };
        let mut finding = narrator.finding(candidate, &evidence);
        finding.states = pictures.as_mut().and_then(|known| known.of(&narrator, candidate));
        Some(as_resource(finding, models.family(candidate.family)))
    };
    judged.filter_map(finding).collect()
}

/// What is closed and not freed goes under a rule of its own.
fn as_resource(finding: Finding, family: &Family) -> Finding {
    let Some(resource) = family.resource else { return finding };
    let kind = if finding.is_note() { finding.kind } else { Kind::Resource };
    let noun = resource.noun();
    let the = format!("the {noun}");
    let words = [
        ("nothing frees or keeps it", "nothing closes or keeps it"),
        ("neither freed nor", "neither closed nor"),
        ("nothing has freed it", "nothing has closed it"),
        ("is allocated by", "is opened by"),
        ("is not freed", "is not closed"),
        ("is never freed", "is never closed"),
        ("the memory", the.as_str()),
    ];
    let closed = |text: &str| words.iter().fold(text.to_owned(), |text, (freed, closed)| text.replace(freed, closed));
    let own = |step: Step| match step.kind {
        StepKind::Allocated | StepKind::Leaked => Step { text: closed(&step.text), ..step },
        _ => step,
    };
    let advice = finding
        .advice
        .map(|text| text.strip_prefix("free ").map_or(text.clone(), |what| format!("close {}", closed(what))));
    let (reason, headline) = (closed(&finding.reason), closed(&finding.headline));
    let steps = finding.steps.into_iter().map(own).collect();
    Finding { kind, noun: noun.to_owned(), reason, headline, advice, steps, ..finding }
}

/// Stage one, looking for all that may be reported.
pub(crate) fn analyse(
    input: &InputOptions,
    models: &ModelOptions,
    resources: Option<ResourcesArgument>,
) -> Result<Analysed, Error> {
    let resources: &[Resource] = match resources.unwrap_or_default() {
        ResourcesArgument::None => &[],
        ResourcesArgument::Streams => &[Resource::Stream],
        ResourcesArgument::All => &[Resource::Stream, Resource::Handle, Resource::Descriptor],
    };
    let known = if resources.contains(&Resource::Descriptor) { Models::with_descriptors() } else { Models::bundled() };
    if let Some(project) = input.kept.project() {
        project.results().for_models(mark(&model_texts(models)));
    }
    let models = known.and_files(&models.models)?;
    input::analyse_with(input, models, UseflowConfig { at_exit: true, resources, ..UseflowConfig::default() })
}

/// The user's models as they are now: what was found out with others does not hold.
fn model_texts(options: &ModelOptions) -> Vec<Option<Vec<u8>>> {
    options.models.iter().map(|path| caulk_files::read(path, MAX_MODELS).ok()).collect()
}

fn selection(options: &CheckOptions, read: &Read) -> Selection {
    let mut selection = Selection::default();
    if let Some(level) = options.report_level {
        selection.level = match level {
            0 => Level::AllPaths,
            1 => Level::Leaks,
            _ => Level::Allocations,
        };
    }
    if let Some(confidence) = options.min_confidence {
        selection.min_confidence = match confidence {
            ConfidenceArgument::Low => Confidence::Low,
            ConfidenceArgument::Medium => Confidence::Medium,
            ConfidenceArgument::High => Confidence::High,
        };
    }
    selection.at_exit = options.at_exit.unwrap_or(read.is_bare);
    if let Some(which) = options.alloc_failure {
        selection.alloc_failure = match which {
            AllocFailureArgument::Tested => AllocFailure::Tested,
            AllocFailureArgument::Show => AllocFailure::Show,
            AllocFailureArgument::Hide => AllocFailure::Hide,
            AllocFailureArgument::Only => AllocFailure::Only,
        };
    }
    selection
}

/// What was not looked at, and what it cost.
fn fill_in(report: &mut Report, analysed: &Analysed, exploration: &Exploration, contradicted: &Contradicted) {
    let Analysed { read, program, models, analysis, .. } = analysed;
    let lost = |unit: &caulk_frontend::LostUnit| LostUnit { source: unit.source.clone(), reason: unit.reason.clone() };
    report.run = run_of(&read.root);
    report.units_skipped = read.skipped.clone();
    let escaped = escaped(program, models, analysis);
    report.unknown = Unknown { objects: escaped.objects, functions: escaped.by };
    report.units_not_read = read.lost.iter().map(lost).collect();
    let cut = program.functions().filter(|f| analysis.summary(*f).cut && analysed.is_wanted(*f));
    report.functions_cut = cut.map(|f| program.function(f).name.to_owned()).collect();
    report.functions_cut.sort();
    report.statistics = statistics::of(analysed, exploration, contradicted.len());
}

/// What a reader of a kept report asks for.
fn run_of(root: &Path) -> Run {
    let name = root.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned());
    // Names of files need not be UTF-8.
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    Run {
        project: name,
        commit: git::commit(root).unwrap_or_default(),
        date: date::now(),
        options: arguments.join(" "),
    }
}

/// Writes the report where it was asked for.
fn deliver(
    report: &Report,
    sources: &Sources,
    options: &CheckOptions,
    fixes: &sarif_fixes::Fixes,
) -> Result<(), Error> {
    let rendered = match options.format.unwrap_or(ReportFormat::Text) {
        ReportFormat::Text if options.input.quiet => text::short(report),
        ReportFormat::Text => text::render(report, sources, &text_options(options)),
        ReportFormat::Json => json::render(report),
        ReportFormat::Sarif if options.full_path => sarif::render(report, sources, fixes),
        ReportFormat::Sarif => sarif::render(&without_details(report), sources, fixes),
        ReportFormat::Github => github::render(report),
        ReportFormat::CodeClimate => code_climate::render(report),
        ReportFormat::Junit => junit::render(report),
        ReportFormat::Csv => csv::render(report),
        ReportFormat::Html => return write_folder(report, sources, options),
    };
    match &options.output {
        Some(path) => write_file(path, &rendered),
        None => Ok(Output::new().write_all(rendered.as_bytes())?),
    }
}

/// The report with the steps that a reader has to know.
fn without_details(report: &Report) -> Report {
    let mut report = report.clone();
    report.findings.iter_mut().for_each(|finding| finding.steps.retain(|step| !step.detail));
    report
}

fn write_folder(report: &Report, sources: &Sources, options: &CheckOptions) -> Result<(), Error> {
    let folder = options.output.as_ref().ok_or_else(needs_folder)?;
    let failed = |source| Error::Write { path: folder.to_string(), source };
    html::write(folder, &html::render(report, sources)).map_err(failed)?;
    if !options.input.quiet {
        tell!("the report is {}", Path::new(&folder.to_string()).join("index.html").display());
    }
    Ok(())
}

fn needs_folder() -> Error {
    Error::Usage("a report in HTML is a folder: name one with -o DIR".to_owned())
}

fn text_options(options: &CheckOptions) -> TextOptions {
    let is_terminal = options.output.is_none() && std::io::stdout().is_terminal();
    let mut text = match terminal_size::terminal_size().filter(|_| is_terminal) {
        Some((terminal_size::Width(columns), terminal_size::Height(rows))) => {
            TextOptions::for_terminal(usize::from(columns), usize::from(rows))
        }
        None => TextOptions::default(),
    };
    let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    text.colour = match options.color.unwrap_or(ColorArgument::Auto) {
        ColorArgument::Auto => is_terminal && is_wanted,
        ColorArgument::Always => true,
        ColorArgument::Never => false,
    };
    if options.full_path {
        text.max_steps = usize::MAX;
    }
    text
}

/// Suppressions that are of no use, for readers of formats that have no place for them: a misspelt rule is told with --quiet too.
fn tell_unsaid(report: &Report, options: &CheckOptions) {
    let has_place = match options.format.unwrap_or(ReportFormat::Text) {
        ReportFormat::Text => !options.input.quiet,
        ReportFormat::Json | ReportFormat::Sarif => true,
        _ => false,
    };
    let complaints = report.complaints.iter().chain(&report.warnings).filter(|_| !has_place);
    complaints.for_each(|complaint| tell!("{}: {}", complaint.place, complaint.text));
}

/// On a terminal paths are for opening files: say where they start, if that is not here.
fn tell_root(report: &Report, options: &CheckOptions) {
    let is_text = options.format.unwrap_or(ReportFormat::Text) == ReportFormat::Text;
    let is_here = input::current_folder().is_ok_and(|current| current == Path::new(&report.root));
    if is_text && !is_here && report.counted().next().is_some() {
        tell!("paths are relative to {}", report.root);
    }
}

/// The last line: what the run came to.
fn tell(report: &Report, start: Instant) {
    let Statistics { units, functions, candidates, confirmed, replayed, refuted, undecided, .. } = &report.statistics;
    let by: Vec<String> = refuted.iter().map(|r| format!("{} by {}", r.count, r.layer)).collect();
    let number: usize = refuted.iter().map(|r| r.count).sum();
    let layers = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    tell!(
        "{}; {}, {}, {}: {confirmed} confirmed ({replayed} replayed), {number} refuted{layers}, {undecided} undecided; \
         {} cut; {:.1} s",
        count(report.leaks().count(), "leak", "leaks"),
        count(*units, "unit", "units"),
        count(*functions, "function", "functions"),
        count(*candidates, "candidate", "candidates"),
        count(report.functions_cut.len(), "function", "functions"),
        start.elapsed().as_secs_f64()
    );
}
