//! Fixes that were checked: the proposals of `caulk-fix` are compiled in memory and analysed with the whole program. Those are
//! offered whose findings are gone, with no new finding anywhere, and with nothing wrong done to freed memory on any explored path
//! of what they changed.
//!
//! An analysis costs as much as a check, so proposals are tried together: what goes wrong is blamed on the proposals of the
//! function it is in, those make room for the next proposals of their findings, and all are tried again, until nothing is wrong.
//! What is offered has so been checked as a whole; `--each` checks every fix alone as well.

mod compare;
mod convention;
mod safety;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use caulk_fix::{Edit, Patch, Proposal, borrowing, freeing, propose};
use caulk_frontend::Overlay;
use caulk_report::sarif_fixes::{self, Change};
use caulk_report::source::Sources;
use caulk_report::{Cause, Finding, ReportConfig};

use crate::arguments::CheckOptions;
use crate::commands::check::{Checked, Purpose, check, files_of};
use crate::error::Error;
use crate::input::{Analysed, report_config};
use crate::progress;
use safety::Safety;

/// Proposals tried for one finding.
const MAX_TRIES: usize = 5;
/// Analyses after which a problem of unknown origin takes all proposals with it that may have caused it: of a program with hundreds of findings
/// each costs as much as a first check of the changed units.
const MAX_ANALYSES: usize = 40;
/// Analyses of all proposals together, before a finding whose proposal fails gets no further one.
const MAX_ITERATIONS: usize = 12;

/// A fix that passed.
pub(crate) struct Fix {
    pub finding: Finding,
    pub proposal: Proposal,
}

/// A finding without a fix, and why.
pub(crate) struct Unfixed {
    pub finding: Finding,
    pub reason: String,
}

#[derive(Default)]
pub(crate) struct Fixes {
    pub found: Vec<Fix>,
    pub unfixed: Vec<Unfixed>,
    /// The changed files, with all fixes.
    pub texts: BTreeMap<String, Vec<u8>>,
}

impl Fixes {
    pub(crate) fn for_sarif(&self) -> sarif_fixes::Fixes {
        let fix = |fix: &Fix| {
            let edits = fix.proposal.patch.edits().iter();
            let changes = edits.map(|edit| Change {
                file: edit.file.clone(),
                start: edit.start,
                end: edit.end,
                text: edit.text.clone(),
            });
            let description = fix.proposal.title.clone();
            (fix.finding.fingerprint.clone(), sarif_fixes::Fix { description, changes: changes.collect() })
        };
        self.found.iter().map(fix).collect()
    }
}

/// Something that a set of proposals does wrong.
pub(crate) struct Problem {
    /// Functions that it may come from, the nearest first; none when that is not known.
    pub functions: Vec<String>,
    /// The finding that is still there, by its fingerprint without its number.
    pub still: Option<String>,
    /// The file that does not compile, and near which line of it as it was.
    pub file: Option<(String, Option<u32>)>,
    pub text: String,
}

/// A finding that is worked on.
struct Task<'a> {
    finding: &'a Finding,
    proposals: VecDeque<Proposal>,
    /// Why the first proposal failed.
    reason: Option<String>,
}

impl Task<'_> {
    fn fail(&mut self, text: &str, is_last: bool) {
        if let Some(failed) = self.proposals.pop_front() {
            self.reason.get_or_insert(format!("to {} is no fix: {text}", failed.title));
        }
        if is_last {
            self.proposals.clear();
        }
    }

    fn is_blamed(&self, problem: &Problem, suspicion: Suspicion, sources: &Sources) -> bool {
        let Some(proposal) = self.proposals.front() else { return false };
        let own = compare::kind(&self.finding.fingerprint);
        let function = &self.finding.loss.function;
        let file = problem.file.as_ref();
        match suspicion {
            Suspicion::Near => {
                problem.still.as_deref() == Some(own)
                    || problem.functions.first() == Some(function)
                    || file.is_some_and(|(file, line)| changes(proposal, sources, file, *line))
            }
            Suspicion::Far => {
                problem.functions.contains(function)
                    || file.is_some_and(|(file, _)| changes(proposal, sources, file, None))
            }
        }
    }
}

