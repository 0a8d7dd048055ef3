//! Findings that are run: the path that stage two replayed becomes the inputs of a harness (`caulk-harness`), which is built with the
//! project's own units and run until LeakSanitizer reports memory of the finding's place, or no inputs are left to try.

mod memory;
mod replace;
mod scope;
mod tries;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use caulk_capture::CompileJob;
use caulk_explore::{Exploration, InputPlace, InputValue, Inputs, Verdict};
use caulk_files::Destination;
use caulk_frontend::Clang;
use caulk_harness::{
    Builder, Built, Ended, HarnessLimits, Outcome, Plan, Reason, Request, Run, StubKind, StubResult, Target, Wanted,
    Word,
};
use caulk_ir::InstId;
use caulk_ir::entity::Entity;
use caulk_process::{Limits, Runner};
use caulk_program::{FuncId, GlobalVarId, Program};
use caulk_report::{Finding, shown_path};
use caulk_useflow::Analysis;

use crate::commands::check::Checked;
use crate::error::Error;
use memory::Memory;
use scope::{Scripted, Symbols};
use tries::{Try, tries};

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

    /// Whether stubs in the place of functions may help.
    fn wants_stubs(&self) -> bool {
        let Outcome::NotConfirmed(reason) = &self.outcome else { return false };
        matches!(reason, Reason::NotLost | Reason::Crashed(_) | Reason::Exited | Reason::TimedOut(_))
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
        let path = match self.path_of(finding) {
            Ok(path) => path,
            Err(why) => return Confirmation::without_run(Reason::NotOnePath(why)),
        };
        let parts = match self.parts(&path) {
            Ok(parts) => parts,
            Err(why) => return Confirmation::without_run(Reason::Unsupported(why)),
        };
        let scripted = scope::scripted(self.program(), self.analysis(), path.function, &path.inputs);
        let errno = scope::errno(self.program(), path.function, &path.inputs);
        let subject = Subject {
            program: self.program(),
            path: &path,
            parts: &parts,
            scripted: &scripted,
            decides_results: false,
            errno,
        };
        let first = self.build_and_try(&subject, finding);
        if !first.wants_stubs() {
            return first;
        }
        let Some(scripted) = replace::replaced(self.program(), self.analysis(), path.function, &scripted) else {
            return first;
        };
        let subject = Subject { scripted: &scripted, decides_results: true, ..subject };
        first.or_confirmed_by(self.build_and_try(&subject, finding))
    }

    fn parts(&self, path: &PathOf) -> Result<Parts, String> {
        let target = scope::target(self.program(), path.function)?;
        let home = self.program().function(path.function).unit.index();
        let units = scope::units(self.program(), path.function);
        let variables = scope::variables(self.program(), home, &units, &path.inputs);
        Ok(Parts { target, home, units, variables })
    }

    fn build_and_try(&mut self, subject: &Subject<'_>, finding: &Finding) -> Confirmation {
        let built = match self.build(subject.parts, subject.scripted) {
            Ok(built) => built,
            Err(reason) => return Confirmation::without_run(reason),
        };
        let file = self.checked.analysed.read.root.join(&finding.allocation.site.file);
        let wanted = Wanted { file, line: finding.allocation.site.line };
        self.try_all(built, subject, &wanted, finding.needs_alloc_failure)
    }

    /// Writes the harness of a finding, and the inputs that came nearest, to a folder.
    pub(crate) fn keep(&self, confirmation: &Confirmation, place: &Destination) -> Result<(), Error> {
        let Some((built, plan)) = &confirmation.harness else { return Ok(()) };
        let kept = place.folder().and_then(|folder| self.builder.keep(built, plan, &folder));
        kept.map_err(|source| Error::Write { path: place.to_string(), source })
    }

    /// The candidate that a finding was made of, and what its path needs.
    fn path_of(&self, finding: &Finding) -> Result<PathOf, String> {
        let (program, root) = (self.program(), &self.checked.analysed.read.root);
        let mut best: Option<(bool, PathOf)> = None;
        let mut reason = "no path was replayed for it";
        for function in program.functions_named(&finding.loss.function) {
            let Some(body) = program.body(function) else { continue };
            let is_here =
                program.function(function).file.is_some_and(|file| shown_path(file, root) == finding.loss.file);
            let candidates = &self.analysis().reports[function].candidates;
            for (candidate, verdict) in candidates.iter().zip(&self.exploration.verdicts[function]) {
                if !candidate.loss.is_on_path() && body.place(candidate.place).line == finding.loss.line {
                    reason = "what is lost was allocated by another call, and kept in a field until then";
                }
                let Verdict::Confirmed(witness) = verdict else { continue };
                let is_made_here = body.place(candidate.allocation).line == finding.allocation.site.line;
                if !is_made_here || !is_here {
                    continue;
                }
                let is_lost_here = body.place(witness.place).line == finding.loss.line;
                if best.as_ref().is_none_or(|(is_lost, _)| !is_lost && is_lost_here) {
                    best = Some((is_lost_here, PathOf { function, inputs: witness.inputs.clone() }));
                }
            }
        }
        best.map(|(_, path)| path).ok_or_else(|| reason.to_owned())
    }

    fn build(&mut self, parts: &Parts, scripted: &Scripted) -> Result<Built, Reason> {
        let program = self.program();
        let symbol = |global: &GlobalVarId| program.global(*global).symbol.to_owned();
        let names: Vec<String> = parts.variables.iter().map(symbol).collect();
        let added = RefCell::new(BTreeSet::new());
        let symbols = &self.symbols;
        let undefined = |symbol: &str| symbols.undefined(symbol, &mut added.borrow_mut());
        let request = Request {
            target: &parts.target,
            home: parts.home,
            units: &parts.units,
            variables: &names,
            wrapped: &scripted.stubs,
            undefined: &undefined,
        };
        self.builder.build(&request)
    }

    /// Runs one try after the other until the leak is seen.
    fn try_all(&self, built: Built, subject: &Subject<'_>, wanted: &Wanted, needs_failure: bool) -> Confirmation {
        let mut search = Search { session: self, built: &built, wanted, runs: 0, overdue: 0, best: None };
        let constants = scope::constants(subject.program, subject.path.function);
        for one in tries(&constants) {
            let plan = subject.plan(one);
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
        let (outcome, plan) = match best {
            Some((_, outcome, plan)) => (outcome, plan),
            None => (Outcome::NotConfirmed(Reason::Failed("nothing was run".to_owned())), Plan::default()),
        };
        Confirmation { outcome, runs, harness: Some((built, plan)) }
    }
}

