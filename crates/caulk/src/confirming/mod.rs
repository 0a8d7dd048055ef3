//! Findings that are run: the path that stage two replayed becomes the inputs of a harness (`caulk-harness`), which is built with the
//! project's own units and run until LeakSanitizer reports memory of the finding's place, or no inputs are left to try.

mod calls;
mod deciding;
mod memory;
mod replace;
mod route;
mod scope;
mod search;
mod subject;
mod texts;
mod tries;

use std::cell::RefCell;
use std::collections::BTreeSet;

use caulk_capture::CompileJob;
use caulk_explore::{Exploration, Inputs, Verdict, Witness};
use caulk_files::Destination;
use caulk_frontend::Clang;
use caulk_harness::{Builder, Built, Ended, HarnessLimits, Outcome, Plan, Reason, Request, Stub, Variable, Wanted};
use caulk_ir::Body;
use caulk_ir::entity::Entity;
use caulk_process::{Limits, Runner};
use caulk_program::{FuncId, GlobalVarId, Program};
use caulk_report::{Finding, shown_path};
use caulk_useflow::Analysis;

use crate::commands::check::Checked;
use crate::error::Error;
use calls::Calls;
use route::Route;
use scope::{Scripted, Symbols};
use search::{Best, Choice, Search};
use subject::{By, Parts, Subject};
use texts::NeededText;
use tries::tries;

/// How much is tried for a finding. All bounds but that of one run are counts, so that the answer does not depend on time.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    /// Runs for one finding with the functions that it calls, and as many again with stubs for them.
    pub max_runs: usize,
    /// Runs in which one allocation fails, for each way to fill memory.
    pub max_failures: u32,
    /// Runs that do not end in time before no more are tried.
    pub max_overdue: usize,
    /// What each run may use.
    pub limits: HarnessLimits,
}

/// Paths of one finding that are tried.
const MAX_PATHS: usize = 3;
const NO_PATH: &str = "no path was replayed for it";

impl Default for Effort {
    fn default() -> Self {
        Self { max_runs: 80, max_failures: 40, max_overdue: 3, limits: HarnessLimits::default() }
    }
}

/// What came of one finding.
pub(crate) struct Confirmation {
    pub outcome: Outcome,
    pub runs: usize,
    /// The harness and the inputs of the run that counts, if it came so far.
    pub harness: Option<(Built, Plan)>,
}

impl Confirmation {
    fn without_run(reason: Reason) -> Self {
        Self { outcome: Outcome::NotConfirmed(reason), runs: 0, harness: None }
    }

    fn of(built: Built, runs: usize, best: Option<Best>) -> Self {
        let (outcome, plan) = match best {
            Some(Best { outcome, plan, .. }) => (outcome, plan),
            None => (Outcome::NotConfirmed(Reason::Failed("nothing was run".to_owned())), Plan::default()),
        };
        Self { outcome, runs, harness: Some((built, plan)) }
    }

    /// Whether stubs in the place of functions may help.
    fn wants_stubs(&self) -> bool {
        let Outcome::NotConfirmed(reason) = &self.outcome else { return false };
        matches!(
            reason,
            Reason::NotLost(_) | Reason::HandedToStub(_) | Reason::Crashed(_) | Reason::Exited | Reason::TimedOut(_)
        )
    }

    /// This answer, or that of runs with stubs if they confirm the finding: else what happened without them says more.
    fn or_confirmed_by(mut self, other: Self) -> Self {
        self.runs += other.runs;
        match other.outcome {
            Outcome::Confirmed { .. } => Self { runs: self.runs, ..other },
            Outcome::NotConfirmed(_) => self,
        }
    }
}

/// Runs findings of one project.
pub(crate) struct Session<'a> {
    checked: &'a Checked,
    exploration: &'a Exploration,
    builder: Builder<'a>,
    symbols: Symbols<'a>,
    runner: Runner,
    effort: Effort,
}