/// How close a proposal must be to a problem to be blamed for it: in the same function or near the same line, or else in what is
/// called there or somewhere in the same file.
#[derive(Clone, Copy)]
enum Suspicion {
    Near,
    Far,
}

/// Lines between a change and the line in which the compiler notices it.
const NEAR: u32 = 3;

/// Whether a proposal changes a file near a line.
fn changes(proposal: &Proposal, sources: &Sources, file: &str, line: Option<u32>) -> bool {
    let Some(source) = sources.get(file) else { return false };
    let own = proposal.patch.edits().iter().filter(|edit| edit.file == file);
    let is_near = |edit: &Edit| line.is_none_or(|line| source.line_at(edit.start).abs_diff(line) <= NEAR);
    own.into_iter().any(is_near)
}

/// Looks for fixes of findings. `each`: a fix must pass alone as well.
pub(crate) fn fixes(
    options: &CheckOptions,
    checked: &Checked,
    findings: &[&Finding],
    each: bool,
) -> Result<Fixes, Error> {
    let checker = Checker::new(options, checked);
    let task = |finding: &&'_ Finding| {
        let by_convention = convention::by_convention(&checked.analysed, finding);
        let reason = checker.freed_elsewhere(finding).or_else(|| checker.freed_elsewhere(&by_convention));
        let reason = reason.or_else(|| checker.set_elsewhere(finding));
        let proposals = proposals(checked, finding).into_iter().take(MAX_TRIES);
        let proposals = proposals.filter(|_| reason.is_none()).collect();
        Task { finding: checked_finding(checked, finding), proposals, reason }
    };
    let mut tasks: Vec<Task<'_>> = findings.iter().map(task).collect();
    if each {
        checker.try_each(&mut tasks)?;
    }
    let patch = checker.try_together(&mut tasks)?;
    let mut fixes = Fixes { texts: patch.texts(&checked.sources).unwrap_or_default(), ..Fixes::default() };
    for mut task in tasks {
        let finding = task.finding.clone();
        match task.proposals.pop_front() {
            Some(proposal) => fixes.found.push(Fix { finding, proposal }),
            None => {
                let none = || "there is no obvious fix for a leak of this kind".to_owned();
                fixes.unfixed.push(Unfixed { finding, reason: task.reason.unwrap_or_else(none) });
            }
        }
    }
    Ok(fixes)
}

/// What could be done about a finding, not checked.
pub(crate) fn proposals(checked: &Checked, finding: &Finding) -> Vec<Proposal> {
    propose(&convention::by_convention(&checked.analysed, finding), &checked.sources)
}

/// The finding in the report, which outlives the list of those that were asked for.
fn checked_finding<'c>(checked: &'c Checked, wanted: &Finding) -> &'c Finding {
    let mut findings = checked.report.findings.iter();
    findings.find(|f| f.fingerprint == wanted.fingerprint).expect("findings to fix are taken from the report")
}

struct Checker<'a> {
    options: CheckOptions,
    before: &'a Checked,
    safety: Safety<'a>,
    /// How often the program was analysed with a patch.
    analyses: Cell<usize>,
}

impl<'a> Checker<'a> {
    fn new(options: &CheckOptions, before: &'a Checked) -> Self {
        let mut options = options.clone();
        options.input.quiet = true;
        // What is compared are all findings, whatever is known of them already.
        (options.baseline, options.changed_since, options.strict) = (None, None, false);
        Self { options, before, safety: Safety::new(&before.analysed), analyses: Cell::new(0) }
    }