/// What a harness is linked from.
struct Parts {
    target: Target,
    home: usize,
    units: Vec<usize>,
    variables: Vec<GlobalVarId>,
}

/// What is run.
struct Subject<'a> {
    program: &'a Program,
    path: &'a PathOf,
    parts: &'a Parts,
    scripted: &'a Scripted,
    /// Results of the project's own functions are those of the path, in every run.
    decides_results: bool,
    /// What the path needs `errno` to be where a function fails.
    errno: Option<u64>,
}

impl Subject<'_> {
    fn plan(&self, one: Try<'_>) -> Plan {
        let info = self.program.function(self.path.function);
        let mut memory = Memory::new(self.program, &self.parts.variables, one.filling);
        memory.fill(info.unit, info.declaration, &self.parts.target.parameters);
        if one.follows_path {
            self.path.inputs.values.iter().for_each(|(place, value)| memory.need(place, *value));
        }
        let (mut plan, results) = memory.finish();
        (plan.numbers, plan.pointers) = (one.results.number, one.results.pointers);
        plan.errno = self.errno.filter(|_| one.follows_path);
        if one.follows_path {
            self.script(&mut plan, &results, self.decides_results || one.decides_results);
        }
        plan
    }

    /// Results that the path needs. A pointer that is not null is left to the function itself, or to its stub, unless the path speaks of
    /// what it points to.
    fn script(&self, plan: &mut Plan, results: &BTreeMap<(u32, InstId), usize>, decides_all: bool) {
        for (place, value) in &self.path.inputs.values {
            let InputPlace::Result { nth, call } = place else { continue };
            let word = match value {
                InputValue::Number(bits, number) => Word::Number(sign_extended(*bits, *number)),
                InputValue::Null => Word::Number(0),
                InputValue::NotNull => match results.get(&(*nth, *call)) {
                    Some(block) => Word::Block(*block),
                    None => continue,
                },
            };
            let all = self.scripted.stubs.iter().zip(&self.scripted.calls).enumerate();
            for (stub, (about, calls)) in all.filter(|(_, (stub, _))| decides_all || !stub.is_replaced) {
                if matches!(word, Word::Block(_)) && !is_stub_for_pointer(about.kind) {
                    continue;
                }
                if let Some(at) = calls.iter().position(|own| *own == (*nth, *call)) {
                    let which = if calls.len() == 1 { 0 } else { at as u32 + 1 };
                    plan.result(stub, which, word);
                }
            }
        }
    }
}

