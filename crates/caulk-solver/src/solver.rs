//! The last layer: Z3, asked only for what is left, and never twice the same.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::facts::{Answer, Facts};
use crate::node::{SymbolId, TermId};
use crate::pool::TermPool;
use crate::z3::Session;

/// Example values of symbols; those not mentioned are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    values: Vec<(SymbolId, u64)>,
}

impl Model {
    pub fn value(&self, symbol: SymbolId) -> u64 {
        match self.values.binary_search_by_key(&symbol, |entry| entry.0) {
            Ok(at) => self.values[at].1,
            Err(_) => 0,
        }
    }

    pub(crate) fn set(&mut self, symbol: SymbolId, value: u64) {
        match self.values.binary_search_by_key(&symbol, |entry| entry.0) {
            Ok(at) => self.values[at].1 = value,
            Err(at) => self.values.insert(at, (symbol, value)),
        }
    }

    /// Whether a condition holds for these values.
    pub fn satisfies(&self, pool: &TermPool, condition: TermId) -> bool {
        pool.evaluate(condition, &|symbol| self.value(symbol)) == Some(1)
    }
}

/// What Z3 answered for the symbols of a question.
type Values = Arc<[(SymbolId, u64)]>;

/// Z3 for one thread. It starts when first needed, and afresh when handed another pool: what it answers about one pool
/// depends on the questions about that pool alone, so the work may be divided among threads in any way.
#[derive(Debug, Default)]
pub struct Solver {
    session: Option<Session>,
    pool: Option<Arc<()>>,
    answers: FxHashMap<Box<[TermId]>, (Answer, Values)>,
    asked: u32,
}

impl Solver {
    pub fn new() -> Self {
        Solver::default()
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        *self = Solver::default();
    }

    /// Example values of symbols that make all facts true, in the order asked for.
    pub fn model(&mut self, pool: &mut TermPool, facts: &mut Facts, symbols: &[SymbolId]) -> Option<Vec<u64>> {
        if facts.check(pool, self) != Answer::Sat {
            return None;
        }
        facts.model().map(|model| symbols.iter().map(|&symbol| model.value(symbol)).collect())
    }

    /// Asks Z3, or remembers. The values cover the symbols of the literals.
    pub(crate) fn ask(&mut self, pool: &mut TermPool, literals: &[TermId]) -> (Answer, Values) {
        self.attend(pool);
        let mut key: Box<[TermId]> = literals.into();
        key.sort_unstable();
        if let Some(answer) = self.answers.get(&key) {
            pool.stats.check_cached += 1;
            return answer.clone();
        }
        if self.asked >= pool.config().max_z3_queries {
            pool.stats.z3_unknown += 1;
            return (Answer::Unknown, Arc::new([]));
        }
        self.asked += 1;
        let mut symbols: Vec<SymbolId> = key.iter().flat_map(|&literal| pool.symbols(literal)).collect();
        symbols.sort_unstable();
        symbols.dedup();
        let session = self.session.get_or_insert_with(|| Session::new(pool.config().z3_rlimit));
        let (answer, values) = session.check(pool, &key, &symbols);
        match answer {
            Answer::Sat => pool.stats.z3_sat += 1,
            Answer::Unsat => pool.stats.z3_unsat += 1,
            Answer::Unknown => pool.stats.z3_unknown += 1,
        }
        let result = (answer, symbols.into_iter().zip(values).collect::<Values>());
        self.answers.insert(key, result.clone());
        result
    }

    fn attend(&mut self, pool: &TermPool) {
        let same = self.pool.as_ref().is_some_and(|known| Arc::ptr_eq(known, pool.identity()));
        if !same {
            self.reset();
            self.pool = Some(pool.identity().clone());
        }
    }
}
