//! What stage two keeps of a program for the next run: verdicts, and guarded summaries of callees.
//!
//! As in stage one, everything is kept with what was asked for it and the marks of the answers. Guarded summaries are in terms of a program's
//! own numbers: where these have changed, only so much is kept of one as tells whether it is still the same.

use std::sync::{Arc, Mutex, PoisonError};

use caulk_ir::EntityVec;
use caulk_program::reads::{Read, recorded};
use caulk_program::{FuncId, Marks, Names};
use caulk_rules::Rule;
use caulk_useflow::{Analysis, TableMarks};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::effect_cache::{EffectCache, Given};
use crate::effects::Effects;
use crate::verdict::{Effort, Verdict};

/// A guarded summary: whose it is, and the number of the constants it is for.
pub(crate) type EffectKey = (FuncId, u32);

/// What was found out in the last run.
#[derive(Debug, Default)]
pub struct Kept {
    ground: u64,
    names: Arc<Names>,
    functions: FxHashMap<FuncId, Arc<Explored>>,
    effects: FxHashMap<EffectKey, Arc<Made>>,
    /// Sets of constants, by number from 1 on.
    givens: Vec<Given>,
    /// Functions whose verdicts were kept from the run before, and those that were explored.
    pub reused: usize,
    pub made: usize,
}

/// The verdicts of one function.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Explored {
    reads: Vec<(Read, u64)>,
    /// The mark of its candidates.
    candidates: u64,
    pub verdicts: Vec<Verdict>,
    pub effort: Effort,
    counts: Vec<(Rule, u64)>,
}

/// A part of what is kept, as it is written to a file.
#[derive(Debug, Deserialize)]
enum Piece {
    Explored(FuncId, Explored),
    /// What a guarded summary rests on. The summary itself is in terms of one program's numbers.
    Made(EffectKey, usize, Vec<(Read, u64)>, Vec<(Rule, u64)>),
}

/// The same, borrowed.
#[derive(Serialize)]
enum PieceRef<'k> {
    Explored(FuncId, &'k Explored),
    Made(EffectKey, usize, &'k [(Read, u64)], &'k [(Rule, u64)]),
}

/// A guarded summary, and what it rests on.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// None: of another program. None inside: the function has too many outcomes.
    pub effects: Option<Option<Arc<Effects>>>,
    /// Instructions executed to work it out.
    pub steps: usize,
    reads: Vec<(Read, u64)>,
    counts: Vec<(Rule, u64)>,
}

impl Made {
    /// One that is not kept.
    pub(crate) fn alone(effects: Option<Arc<Effects>>, steps: usize) -> Self {
        Self { effects: Some(effects), steps, ..Self::default() }
    }
}

impl Kept {
    /// What is kept, in pieces for a file. Each is read alone, because what it mentions may be gone then.
    pub fn pieces(&self) -> Vec<Vec<u8>> {
        let mut functions: Vec<_> = self.functions.iter().collect();
        functions.sort_unstable_by_key(|(function, _)| **function);
        let mut effects: Vec<_> = self.effects.iter().collect();
        effects.sort_unstable_by_key(|(key, _)| **key);
        let explored = functions.into_iter().map(|(function, explored)| PieceRef::Explored(*function, explored));
        let made = effects.into_iter().map(|(key, made)| PieceRef::Made(*key, made.steps, &made.reads, &made.counts));
        let pieces: Vec<PieceRef<'_>> = explored.chain(made).collect();
        let whole = std::iter::once(self.names.encode(&(self.ground, &self.givens)));
        let pieces: Vec<Vec<u8>> = pieces.par_iter().map(|piece| self.names.encode(piece)).collect();
        whole.chain(pieces).collect()
    }

    /// What [`Kept::pieces`] wrote, for a program with these names. Pieces that mention something that is gone are left out.
    pub fn from_pieces(pieces: &[&[u8]], names: &Arc<Names>) -> Option<Self> {
        let (whole, pieces) = pieces.split_first()?;
        let (ground, givens) = names.decode(whole)?;
        let pieces: Vec<Option<Piece>> = pieces.par_iter().map(|piece| names.decode(piece)).collect();
        let mut kept = Self { ground, givens, names: Arc::clone(names), ..Self::default() };
        for piece in pieces.into_iter().flatten() {
            match piece {
                Piece::Explored(function, explored) => drop(kept.functions.insert(function, Arc::new(explored))),
                Piece::Made(key, steps, reads, counts) => {
                    drop(kept.effects.insert(key, Arc::new(Made { effects: None, steps, reads, counts })));
                }
            }
        }
        Some(kept)
    }