/// The path of a finding.
struct PathOf {
    function: FuncId,
    inputs: Inputs,
    texts: Vec<NeededText>,
    route: Route,
    /// The file of the function, as findings name it.
    file: String,
}

impl PathOf {
    fn new(program: &Program, function: FuncId, body: &Body, witness: &Witness, file: &str) -> Self {
        let inputs = witness.inputs.clone();
        let texts = texts::needed(program, &inputs, |call| scope::callee(program, function, call));
        Self { function, inputs, texts, route: Route::of(body, witness), file: file.to_owned() }
    }
}

impl<'a> Session<'a> {
    pub(crate) fn new(checked: &'a Checked, clang: &'a Clang, runner: Runner, effort: Effort) -> Result<Self, Error> {
        let jobs: &'a [Option<CompileJob>] = &checked.analysed.read.jobs;
        let folder = |error| Error::Usage(format!("cannot make a folder for temporary files: {error}"));
        let builder = Builder::new(clang, runner.clone(), jobs).map_err(folder)?;
        let symbols = Symbols::new(&checked.analysed.program, &checked.analysed.analysis);
        Ok(Self { checked, exploration: &checked.exploration, builder, symbols, runner, effort })
    }

    fn program(&self) -> &'a Program {
        &self.checked.analysed.program
    }

    fn analysis(&self) -> &'a Analysis {
        &self.checked.analysed.analysis
    }

    pub(crate) fn confirm(&mut self, finding: &Finding) -> Confirmation {
        let paths = match self.paths_of(finding) {
            Ok(paths) => paths,
            Err(why) => return Confirmation::without_run(Reason::NotOnePath(why)),
        };
        let mut best: Option<Confirmation> = None;
        for path in &paths {
            let found = self.confirm_path(path, finding);
            let is_last = !found.wants_stubs();
            best = Some(match best {
                Some(first) => first.or_confirmed_by(found),
                None => found,
            });
            if is_last {
                break;
            }
        }
        best.unwrap_or_else(|| Confirmation::without_run(Reason::NotOnePath(NO_PATH.to_owned())))
    }

    fn confirm_path(&mut self, path: &PathOf, finding: &Finding) -> Confirmation {
        let parts = match self.parts(path) {
            Ok(parts) => parts,
            Err(why) => return Confirmation::without_run(Reason::Unsupported(why)),
        };
        let calls = Calls::of(self.program(), self.analysis(), path.function);
        match self.by_calls(path, &parts, &calls, finding) {
            Some(found) if !found.wants_stubs() => found,
            Some(found) => match self.with_replaced(path, &parts, finding) {
                Some(other) => found.or_confirmed_by(other),
                None => found,
            },
            None => self.by_functions(path, &parts, finding),
        }
    }

    /// Calls of the function are left out or made one by one; None where that is not possible.
    fn by_calls(&mut self, path: &PathOf, parts: &Parts, calls: &Calls, finding: &Finding) -> Option<Confirmation> {
        let built = match self.build(parts, &calls.stubs) {
            Ok(built) => built,
            Err(reason) => return Some(Confirmation::without_run(reason)),
        };
        if !built.has_calls() {
            return None;
        }
        let wanted = self.wanted(finding);
        let subject = Subject {
            program: self.program(),
            path,
            parts,
            by: By::Calls(calls),
            errno: scope::errno(self.program(), path.function, &path.inputs),
        };
        let (runs, best) = self.try_calls(&built, &subject, calls, &wanted, finding.needs_alloc_failure);
        Some(Confirmation::of(built, runs, best))
    }

    /// Functions of other units are called or replaced, wherever they are called from.
    fn by_functions(&mut self, path: &PathOf, parts: &Parts, finding: &Finding) -> Confirmation {
        let scripted = scope::scripted(self.program(), self.analysis(), path.function, &path.inputs);
        let errno = scope::errno(self.program(), path.function, &path.inputs);
        let by = By::Functions { scripted: &scripted, decides_results: false };
        let subject = Subject { program: self.program(), path, parts, by, errno };
        let first = self.build_and_try(&subject, &scripted, finding);
        if !first.wants_stubs() {
            return first;
        }
        match self.with_replaced(path, parts, finding) {
            Some(other) => first.or_confirmed_by(other),
            None => first,
        }
    }

    /// Functions of other units are not called; None where there are none.
    fn with_replaced(&mut self, path: &PathOf, parts: &Parts, finding: &Finding) -> Option<Confirmation> {
        let scripted = scope::scripted(self.program(), self.analysis(), path.function, &path.inputs);
        let scripted = replace::replaced(self.program(), self.analysis(), path.function, &scripted)?;
        let errno = scope::errno(self.program(), path.function, &path.inputs);
        let by = By::Functions { scripted: &scripted, decides_results: true };
        let subject = Subject { program: self.program(), path, parts, by, errno };
        Some(self.build_and_try(&subject, &scripted, finding))
    }

    fn wanted(&self, finding: &Finding) -> Wanted {
        let file = self.checked.analysed.read.root.join(&finding.allocation.site.file);
        Wanted { file, line: finding.allocation.site.line }
    }

    fn parts(&self, path: &PathOf) -> Result<Parts, String> {
        let target = scope::target(self.program(), path.function)?;
        let home = self.program().function(path.function).unit.index();
        let units = scope::units(self.program(), path.function);
        let variables = scope::variables(self.program(), home, &units, &path.inputs);
        Ok(Parts { target, home, units, variables })
    }

    fn build_and_try(&mut self, subject: &Subject<'_>, scripted: &Scripted, finding: &Finding) -> Confirmation {
        let built = match self.build(subject.parts, &scripted.stubs) {
            Ok(built) => built,
            Err(reason) => return Confirmation::without_run(reason),
        };
        let wanted = self.wanted(finding);
        self.try_all(built, subject, &wanted, finding.needs_alloc_failure)
    }

    /// Writes the harness of a finding, and the inputs that came nearest, to a folder.
    pub(crate) fn keep(&self, confirmation: &Confirmation, place: &Destination) -> Result<(), Error> {
        let Some((built, plan)) = &confirmation.harness else { return Ok(()) };
        let kept = place.folder().and_then(|folder| self.builder.keep(built, plan, &folder));
        kept.map_err(|source| Error::Write { path: place.to_string(), source })
    }

    /// The candidates that a finding was made of, and what their paths need: those that end where it says first.
    fn paths_of(&self, finding: &Finding) -> Result<Vec<PathOf>, String> {
        let (program, root) = (self.program(), &self.checked.analysed.read.root);
        let mut found: Vec<(bool, PathOf)> = Vec::new();
        let mut reason = NO_PATH;
        for function in program.functions_named(&finding.loss.function) {
            let Some(body) = program.body(function) else { continue };
            let is_here =
                program.function(function).file.is_some_and(|file| shown_path(file, root) == finding.loss.file);
            let candidates = &self.analysis().reports[function].candidates;
            for (_, candidate, verdict) in self.exploration.judged_of(function, candidates) {
                if !candidate.loss.is_on_path() && body.place(candidate.place).line == finding.loss.line {
                    reason = "what is lost was allocated by another call, and kept in a field until then";
                }
                let Verdict::Confirmed(witness) = verdict else { continue };
                let is_made_here = body.place(candidate.allocation).line == finding.allocation.site.line;
                let is_known = |(_, path): &(bool, PathOf)| path.inputs == witness.inputs;
                if is_made_here && is_here && !found.iter().any(is_known) {
                    let is_elsewhere = body.place(witness.place).line != finding.loss.line;
                    found.push((is_elsewhere, PathOf::new(program, function, &body, witness, &finding.loss.file)));
                }
            }
        }
        if found.is_empty() {
            return Err(reason.to_owned());
        }
        found.sort_by_key(|(is_elsewhere, _)| *is_elsewhere);
        Ok(found.into_iter().map(|(_, path)| path).take(MAX_PATHS).collect())
    }

    fn build(&mut self, parts: &Parts, wrapped: &[Stub]) -> Result<Built, Reason> {
        let program = self.program();
        let variable = |global: &GlobalVarId| {
            let info = program.global(*global);
            Variable { symbol: info.symbol.to_owned(), is_thread_local: info.declaration.thread_local }
        };
        let variables: Vec<Variable> = parts.variables.iter().map(variable).collect();
        let added = RefCell::new(BTreeSet::new());
        let symbols = &self.symbols;
        let undefined = |symbol: &str| symbols.undefined(symbol, &mut added.borrow_mut());
        let request = Request {
            target: &parts.target,
            home: parts.home,
            units: &parts.units,
            variables: &variables,
            wrapped,
            undefined: &undefined,
        };
        self.builder.build(&request)
    }

    /// Runs one try after the other until the leak is seen.
    fn try_all(&self, built: Built, subject: &Subject<'_>, wanted: &Wanted, needs_failure: bool) -> Confirmation {
        let mut search = Search::new(self, &built, wanted, subject.path);
        let constants = subject.constants();
        for one in tries(&constants) {
            let plan = subject.plan(one, &[]);
            let Some(run) = search.run(&plan) else { break };
            let Ended::Returned { allocations } = run.ended else { continue };
            // The path wants one to fail: which, is found out by trying.
            for failing in 1..=allocations.min(self.effort.max_failures) {
                if !needs_failure || search.is_confirmed() {
                    break;
                }
                if search.run(&plan.clone().failing_at(failing)).is_none() {
                    break;
                }
            }
            if search.is_confirmed() {
                break;
            }
        }
        let (runs, best) = (search.runs, search.best);
        Confirmation::of(built, runs, best)
    }

    /// Runs one try after the other, each with several sets of calls that are left out.
    fn try_calls(
        &self,
        built: &Built,
        subject: &Subject<'_>,
        calls: &Calls,
        wanted: &Wanted,
        needs_failure: bool,
    ) -> (usize, Option<Best>) {
        let mut search = Search::new(self, built, wanted, subject.path);
        let constants = subject.constants();
        let starts = subject.body().map_or_else(Vec::new, |body| calls.starts(&body, &subject.path.inputs));
        let mut choices: Vec<Choice> = starts.into_iter().map(Choice::new).collect();
        let all = tries(&constants).into_iter().filter(|one| !one.decides_results);
        'all: for (number, one) in all.enumerate() {
            for choice in &mut choices {
                let plan = subject.plan(one, &choice.needs);
                let Some((run, plan)) = search.run_with(&plan, choice, calls) else { break 'all };
                if search.is_confirmed_by_trust() {
                    break 'all;
                }
                let allocations = match run.ended {
                    Ended::Returned { allocations } => allocations,
                    _ => 0,
                };
                for failing in 1..=allocations.min(self.effort.max_failures) {
                    if !needs_failure || search.is_confirmed() {
                        break;
                    }
                    if search.run(&plan.clone().failing_at(failing)).is_none() || search.is_confirmed_by_trust() {
                        break 'all;
                    }
                }
            }
            if number == 0 {
                // Other memory is tried with the calls that brought the first runs farthest.
                choices.sort_by_key(|choice| std::cmp::Reverse(choice.farthest()));
                choices.truncate(1);
            }
            let Some(choice) = choices.first_mut() else { break };
            if search.turn(subject, one, choice, calls).is_none() {
                break;
            }
        }
        search.strengthen(calls);
        (search.runs, search.best)
    }
}

/// How the project's objects are compiled and linked.
pub(crate) fn limits(usual: &Limits) -> Limits {
    /// The linker says a line for each missing symbol.
    const LINKER_OUTPUT: usize = 16 << 20;
    Limits { kept_output_bytes: LINKER_OUTPUT, ..usual.clone() }
}
