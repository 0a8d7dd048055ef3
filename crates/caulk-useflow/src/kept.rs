//! What stage one keeps of a program for the next run, which then looks only at what has changed.
//!
//! What was found out about a function is kept with all that was asked for it ([`Read`]) and the marks of the answers. In the next run it holds
//! wherever all answers are the same. So a change is followed upwards from callee to caller, and no further than summaries change. In a
//! cycle of calls a function is looked at several times: each time counts by itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use caulk_ir::{Entity, EntitySet, EntityVec};
use caulk_program::reads::{Read, recorded};
use caulk_program::{FuncId, Marks, Names};
use caulk_rules::Rule;
use caulk_summary::Summary;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::config::UseflowConfig;
use crate::schedule::Looked;
use crate::summarize::{Report, World};
use crate::survey::Survey;
use crate::table_marks::TableMarks;

/// What was found out about functions in the last run.
#[derive(Debug, Default)]
pub struct Kept {
    /// What held for the program as a whole.
    ground: u64,
    names: Arc<Names>,
    /// By function: one for each time it was looked at.
    functions: Vec<Vec<Arc<Look>>>,
    /// Looks of the last run that were kept from the one before, and those that were not.
    pub reused: usize,
    pub made: usize,
}

/// One look at a function.
#[derive(Debug, Serialize, Deserialize)]
struct Look {
    reads: Vec<(Read, u64)>,
    outcome: Looked,
    counts: Vec<(Rule, u64)>,
}

impl Kept {
    /// What is kept, in pieces for a file. Each is read alone, because what it mentions may be gone then.
    pub fn pieces(&self) -> Vec<Vec<u8>> {
        let piece = |(number, looks): (usize, &Vec<Arc<Look>>)| -> Vec<Vec<u8>> {
            let function = FuncId(number as u32);
            looks.iter().map(|look| self.names.encode(&(function, &**look))).collect()
        };
        let ground = std::iter::once(self.names.encode(&self.ground));
        let looks: Vec<Vec<u8>> = self.functions.par_iter().enumerate().flat_map_iter(piece).collect();
        ground.chain(looks).collect()
    }

    /// What [`Kept::pieces`] wrote, for a program with these names. Pieces that mention something that is gone are left out.
    pub fn from_pieces(pieces: &[&[u8]], names: &Arc<Names>) -> Option<Self> {
        let (ground, looks) = pieces.split_first()?;
        let looks: Vec<Option<(FuncId, Look)>> = looks.par_iter().map(|piece| names.decode(piece)).collect();
        let mut functions = vec![Vec::new(); names.functions.names.len()];
        for (function, look) in looks.into_iter().flatten() {
            functions[function.index()].push(Arc::new(look));
        }
        Some(Self { ground: names.decode(ground)?, names: Arc::clone(names), functions, ..Self::default() })
    }

    /// The same for a program in which things may have other numbers. What mentions something that is gone is dropped.
    fn renumbered(self, names: &Arc<Names>) -> Self {
        if self.names == *names {
            return self;
        }
        let look = |look: &Arc<Look>| {
            let bytes = self.names.encode(&(&look.reads, &look.outcome));
            let (reads, outcome) = names.decode(&bytes)?;
            Some(Arc::new(Look { reads, outcome, counts: look.counts.clone() }))
        };
        let moved = |(number, looks): (usize, &Vec<Arc<Look>>)| {
            let function: FuncId = names.decode(&self.names.encode(&FuncId(number as u32)))?;
            Some((function, looks.iter().filter_map(look).collect::<Vec<_>>()))
        };
        let all: Vec<_> = self.functions.par_iter().enumerate().filter_map(moved).collect();
        let mut functions = vec![Vec::new(); names.functions.names.len()];
        for (function, looks) in all {
            functions[function.index()] = looks;
        }
        Self { names: Arc::clone(names), functions, ..self }
    }
}

/// A run that keeps what it finds out.
pub(crate) struct Keeping<'k> {
    marks: &'k Marks,
    survey: &'k Survey,
    tables: TableMarks,
    old: Kept,
    new: Vec<Mutex<Vec<Arc<Look>>>>,
    /// Marks of summaries; zero where none was asked for since the summary changed.
    summaries: Vec<AtomicU64>,
}

