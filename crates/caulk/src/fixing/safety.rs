//! What a fix must not do: free anything twice, use it afterwards, or free what is not its to free. Stage two executes the
//! functions that a fix changes, and those that call one whose summary changed, before and after.

use std::collections::{BTreeMap, BTreeSet};

use caulk_explore::{ExploreConfig, MisuseKind, misuses};
use caulk_fix::patch::old_lines;
use caulk_program::FuncId;
use caulk_report::shown_path;
use caulk_report::source::Sources;
use caulk_summary::print;

use super::Problem;
use crate::input::{Analysed, explore_config};

/// A function in the words of both programs: the unit that defines it, and its symbol.
type Name = (String, String);

pub(super) struct Safety<'a> {
    before: &'a Analysed,
    summaries: BTreeMap<Name, Vec<String>>,
}

/// Something wrong: in which function, of what kind, and in which line of the text as it was.
type Wrong = (Name, MisuseKind, Option<u32>);

impl<'a> Safety<'a> {
    pub(super) fn new(before: &'a Analysed) -> Self {
        Self { before, summaries: summaries(before) }
    }

    /// What is wrong now and was not before. `freeing`: functions that are meant to free what they are given.
    pub(super) fn problems(
        &self,
        after: &Analysed,
        sources: &Sources,
        texts: &BTreeMap<String, Vec<u8>>,
        freeing: &BTreeSet<&str>,
    ) -> Vec<Problem> {
        let lines = Lines::new(sources, texts);
        let concerned = self.concerned(after, &lines);
        let mut now = wrong(after, &concerned, &lines);
        let frees = |function: FuncId| freeing.contains(after.program.function(function).name);
        let may_free = |function: FuncId| frees(function) || after.program.callees(function).any(frees);
        now.retain(|(_, kind, _), (function, _)| *kind != MisuseKind::Callers || !may_free(*function));
        if now.is_empty() {
            return Vec::new();
        }
        let names: BTreeSet<&Name> = now.keys().map(|(name, ..)| name).collect();
        let same = self.before.program.functions().filter(|f| names.contains(&name(self.before, *f)));
        let old = wrong(self.before, &same.collect::<Vec<_>>(), &Lines::default());
        let new = now.iter().filter(|(wrong, _)| !old.contains_key(*wrong));
        new.map(|((_, kind, _), (function, line))| problem(after, *kind, *function, *line)).collect()
    }

    /// Functions with a changed line, those that do something else than before, and their callers.
    fn concerned(&self, after: &Analysed, lines: &Lines) -> Vec<FuncId> {
        let program = &after.program;
        let now = summaries(after);
        let mut concerned: BTreeSet<FuncId> = BTreeSet::new();
        for function in program.functions().filter(|f| program.has_body(*f)) {
            let name = name(after, function);
            if lines.is_changed(after, function) {
                concerned.insert(function);
            }
            if self.summaries.get(&name) != now.get(&name) {
                concerned.insert(function);
                concerned.extend(program.callers(function));
            }
        }
        concerned.into_iter().collect()
    }
}

fn name(analysed: &Analysed, function: FuncId) -> Name {
    let info = analysed.program.function(function);
    (analysed.program.unit(info.unit).source.clone(), info.symbol.to_owned())
}

fn summaries(analysed: &Analysed) -> BTreeMap<Name, Vec<String>> {
    let program = &analysed.program;
    let defined = program.functions().filter(|f| program.has_body(*f));
    defined.map(|f| (name(analysed, f), print::summary(program, f, analysed.analysis.summary(f)))).collect()
}

/// What functions do wrong, each with its line in the text that was analysed.
fn wrong(analysed: &Analysed, functions: &[FuncId], lines: &Lines) -> BTreeMap<Wrong, (FuncId, u32)> {
    let Analysed { program, config, analysis, .. } = analysed;
    let explore: ExploreConfig = explore_config(config);
    let mut wrong = BTreeMap::new();
    let found = misuses(program, config, analysis, &explore, functions).found;
    for misuse in found {
        let Some(body) = program.body(misuse.function) else { continue };
        let line = body.place(misuse.inst).line;
        let old = lines.old(analysed, misuse.function, line);
        wrong.insert((name(analysed, misuse.function), misuse.kind, old), (misuse.function, line));
    }
    wrong
}

/// Which lines of changed files are which of the files as they were. Without any, all are what they were.
#[derive(Default)]
struct Lines {
    files: BTreeMap<String, Vec<Option<u32>>>,
}

impl Lines {
    fn new(sources: &Sources, texts: &BTreeMap<String, Vec<u8>>) -> Self {
        let lines = texts.iter().filter_map(|(file, text)| {
            let old = sources.get(file)?;
            Some((file.clone(), old_lines(old.bytes(), text)))
        });
        Self { files: lines.collect() }
    }

    fn of(&self, analysed: &Analysed, function: FuncId) -> Option<&Vec<Option<u32>>> {
        let file = analysed.program.function(function).file?;
        self.files.get(&shown_path(file, &analysed.read.root))
    }

    fn old(&self, analysed: &Analysed, function: FuncId, line: u32) -> Option<u32> {
        match self.of(analysed, function) {
            Some(lines) => lines.get((line as usize).checked_sub(1)?).copied().flatten(),
            None => Some(line),
        }
    }

    /// Whether one of a function's lines is new.
    fn is_changed(&self, analysed: &Analysed, function: FuncId) -> bool {
        let info = analysed.program.function(function);
        let (first, last) = (info.line as usize, info.last_line as usize);
        let Some(lines) = self.of(analysed, function) else { return false };
        lines.get(first.saturating_sub(1)..last.min(lines.len())).is_none_or(|own| own.contains(&None))
    }
}

/// It comes from the function it is in, or from one that is called there.
fn problem(after: &Analysed, kind: MisuseKind, function: FuncId, line: u32) -> Problem {
    let name = |f: FuncId| after.program.function(f).name.to_owned();
    let functions = [function].into_iter().chain(after.program.callees(function)).map(name).collect();
    let text = format!("{} (in {}, line {line})", words(kind), name(function));
    Problem { functions, still: None, file: None, text }
}

fn words(kind: MisuseKind) -> &'static str {
    match kind {
        MisuseKind::FreedTwice => "something would be freed twice",
        MisuseKind::UsedAfterFree => "something would be used after it is freed",
        MisuseKind::Reachable => "callers could still reach what is freed",
        MisuseKind::NotAllocated => "something would be freed that was not allocated",
        MisuseKind::NeverSet => "a variable would be freed that was never set",
        MisuseKind::GivenAway => "something would be freed that has another owner",
        MisuseKind::Callers => "something would be freed that is the caller's",
    }
}
