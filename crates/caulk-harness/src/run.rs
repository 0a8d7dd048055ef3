//! One run of a harness, and what it says about one place of the source.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use caulk_files::Folder;
use caulk_process::{Finished, Lifeline, Limits, Runner};

use crate::build::Built;
use crate::outcome::{Ended, Reason};
use crate::plan::Plan;
use crate::sites::Mark;
use crate::stacks::{Places, leaks};

/// Bounds of a run.
#[derive(Clone, Debug)]
pub struct HarnessLimits {
    /// Processor time: what a run shows must not depend on what else the machine does. A run that waits is ended after
    /// [`WAITING`] times as much.
    pub time: Duration,
    /// Memory that is written.
    pub memory_bytes: u64,
    pub file_bytes: u64,
    /// How much of LeakSanitizer's report is read.
    pub report_bytes: usize,
}

impl Default for HarnessLimits {
    fn default() -> Self {
        // A function that is called once has done its work in milliseconds, or waits for something.
        Self { time: Duration::from_secs(5), memory_bytes: 2 << 30, file_bytes: 1 << 20, report_bytes: 4 << 20 }
    }
}

/// Wall-clock time for each second of processor time.
const WAITING: u32 = 6;
/// The signal at the end of processor time.
const SIGXCPU: i32 = 24;

/// Where the memory must have been allocated.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Absolute.
    pub file: PathBuf,
    pub line: u32,
}

/// What one run showed.
#[derive(Clone, Debug)]
pub struct Run {
    pub ended: Ended,
    /// The size of a block that was allocated at the wanted place and lost, and not given to a stub that might take it.
    pub lost: Option<u64>,
    /// A stub that was given the lost memory and might take it.
    pub handed_to: Option<usize>,
    /// Stubs that were given the lost memory, all of functions that leave it to their caller, as the analysis says.
    pub trusted: BTreeSet<usize>,
    /// Stubs that were called.
    pub called: BTreeSet<usize>,
    /// A stub returned what the plan says of all stubs: another such result may lead elsewhere.
    pub used_defaults: bool,
    /// Places of the function that it came to.
    pub reached: BTreeSet<Mark>,
}

/// Options of LeakSanitizer. Stacks are complete, also through libraries without frame pointers.
pub(crate) const OPTIONS: &str = "symbolize=0:report_objects=1:fast_unwind_on_malloc=0:leak_check_at_exit=0:exitcode=0:malloc_context_size=60:\
                       max_leaks=0:allocator_may_return_null=1:print_suppressions=0:handle_segv=0:handle_abort=0:handle_sigbus=0:\
                       handle_sigfpe=0:handle_sigill=0:print_cmdline=0";
pub(crate) const PLAN: &str = "plan";
/// Where the function runs, and may write.
const SCRATCH: &str = "scratch";

/// Runs harnesses within limits.
pub(crate) struct Starter {
    runner: Runner,
}

impl Starter {
    pub(crate) fn new(limits: &HarnessLimits, lifeline: Lifeline) -> Self {
        let limits = Limits {
            time: limits.time * WAITING,
            processor_time: Some(limits.time),
            memory_bytes: limits.memory_bytes,
            file_bytes: limits.file_bytes,
            kept_output_bytes: limits.report_bytes,
        };
        Self { runner: Runner { limits, lifeline } }
    }

    fn start(&self, built: &Built, plan: &Plan) -> Result<Finished, Reason> {
        let failed = |error: std::io::Error| Reason::Failed(format!("the harness could not be run: {error}"));
        let place = Folder::open(&built.folder).map_err(failed)?;
        place.write(OsStr::new(PLAN), &[plan.text().as_bytes()]).map_err(failed)?;
        let mut command = Command::new(&built.program);
        // Secrets of the user's environment are not for the project's code.
        let scratch = built.folder.join(SCRATCH);
        command
            .env_clear()
            .env("LSAN_OPTIONS", OPTIONS)
            .env("LC_ALL", "C")
            .env("HOME", &scratch)
            .env("TMPDIR", &scratch);
        command.arg(built.folder.join(PLAN));
        place.make_folder(OsStr::new(SCRATCH)).map_err(failed)?;
        self.runner.run_isolated(command, &scratch).map_err(failed)
    }
}

impl Built {
    /// Runs it once.
    pub fn run(
        &self,
        plan: &Plan,
        wanted: &Wanted,
        limits: &HarnessLimits,
        lifeline: &Lifeline,
    ) -> Result<Run, Reason> {
        let finished = Starter::new(limits, lifeline.clone()).start(self, plan)?;
        let report = String::from_utf8_lossy(&finished.stderr);
        let ended = ended(&finished, &report);
        let is_overdue = ended == Ended::TimedOut;
        let used_defaults = is_overdue || marks(&report, "defaults ").next().is_some();
        let mut run = Run {
            ended,
            lost: None,
            handed_to: None,
            trusted: BTreeSet::new(),
            called: called(&report),
            used_defaults,
            reached: reached(&report, self.marks()),
        };
        if matches!(run.ended, Ended::Returned { .. }) {
            self.judge(&mut run, &report, wanted);
        }
        Ok(run)
    }