impl<'k> Keeping<'k> {
    pub(crate) fn new(marks: &'k Marks, survey: &'k Survey, old: Kept) -> Self {
        let count = marks.names.functions.names.len();
        let mut old = if old.ground == marks.ground { old.renumbered(&marks.names) } else { Kept::default() };
        old.functions.resize_with(count, Vec::new);
        let new = std::iter::repeat_with(Mutex::default).take(count).collect();
        let summaries = std::iter::repeat_with(AtomicU64::default).take(count).collect();
        Self { marks, survey, tables: TableMarks::new(survey, marks), old, new, summaries }
    }

    /// The summary of a function is another now.
    pub(crate) fn note_change(&self, function: FuncId) {
        self.summaries[function.index()].store(0, Ordering::Relaxed);
    }

    fn summary(&self, function: FuncId, summary: &Summary) -> u64 {
        let cached = &self.summaries[function.index()];
        match cached.load(Ordering::Relaxed) {
            0 => {
                let mark = self.marks.names.mark(summary).max(1);
                cached.store(mark, Ordering::Relaxed);
                mark
            }
            mark => mark,
        }
    }

    /// What is known of the function with these summaries of others, or what `work` finds out.
    pub(crate) fn look(
        &self,
        world: &World<'_>,
        function: FuncId,
        reports: &EntityVec<FuncId, Report>,
        known: &EntitySet<FuncId>,
        work: impl FnOnce(&World<'_>) -> Looked,
    ) -> Looked {
        let answer = |read: Read| match read {
            Read::Summary(f) if !known.contains(f) => Some(0),
            Read::Summary(f) => Some(self.summary(f, &reports[f].summary)),
            _ => self.tables.of(self.marks, self.survey, read),
        };
        let holds = |look: &&Arc<Look>| look.reads.iter().all(|(read, known)| answer(*read) == Some(*known));
        let look = match self.old.functions[function.index()].iter().find(holds) {
            Some(look) => Arc::clone(look),
            None => {
                let config = UseflowConfig { rules: world.config.rules.counting_apart(), ..world.config.clone() };
                let (outcome, reads) = recorded(|| work(&World { config: &config, ..*world }));
                // What has no mark has none in the next run either, so that the look does not hold there.
                let marked = |read: Read| (read, answer(read).unwrap_or(u64::MAX));
                let reads = reads.into_iter().map(marked).collect();
                Arc::new(Look { reads, outcome, counts: config.rules.counts().collect() })
            }
        };
        world.config.rules.add(&look.counts);
        let outcome = look.outcome.clone();
        let mut looks = self.new[function.index()].lock().unwrap_or_else(PoisonError::into_inner);
        if !looks.iter().any(|other| Arc::ptr_eq(other, &look)) {
            looks.push(look);
        }
        outcome
    }

    /// What the next run may use.
    pub(crate) fn end(self) -> (Kept, TableMarks) {
        let looks = self.new.into_iter().map(|looks| looks.into_inner().unwrap_or_else(PoisonError::into_inner));
        let functions: Vec<Vec<Arc<Look>>> = looks.collect();
        let (mut reused, mut made) = (0, 0);
        for (looks, before) in functions.iter().zip(&self.old.functions) {
            let is_old = |look: &&Arc<Look>| before.iter().any(|other| Arc::ptr_eq(look, other));
            let old = looks.iter().filter(is_old).count();
            reused += old;
            made += looks.len() - old;
        }
        let (ground, names) = (self.marks.ground, Arc::clone(&self.marks.names));
        (Kept { ground, names, functions, reused, made }, self.tables)
    }
}

/// Summaries that are shared in memory, written one by one.
pub(crate) mod shared {
    use std::sync::Arc;

    use caulk_ir::InstId;
    use caulk_summary::Summary;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::callbacks::Special;

    pub(crate) fn serialize<S: Serializer>(special: &Special, serializer: S) -> Result<S::Ok, S::Error> {
        let all: Vec<(InstId, &Summary)> = special.iter().map(|(inst, summary)| (*inst, &**summary)).collect();
        all.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Special, D::Error> {
        let all = Vec::<(InstId, Summary)>::deserialize(deserializer)?;
        Ok(all.into_iter().map(|(inst, summary)| (inst, Arc::new(summary))).collect())
    }
}