    /// The same for a program in which things may have other numbers. What mentions something that is gone is dropped.
    fn renumbered(self, names: &Arc<Names>) -> Self {
        if self.names == *names {
            return self;
        }
        let (before, now) = (&self.names, names);
        let function = |id: &FuncId| now.decode::<FuncId>(&before.encode(id));
        let explored = |(id, old): (&FuncId, &Arc<Explored>)| {
            let (reads, verdicts) = now.decode(&before.encode(&(&old.reads, &old.verdicts)))?;
            let (candidates, effort, counts) = (old.candidates, old.effort, old.counts.clone());
            Some((function(id)?, Arc::new(Explored { reads, candidates, verdicts, effort, counts })))
        };
        let made = |(key, old): (&EffectKey, &Arc<Made>)| {
            let reads = now.decode(&before.encode(&old.reads))?;
            let made = Made { effects: None, steps: old.steps, reads, counts: old.counts.clone() };
            Some(((function(&key.0)?, key.1), Arc::new(made)))
        };
        let functions = self.functions.par_iter().filter_map(explored).collect();
        let effects = self.effects.par_iter().filter_map(made).collect();
        Self { names: Arc::clone(names), functions, effects, ..self }
    }
}

/// A run that keeps what it finds out.
pub(crate) struct Keeping<'k> {
    marks: &'k Marks,
    tables: &'k TableMarks,
    analysis: &'k Analysis,
    /// By function: its summary, and its calls that are given functions by name.
    summaries: EntityVec<FuncId, (u64, u64)>,
    old: Kept,
    /// Whether guarded summaries of the last run hold, as far as was asked.
    holding: Mutex<FxHashMap<EffectKey, bool>>,
}

impl<'k> Keeping<'k> {
    pub(crate) fn new(marks: &'k Marks, tables: &'k TableMarks, analysis: &'k Analysis, old: Kept) -> Self {
        let old = if old.ground == marks.ground { old.renumbered(&marks.names) } else { Kept::default() };
        let functions: Vec<FuncId> = analysis.reports.keys().collect();
        let summaries: Vec<_> = functions.into_par_iter().map(|f| analysis.marks(&marks.names, f)).collect();
        Self { marks, tables, analysis, summaries: summaries.into(), old, holding: Mutex::default() }
    }

    /// The sets of constants of the last run, in the order of their numbers.
    pub(crate) fn givens(&self) -> &[Given] {
        &self.old.givens
    }

    fn answer(&self, effects: &EffectCache, read: Read) -> Option<u64> {
        match read {
            Read::Summary(f) => Some(self.summaries[f].0),
            Read::Special(f) => Some(self.summaries[f].1),
            // Asked for in this run, or kept and still the same.
            Read::Effects(f, given) => {
                (effects.made((f, given)).is_some() || self.holds(effects, (f, given))).then_some(1)
            }
            Read::Executed(..) | Read::MayAsk(..) | Read::Cycle(..) => effects.answer(read).map(u64::from),
            _ => self.tables.of(self.marks, &self.analysis.survey, read),
        }
    }

    fn all_hold(&self, effects: &EffectCache, reads: &[(Read, u64)]) -> bool {
        reads.iter().all(|(read, mark)| match read {
            Read::Effects(f, given) => self.holds(effects, (*f, *given)),
            _ => self.answer(effects, *read) == Some(*mark),
        })
    }

