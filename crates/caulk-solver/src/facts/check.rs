//! Answering: can all facts hold? An example settles it; Z3 is asked about the part no example was found for.

use std::sync::Arc;

use super::repair::Repair;
use super::{Answer, Facts};
use crate::node::{SymbolId, TermId};
use crate::pool::TermPool;
use crate::solver::{Model, Solver};

impl Facts {
    /// Whether all facts can hold. Remembers a contradiction or an example for the next question.
    pub fn check(&mut self, pool: &mut TermPool, solver: &mut Solver) -> Answer {
        pool.stats.checks += 1;
        if self.store.contradiction {
            pool.stats.check_refuted += 1;
            return Answer::Unsat;
        }
        let Some(first) = self.first_failing(pool, self.satisfied) else {
            pool.stats.check_reused += 1;
            self.satisfied = self.store.literals.len();
            return Answer::Sat;
        };
        self.search(pool, solver, first)
    }

    /// The example that the last question left, if it covers all facts.
    pub fn model(&self) -> Option<&Model> {
        (self.satisfied == self.store.literals.len() && !self.store.contradiction).then_some(&*self.model)
    }

    fn first_failing(&self, pool: &TermPool, from: usize) -> Option<usize> {
        (from..self.store.literals.len()).find(|&at| !self.model.satisfies(pool, self.store.literals[at]))
    }

    fn search(&mut self, pool: &mut TermPool, solver: &mut Solver, first: usize) -> Answer {
        let mut next = Some(first);
        let (mut asked, mut open) = (false, false);
        let mut answer = Answer::Sat;
        while let Some(at) = next {
            let part = connected(pool, &self.store.literals, at);
            let repaired = Repair::new(pool, &self.store, &part.literals, &part.symbols).run(&self.model);
            if let Some(model) = repaired {
                self.model = Arc::new(model);
            } else {
                asked = true;
                let (part_answer, values) = solver.ask(pool, &part.literals);
                match part_answer {
                    Answer::Unsat => {
                        self.contradict();
                        return Answer::Unsat;
                    }
                    Answer::Unknown => answer = Answer::Unknown,
                    Answer::Sat => {
                        let model = Arc::make_mut(&mut self.model);
                        values.iter().for_each(|&(symbol, value)| model.set(symbol, value));
                    }
                }
                // Z3's values may rest on a part without value that does not matter to it; then there is no example.
                open |= part.literals.iter().any(|&literal| !self.model.satisfies(pool, literal));
            }
            next = (at + 1..self.store.literals.len())
                .find(|&i| !part.contains(i) && !self.model.satisfies(pool, self.store.literals[i]));
        }
        if !asked {
            pool.stats.check_repaired += 1;
        }
        if !open {
            self.satisfied = self.store.literals.len();
        }
        answer
    }
}

/// Literals that hang together through their symbols.
struct Part {
    literals: Vec<TermId>,
    /// Their places, ascending.
    places: Vec<usize>,
    symbols: Vec<SymbolId>,
}

impl Part {
    fn contains(&self, place: usize) -> bool {
        self.places.binary_search(&place).is_ok()
    }
}

fn connected(pool: &TermPool, literals: &[TermId], start: usize) -> Part {
    let mut inside = vec![false; literals.len()];
    inside[start] = true;
    let mut symbols = pool.symbols(literals[start]);
    let mut bits = pool.symbol_bits(literals[start]);
    let mut grew = true;
    while grew {
        grew = false;
        for (at, &literal) in literals.iter().enumerate() {
            if inside[at] || pool.symbol_bits(literal) & bits == 0 {
                continue;
            }
            let own = pool.symbols(literal);
            if own.iter().any(|symbol| symbols.binary_search(symbol).is_ok()) {
                inside[at] = true;
                let before = symbols.len();
                symbols.extend(own);
                symbols.sort_unstable();
                symbols.dedup();
                grew |= symbols.len() > before;
                bits |= pool.symbol_bits(literal);
            }
        }
    }
    let places: Vec<usize> = (0..literals.len()).filter(|&at| inside[at]).collect();
    Part { literals: places.iter().map(|&at| literals[at]).collect(), places, symbols }
}