    fn judge(&self, run: &mut Run, report: &str, wanted: &Wanted) {
        let seen = seen(report);
        let mut places = Places::new(&self.program);
        for leak in leaks(report, &self.program.to_string_lossy()) {
            let is_here = |(file, line): &(PathBuf, u32)| *line == wanted.line && is_same(file, &wanted.file);
            if !leak.frames.iter().any(|offset| places.at(*offset).iter().any(is_here)) {
                continue;
            }
            for (block, bytes) in leak.blocks {
                let given: BTreeSet<usize> =
                    seen.iter().filter(|(_, address)| *address == block).map(|(stub, _)| *stub).collect();
                let is_trusted = |stub: &usize| self.stubs.get(*stub).is_some_and(|stub| stub.is_trusted);
                match given.iter().find(|stub| !is_trusted(stub)).or(given.first()) {
                    None => (run.lost, run.trusted) = (run.lost.or(Some(bytes)), BTreeSet::new()),
                    Some(stub) if is_trusted(stub) && run.lost.is_none() => {
                        (run.lost, run.trusted) = (Some(bytes), given);
                    }
                    Some(stub) => run.handed_to = run.handed_to.or(Some(*stub)),
                }
            }
        }
    }

    /// Where in the source a run crashed.
    pub fn place(&self, offset: u64) -> Option<(PathBuf, u32)> {
        Places::new(&self.program).at(offset).first().cloned()
    }

    /// The functions that stubs stood for in a run, or whose results the plan decided.
    pub fn stubs_of<'s>(&'s self, called: &'s BTreeSet<usize>) -> impl Iterator<Item = &'s crate::Stub> {
        called.iter().filter_map(|number| self.stubs.get(*number))
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one.file_name() == other.file_name() && whole(one) == whole(other)
}

/// Numbers after a mark of the harness: `caulk: seen 3 0x50`.
fn marks<'r>(report: &'r str, mark: &'r str) -> impl Iterator<Item = Vec<u64>> + 'r {
    let rest = report.lines().filter_map(move |line| line.strip_prefix("caulk: ")?.strip_prefix(mark));
    rest.map(|rest| rest.split_whitespace().filter_map(number).collect())
}

fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

fn seen(report: &str) -> Vec<(usize, u64)> {
    let pair = |numbers: Vec<u64>| Some((usize::try_from(*numbers.first()?).ok()?, *numbers.get(1)?));
    marks(report, "seen ").filter_map(pair).collect()
}

fn called(report: &str) -> BTreeSet<usize> {
    marks(report, "called ").filter_map(|numbers| usize::try_from(*numbers.first()?).ok()).collect()
}

/// The places of `caulk: reached 0 f1`: from that number on, four of them in each digit, the first in its lowest bit.
fn reached(report: &str, marks: &[Mark]) -> BTreeSet<Mark> {
    let mut all = BTreeSet::new();
    for rest in report.lines().filter_map(|line| line.strip_prefix("caulk: reached ")) {
        let Some((from, digits)) = rest.split_once(' ') else { continue };
        let Ok(from) = from.parse::<usize>() else { continue };
        for (at, digit) in digits.chars().map_while(|digit| digit.to_digit(16)).enumerate() {
            let set = (0..4).filter(|bit| digit & (1 << bit) != 0);
            all.extend(set.filter_map(|bit| marks.get(from.checked_add(at * 4 + bit)?)));
        }
    }
    all
}

fn ended(finished: &Finished, report: &str) -> Ended {
    if let Some(error) = report.lines().find(|line| is_sanitizer_failure(line)) {
        return Ended::Sanitizer(error.trim().to_owned());
    }
    // A pointer that was never allocated was freed.
    if report.contains("LeakSanitizer: CHECK failed") {
        return Ended::Crashed { signal: 0, at: 0, call: None };
    }
    if let Some(crash) = marks(report, "crashed ").next() {
        let signal = crash.first().and_then(|signal| i32::try_from(*signal).ok()).unwrap_or(0);
        return Ended::Crashed { signal, at: crash.get(1).copied().unwrap_or(0), call: call(crash.get(3)) };
    }
    if finished.is_overdue || finished.status.signal() == Some(SIGXCPU) {
        return Ended::TimedOut;
    }
    if marks(report, "checked ").next().is_some() {
        let allocations = marks(report, "returned ").next().and_then(|numbers| u32::try_from(*numbers.get(1)?).ok());
        return Ended::Returned { allocations: allocations.unwrap_or(0) };
    }
    let end = marks(report, "ended ").next();
    let is_ended = end.is_some();
    match (finished.status.signal(), finished.status.code()) {
        _ if is_ended => Ended::Exited { call: end.and_then(|numbers| call(numbers.get(1))) },
        (Some(signal), _) => Ended::Crashed { signal, at: 0, call: None },
        (None, Some(code)) if report.contains("caulk: ") => Ended::Failed(format!("the harness ended with {code}")),
        _ => Ended::Exited { call: None },
    }
}

/// The number of a call, which a report counts from 1.
fn call(number: Option<&u64>) -> Option<usize> {
    number.and_then(|number| usize::try_from(*number).ok()?.checked_sub(1))
}

fn is_sanitizer_failure(line: &str) -> bool {
    line.contains("LeakSanitizer has encountered a fatal error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_were_reached_are_read() {
        let marks: Vec<Mark> = (1..=10).map(|line| Mark { line, column: 1 }).collect();
        let lines = |report: &str| reached(report, &marks).into_iter().map(|mark| mark.line).collect::<Vec<_>>();
        assert_eq!(lines("caulk: reached 0 92\nother\ncaulk: reached 8 2\n"), [1, 4, 6, 10]);
        assert_eq!(lines("caulk: reached 0\ncaulk: reached x 1\ncaulk: reached 18446744073709551615 ff\n"), [0u32; 0]);
    }
}