    /// Whether a guarded summary of the last run is the same in this one.
    fn holds(&self, effects: &EffectCache, key: EffectKey) -> bool {
        if let Some(known) = self.holding.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return *known;
        }
        let made = self.old.effects.get(&key);
        let holds = made.is_some_and(|made| self.all_hold(effects, &made.reads));
        self.holding.lock().unwrap_or_else(PoisonError::into_inner).insert(key, holds);
        holds
    }

    /// A guarded summary of the last run, or what `work` makes.
    pub(crate) fn effects(
        &self,
        effects: &EffectCache,
        key: EffectKey,
        work: impl FnOnce() -> (Option<Arc<Effects>>, Vec<(Rule, u64)>, usize),
    ) -> Arc<Made> {
        if self.holds(effects, key)
            && let Some(made) = self.old.effects.get(&key).filter(|made| made.effects.is_some())
        {
            return Arc::clone(made);
        }
        let ((made, counts, steps), reads) = recorded(work);
        Arc::new(Made { effects: Some(made), steps, reads: self.marked(effects, reads), counts })
    }

    fn marked(&self, effects: &EffectCache, reads: Vec<Read>) -> Vec<(Read, u64)> {
        // What has no mark has none in the next run either, so that what rests on it does not hold there.
        reads.into_iter().map(|read| (read, self.answer(effects, read).unwrap_or(u64::MAX))).collect()
    }

    /// The verdicts of a function's candidates: those of the last run, or what `work` finds.
    pub(crate) fn explored(
        &self,
        effects: &EffectCache,
        function: FuncId,
        work: impl FnOnce() -> (Vec<Verdict>, Effort, Vec<(Rule, u64)>),
    ) -> Arc<Explored> {
        let report = &self.analysis.reports[function];
        let candidates = self.marks.names.mark(&(&report.candidates, &report.throwing));
        let is_same = |old: &&Arc<Explored>| old.candidates == candidates && self.all_hold(effects, &old.reads);
        if let Some(old) = self.old.functions.get(&function).filter(is_same) {
            return Arc::clone(old);
        }
        let ((verdicts, effort, counts), reads) = recorded(work);
        Arc::new(Explored { reads: self.marked(effects, reads), candidates, verdicts, effort, counts })
    }

    /// Adds the guarded summaries that something rests on.
    fn add_used(&self, effects: &EffectCache, reads: &[(Read, u64)], used: &mut FxHashMap<EffectKey, Arc<Made>>) {
        let asked = |reads: &[(Read, u64)]| -> Vec<EffectKey> {
            let key = |(read, _): &(Read, u64)| match read {
                Read::Effects(f, given) => Some((*f, *given)),
                _ => None,
            };
            reads.iter().filter_map(key).collect()
        };
        let mut work = asked(reads);
        while let Some(key) = work.pop() {
            if used.contains_key(&key) {
                continue;
            }
            let Some(made) = effects.made(key).or_else(|| self.old.effects.get(&key).cloned()) else { continue };
            work.extend(asked(&made.reads));
            used.insert(key, made);
        }
    }

    /// What the next run may use, and what rules did in all that this run rests on.
    pub(crate) fn end(self, effects: &EffectCache, explored: &[(FuncId, Arc<Explored>)]) -> (Kept, Vec<(Rule, u64)>) {
        let mut used: FxHashMap<EffectKey, Arc<Made>> = FxHashMap::default();
        for (_, explored) in explored {
            self.add_used(effects, &explored.reads, &mut used);
        }
        let mut counts: Vec<(Rule, u64)> =
            explored.iter().flat_map(|(_, explored)| &explored.counts).copied().collect();
        counts.extend(used.values().flat_map(|made| &made.counts));
        let mut functions: FxHashMap<FuncId, Arc<Explored>> = explored.iter().cloned().collect();
        // Functions that this run did not ask about, because the user asked about others: the next one may. What they rest on must hold now,
        // or it would be taken for what it has become since.
        let mut old: Vec<(&FuncId, &Arc<Explored>)> = self.old.functions.iter().collect();
        old.sort_unstable_by_key(|(function, _)| **function);
        for (function, explored) in old {
            if !functions.contains_key(function) && self.all_hold(effects, &explored.reads) {
                self.add_used(effects, &explored.reads, &mut used);
                functions.insert(*function, Arc::clone(explored));
            }
        }
        let is_old =
            |(f, now): &&(FuncId, Arc<Explored>)| self.old.functions.get(f).is_some_and(|old| Arc::ptr_eq(old, now));
        let reused = explored.iter().filter(is_old).count();
        let kept = Kept {
            ground: self.marks.ground,
            names: Arc::clone(&self.marks.names),
            functions,
            effects: used,
            givens: effects.givens(),
            reused,
            made: explored.len() - reused,
        };
        (kept, counts)
    }
}
