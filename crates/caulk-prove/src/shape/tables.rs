//! Tables over the instructions of a function, so that no question has to go through all of them.

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::{BlockId, Body, EntityVec, Inst, InstId, Operand, VarId};

use super::derived_from;

#[derive(Debug)]
pub(super) struct Tables {
    /// What each value is computed from by offsets and casts: itself if it is not.
    pub(super) bases: EntityVec<InstId, Operand>,
    pub(super) locals: Vec<InstId>,
    /// Locals whose scope ends nowhere but with the function.
    pub(super) unended: Vec<InstId>,
    /// The variables that a value is bound to first and last.
    pub(super) bound_to: BTreeMap<InstId, (VarId, VarId)>,
    pub(super) bound_values: EntityVec<VarId, Vec<Operand>>,
    /// What each phi takes from each block, sorted by block.
    taken: BTreeMap<InstId, Vec<(BlockId, Operand)>>,
    /// For each switch, the blocks that it goes to for one number only, sorted.
    cases: BTreeMap<InstId, Vec<(BlockId, u64)>>,
    /// For each local, where pointers in it are read or written.
    pub(super) touched: BTreeMap<InstId, BTreeSet<Option<i64>>>,
}

impl Tables {
    pub(super) fn new(body: &Body) -> Self {
        let mut tables = Self {
            bases: find_bases(body),
            locals: Vec::new(),
            unended: Vec::new(),
            bound_to: BTreeMap::new(),
            bound_values: vec![Vec::new(); body.vars.len()].into(),
            taken: BTreeMap::new(),
            cases: BTreeMap::new(),
            touched: BTreeMap::new(),
        };
        let mut ended = BTreeSet::new();
        for (id, inst) in body.insts.iter() {
            match inst {
                Inst::Local { .. } => tables.locals.push(id),
                Inst::ScopeEnd { local } => {
                    ended.insert(*local);
                }
                Inst::Bind { var, value } => tables.note_bind(*var, *value),
                Inst::Phi { incoming, .. } => {
                    let mut taken: Vec<_> = incoming.iter().copied().collect();
                    taken.sort_by_key(|(block, _)| *block);
                    taken.dedup_by_key(|(block, _)| *block);
                    tables.taken.insert(id, taken);
                }
                Inst::Switch { cases, default, .. } => {
                    tables.cases.insert(id, only_cases(cases, *default));
                }
                _ => {}
            }
        }
        tables.unended = tables.locals.iter().copied().filter(|local| !ended.contains(local)).collect();
        tables
    }

    pub(super) fn note_touched(&mut self, touched: &[(InstId, Option<i64>)]) {
        touched.iter().for_each(|(local, offset)| {
            self.touched.entry(*local).or_default().insert(*offset);
        });
    }

    fn note_bind(&mut self, var: VarId, value: Operand) {
        self.bound_values[var].push(value);
        if let Operand::Value(value) = value {
            self.bound_to.entry(value).or_insert((var, var)).1 = var;
        }
    }

    pub(super) fn taken(&self, phi: InstId, from: BlockId) -> Option<Operand> {
        let taken = self.taken.get(&phi)?;
        taken.binary_search_by_key(&from, |(block, _)| *block).ok().map(|at| taken[at].1)
    }

    pub(super) fn only_case(&self, switch: InstId, to: BlockId) -> Option<u64> {
        let cases = self.cases.get(&switch)?;
        cases.binary_search_by_key(&to, |(block, _)| *block).ok().map(|at| cases[at].1)
    }
}

fn only_cases(cases: &[(u64, BlockId)], default: BlockId) -> Vec<(BlockId, u64)> {
    let mut all: Vec<(BlockId, u64)> = cases.iter().map(|(number, block)| (*block, *number)).collect();
    all.sort_unstable();
    let groups = all.chunk_by(|a, b| a.0 == b.0);
    groups.filter(|group| group.len() == 1 && group[0].0 != default).map(|group| group[0]).collect()
}

/// Each chain of offsets is gone through once, however long it is.
fn find_bases(body: &Body) -> EntityVec<InstId, Operand> {
    let mut bases: EntityVec<InstId, Option<Operand>> = vec![None; body.insts.len()].into();
    for start in body.insts.keys() {
        let mut chain = Vec::new();
        let mut at = Operand::Value(start);
        let base = loop {
            let Operand::Value(value) = at else { break at };
            if let Some(known) = bases[value] {
                break known;
            }
            match derived_from(&body.insts[value]) {
                // Code that is never reached may compute a value from itself.
                Some(from) if chain.len() < body.insts.len() => {
                    chain.push(value);
                    at = from;
                }
                _ => {
                    bases[value] = Some(at);
                    break at;
                }
            }
        };
        chain.into_iter().for_each(|value| bases[value] = Some(base));
    }
    let own = |(id, base): (InstId, &Option<Operand>)| base.unwrap_or(Operand::Value(id));
    bases.iter().map(own).collect::<Vec<_>>().into()
}