/// Whether nothing but a stub is called, and its result is no fresh memory.
fn is_stub_for_pointer(kind: StubKind) -> bool {
    matches!(kind, StubKind::Replaced { kind: StubResult::Pointer })
}

fn sign_extended(bits: u8, number: u64) -> u64 {
    let shift = 64 - u32::from(bits.clamp(1, 64));
    // The shift of a signed number repeats its sign.
    (((number << shift) as i64) >> shift) as u64
}

/// The runs of one finding, and the best of them.
struct Search<'s, 'a> {
    session: &'s Session<'a>,
    built: &'s Built,
    wanted: &'s Wanted,
    runs: usize,
    overdue: usize,
    /// How near it came, what that says, and with which inputs.
    best: Option<(u8, Outcome, Plan)>,
}

impl Search<'_, '_> {
    fn is_confirmed(&self) -> bool {
        matches!(self.best, Some((_, Outcome::Confirmed { .. }, _)))
    }

    /// One run; None when no more are to be made.
    fn run(&mut self, plan: &Plan) -> Option<Run> {
        let effort = &self.session.effort;
        if self.runs >= effort.max_runs || self.overdue >= effort.max_overdue || self.is_confirmed() {
            return None;
        }
        self.runs += 1;
        let lifeline = &self.session.runner.lifeline;
        match self.built.run(plan, self.wanted, &effort.limits, lifeline) {
            Ok(run) => {
                self.overdue += usize::from(run.ended == Ended::TimedOut);
                let (rank, outcome) = self.judge(&run);
                self.note(rank, outcome, plan);
                (!matches!(run.ended, Ended::Sanitizer(_))).then_some(run)
            }
            Err(reason) => {
                self.note(0, Outcome::NotConfirmed(reason), plan);
                None
            }
        }
    }

    fn note(&mut self, rank: u8, outcome: Outcome, plan: &Plan) {
        if self.best.as_ref().is_none_or(|(best, ..)| rank > *best) {
            self.best = Some((rank, outcome, plan.clone()));
        }
    }

    /// What a run shows, and how near it came.
    fn judge(&self, run: &Run) -> (u8, Outcome) {
        if let Some(bytes) = run.lost {
            let mut stubs: Vec<String> = self.built.stubs_of(&run.called).map(|stub| stub.symbol.clone()).collect();
            stubs.sort();
            return (9, Outcome::Confirmed { bytes, stubs });
        }
        let (rank, reason) = match &run.ended {
            _ if run.handed_to.is_some() => {
                let stub = run.handed_to.and_then(|number| self.built.stubs.get(number));
                (8, Reason::HandedToStub(stub.map_or_else(String::new, |stub| format!("{}()", stub.symbol))))
            }
            Ended::Sanitizer(said) => (7, Reason::NoSanitizer(said.clone())),
            Ended::Returned { .. } => (6, Reason::NotLost),
            Ended::Exited => (5, Reason::Exited),
            Ended::Crashed { at, .. } => (4, Reason::Crashed(self.place(*at))),
            Ended::TimedOut => (3, Reason::TimedOut(self.session.effort.limits.time.as_secs())),
            Ended::Failed(why) => (2, Reason::Failed(why.clone())),
        };
        (rank, Outcome::NotConfirmed(reason))
    }

    fn place(&self, offset: u64) -> String {
        let root = &self.session.checked.analysed.read.root;
        let shown = |file: &Path, line: u32| format!("at {}:{line}", shown_path(&file.to_string_lossy(), root));
        self.built.place(offset).map_or_else(|| "outside of the project".to_owned(), |(file, line)| shown(&file, line))
    }
}

/// How the project's objects are compiled and linked.
pub(crate) fn limits(usual: &Limits) -> Limits {
    /// The linker says a line for each missing symbol.
    const LINKER_OUTPUT: usize = 16 << 20;
    Limits { kept_output_bytes: LINKER_OUTPUT, ..usual.clone() }
}