    /// Why a destructor must not free a field that it misses, if another function does so. Which of the two comes first cannot be seen
    /// where one is called later, through an event or another thread.
    fn freed_elsewhere(&self, finding: &Finding) -> Option<String> {
        let is_field = matches!(finding.cause, Cause::FieldMissed | Cause::FieldPassedOver);
        let field = finding.variable.as_deref().filter(|_| is_field)?.rsplit('.').next()?;
        let Analysed { program, read, .. } = &self.before.analysed;
        let own = program.functions_named(&finding.loss.function).into_iter().map(|f| program.function(f));
        let own: Vec<(u32, u32)> = own.map(|info| (info.line, info.last_line)).collect();
        let files = files_of(&self.before.analysed, &report_config(&self.options.input), &read.root);
        let is_own = |file: &str, line: u32| {
            file == finding.loss.file && own.iter().any(|(first, last)| (*first..=*last).contains(&line))
        };
        let (file, line) = freeing(&self.before.sources, &files, &finding.family, field, &is_own)?;
        Some(format!("{file}:{line} frees a field of this name too, perhaps before"))
    }

    /// Why a field must not be freed, if it is set to what is no block of its own somewhere.
    fn set_elsewhere(&self, finding: &Finding) -> Option<String> {
        let is_field = matches!(finding.cause, Cause::FieldMissed | Cause::FieldPassedOver | Cause::FieldOverwritten);
        let field = finding.variable.as_deref().filter(|_| is_field)?.rsplit('.').next()?;
        let files =
            files_of(&self.before.analysed, &report_config(&self.options.input), &self.before.analysed.read.root);
        let (file, line) = borrowing(&self.before.sources, &files, field)?;
        Some(format!("{file}:{line} sets a field of this name to what is no block of its own"))
    }

    /// Leaves each finding the first proposal that passes alone.
    fn try_each(&self, tasks: &mut [Task<'_>]) -> Result<(), Error> {
        let bar = progress::bar(tasks.len(), "fixing", self.options.input.quiet);
        for task in tasks {
            while let Some(proposal) = task.proposals.front() {
                let problems = self.problems(&proposal.patch, &[(task.finding, proposal)])?;
                let Some(problem) = problems.first() else { break };
                task.fail(&problem.text, false);
            }
            task.proposals.truncate(1);
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Leaves each finding the proposal that passes with those of the others, and gives all of these together.
    fn try_together(&self, tasks: &mut [Task<'_>]) -> Result<Patch, Error> {
        self.analyses.set(0);
        for iteration in 0.. {
            let patch = join(tasks);
            let active: Vec<(&Finding, &Proposal)> =
                tasks.iter().filter_map(|task| Some((task.finding, task.proposals.front()?))).collect();
            if active.is_empty() {
                break;
            }
            let problems = self.problems(&patch, &active)?;
            if problems.is_empty() {
                return Ok(patch);
            }
            let mut blamed: BTreeMap<usize, String> = BTreeMap::new();
            let mut unknown: Option<&Problem> = None;
            for problem in &problems {
                let blamed_by = |suspicion: Suspicion| -> Vec<usize> {
                    let is_blamed = |at: &usize| tasks[*at].is_blamed(problem, suspicion, &self.before.sources);
                    (0..tasks.len()).filter(is_blamed).collect()
                };
                let own = [Suspicion::Near, Suspicion::Far].map(blamed_by).into_iter().find(|own| !own.is_empty());
                match own {
                    Some(own) => {
                        own.into_iter().for_each(|at| _ = blamed.entry(at).or_insert_with(|| problem.text.clone()))
                    }
                    None => unknown = unknown.or(Some(problem)),
                }
            }
            // It may go with those that are known, and others of its kind with it. Else fewer are tried.
            if let Some(problem) = unknown.filter(|_| blamed.is_empty()) {
                let own = self.guilty(tasks, problem)?;
                own.into_iter().for_each(|at| _ = blamed.insert(at, problem.text.clone()));
            }
            let is_last = iteration >= MAX_ITERATIONS || self.analyses.get() >= MAX_ANALYSES;
            for (at, text) in blamed {
                tasks[at].fail(&text, is_last);
            }
        }
        Ok(Patch::default())
    }

    /// The proposal that a problem comes from, perhaps with some of those before it: the first that the problem is there with. Without it
    /// the others may go on. When enough was analysed, all that are still to blame.
    fn guilty(&self, tasks: &[Task<'_>], problem: &Problem) -> Result<Vec<usize>, Error> {
        let active: Vec<usize> = (0..tasks.len()).filter(|at| !tasks[*at].proposals.is_empty()).collect();
        // With none of them there is no problem, and with all there is.
        let (mut fine, mut wrong) = (0, active.len());
        while wrong - fine > 1 && self.analyses.get() < MAX_ANALYSES {
            let middle = fine + (wrong - fine) / 2;
            let some: Vec<(&Finding, &Proposal)> =
                active[..middle].iter().map(|at| (tasks[*at].finding, &tasks[*at].proposals[0])).collect();
            let patch = some.iter().try_fold(Patch::default(), |patch, (_, proposal)| patch.and(&proposal.patch));
            let found = self.problems(&patch.unwrap_or_default(), &some)?;
            if found.iter().any(|other| other.text == problem.text) {
                wrong = middle;
            } else {
                fine = middle;
            }
        }
        Ok(active.get(fine..wrong).unwrap_or_default().to_vec())
    }

    /// Analyses the program with a patch, and says what is wrong then.
    fn problems(&self, patch: &Patch, active: &[(&Finding, &Proposal)]) -> Result<Vec<Problem>, Error> {
        self.analyses.set(self.analyses.get() + 1);
        let root = &self.before.analysed.read.root;
        let problem = |text: &str| Problem { functions: Vec::new(), still: None, file: None, text: text.to_owned() };
        let Some(texts) = patch.texts(&self.before.sources) else {
            return Ok(vec![problem("the file cannot be read")]);
        };
        let mut options = self.options.clone();
        // An editor's unsaved texts are what the fix is made for.
        let unsaved = self.options.input.overlay.iter().map(|(path, text)| (path.to_owned(), text.to_vec()));
        let changed = texts.iter().map(|(file, text)| (root.join(file), text.clone()));
        options.input.overlay = Overlay::strict(unsaved.chain(changed).collect());
        let after = match check(&options, Purpose::Fixes) {
            Ok(after) => after,
            Err(Error::NothingRead(_)) => return Ok(vec![problem("the changed text does not compile")]),
            Err(error) => return Err(error),
        };
        let lost = compare::lost(self.before, &after, &texts);
        // With a unit less, all else is different too.
        if !lost.is_empty() {
            return Ok(lost);
        }
        let targets: Vec<&str> = active.iter().map(|(finding, _)| finding.fingerprint.as_str()).collect();
        let freeing = active.iter().filter(|(_, proposal)| proposal.frees_callers);
        let freeing: BTreeSet<&str> = freeing.map(|(finding, _)| finding.loss.function.as_str()).collect();
        let mut problems = compare::findings(&self.before.all, &after.all, &targets);
        problems.extend(self.safety.problems(&after.analysed, &self.before.sources, &texts, &freeing));
        Ok(problems)
    }
}

/// All proposals together. One that overlaps those before it fails.
fn join(tasks: &mut [Task<'_>]) -> Patch {
    let mut patch = Patch::default();
    for task in tasks {
        while let Some(proposal) = task.proposals.front() {
            match patch.and(&proposal.patch) {
                Some(joined) => {
                    patch = joined;
                    break;
                }
                None => task.fail("it overlaps the fix of another leak; try again when that is fixed", false),
            }
        }
    }
    patch
}

/// Largest source that is changed.
pub(crate) fn max_source() -> u64 {
    ReportConfig::default().max_source
}
