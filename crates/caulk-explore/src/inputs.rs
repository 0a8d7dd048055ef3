//! Example inputs of a path: what its parameters, the memory it was given and the results of calls must be for it to be taken. They come
//! from the solver's example of the path's facts. A caller that runs the function makes its arguments from them.

use std::collections::BTreeMap;

use caulk_ir::{InstId, Type};
use caulk_program::GlobalVarId;
use caulk_solver::{Facts, Node, SymbolId, TermId};
use serde::{Deserialize, Serialize};

use crate::bounds::BOUNDS;
use crate::machine::Machine;
use crate::state::State;
use crate::symbols::Origin;

/// Tried where the solver has no example.
const USUAL_VALUES: [u64; 3] = [0, 1, 2];

/// A value as it was when the function was entered, or the result of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum InputPlace {
    Param(u32),
    /// The variable itself; what it holds is a cell of it.
    Global(GlobalVarId),
    /// The result of this call in the function, when it is made for the `nth` time on the path, from 0.
    Result {
        nth: u32,
        call: InstId,
    },
    /// A variable of the function; what callees left in it is a cell of it.
    Local(InstId),
    /// What lies in memory, so many bytes after where a pointer points.
    Cell {
        holder: Box<InputPlace>,
        offset: i64,
    },
}

impl InputPlace {
    /// The variable of the function that it is a part of, or that leads to it.
    pub fn local(&self) -> Option<InstId> {
        match self {
            InputPlace::Local(local) => Some(*local),
            InputPlace::Cell { holder, .. } => holder.local(),
            InputPlace::Param(_) | InputPlace::Global(_) | InputPlace::Result { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputValue {
    /// So many bits.
    Number(u8, u64),
    Null,
    NotNull,
}

/// What a call was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Argument {
    /// So many bytes after this value.
    Inside(InputPlace, i64),
    Number(u64),
    Other,
}

/// What a path needs, sorted by place; what is not in it is free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    pub values: Vec<(InputPlace, InputValue)>,
    /// What calls were given whose results the path needs: those of functions of a library may follow from it.
    pub arguments: Vec<(InputPlace, Vec<Argument>)>,
}

impl Machine<'_> {
    /// Inputs for a path whose facts were just checked.
    pub(crate) fn inputs(&mut self, state: &State, facts: &Facts) -> Inputs {
        let mut symbols: Vec<SymbolId> = facts.literals().iter().flat_map(|l| self.pool.symbols(*l)).collect();
        symbols.sort_unstable();
        symbols.dedup();
        let mut values = BTreeMap::new();
        let mut made: BTreeMap<InstId, u32> = BTreeMap::new();
        let mut arguments = BTreeMap::new();
        for symbol in symbols {
            let term = self.pool.symbol_term(symbol);
            let Some(mut place) = self.place_of(term, BOUNDS.named_loads) else { continue };
            if self.symbols.is_inner(term) && !self.is_result(state, &place, term) {
                continue;
            }
            // Symbols are numbered as they are met: those of a loop's later iterations come later.
            if let InputPlace::Result { nth, call } = &mut place {
                let count = made.entry(*call).or_default();
                *nth = *count;
                *count += 1;
                let given = self.symbols.given(term).iter().map(|argument| self.argument(*argument)).collect();
                arguments.insert(place.clone(), given);
            }
            let value = self.example(facts, symbol, term);
            let is_pointer = self.root(term) == Some(term);
            let value = match (is_pointer, value) {
                (true, 0) => InputValue::Null,
                (true, _) => InputValue::NotNull,
                (false, value) => InputValue::Number(self.pool.width(term), value),
            };
            // What was there on entry comes before what a callee may have put there.
            if self.symbols.forgotten_cell(term).is_none() || !values.contains_key(&place) {
                values.insert(place, value);
            }
        }
        self.add_results(state, facts, &mut values);
        for place in state.dereferenced.iter().filter_map(|term| self.place_of(*term, BOUNDS.named_loads)) {
            if !matches!(place, InputPlace::Global(_) | InputPlace::Local(_)) {
                values.insert(place, InputValue::NotNull);
            }
        }
        Inputs { values: values.into_iter().collect(), arguments: arguments.into_iter().collect() }
    }

    /// Whether a value is what a call returned last.
    fn is_result(&self, state: &State, place: &InputPlace, term: TermId) -> bool {
        let InputPlace::Result { call, .. } = place else { return false };
        state.get(*call) == Some(term)
    }

    fn argument(&self, term: TermId) -> Argument {
        if let Some(number) = self.pool.as_const(term) {
            return Argument::Number(number);
        }
        let key = self.key(term);
        match self.place_of(key.base, BOUNDS.named_loads) {
            Some(place) => Argument::Inside(place, key.offset),
            None => Argument::Other,
        }
    }

    /// Results of calls that follow from the path, also where a callee was executed: what it returned there.
    fn add_results(&self, state: &State, facts: &Facts, values: &mut BTreeMap<InputPlace, InputValue>) {
        for (call, inst) in self.frame.body.insts.iter() {
            let (Some(data), Some(term)) = (inst.call(), state.get(call)) else { continue };
            let place = InputPlace::Result { nth: 0, call };
            let value = match (data.ret, facts.value(&self.pool, term)) {
                (Type::Ptr, Some(0)) => InputValue::Null,
                (Type::Int(_), Some(value)) => InputValue::Number(self.pool.width(term), value),
                (Type::Int(_), None) if self.pool.as_symbol(term).is_none() => {
                    let Some(model) = facts.model() else { continue };
                    let value = self.pool.evaluate(term, &|symbol| model.value(symbol));
                    let Some(value) = value else { continue };
                    InputValue::Number(self.pool.width(term), value)
                }
                _ => continue,
            };
            values.entry(place).or_insert(value);
        }
    }

    /// A value that the facts allow: that of the example, or where there is none one that is known to be possible.
    fn example(&mut self, facts: &Facts, symbol: SymbolId, term: TermId) -> u64 {
        if let Some(model) = facts.model() {
            return model.value(symbol);
        }
        let known = facts.known(&self.pool, term);
        let width = self.pool.width(term);
        let is_possible = |value: &u64| {
            let constant = self.pool.constant(width, *value);
            let equal = self.pool.eq(term, constant);
            known.contains(*value) && facts.implied(&self.pool, equal) != Some(false)
        };
        USUAL_VALUES.into_iter().find(is_possible).unwrap_or(known.low)
    }

    /// Where a value comes from. What a callee may have changed is taken to be as it was: most leave it alone.
    pub(crate) fn place_of(&self, term: TermId, loads: u32) -> Option<InputPlace> {
        let Node::Symbol(_) = self.pool.node(term) else { return None };
        let key = match self.origin(term) {
            Origin::Param(index) => return Some(InputPlace::Param(index)),
            Origin::Global(global) => return Some(InputPlace::Global(global)),
            Origin::Local(local) => return Some(InputPlace::Local(local)),
            Origin::Result(call) => return Some(InputPlace::Result { nth: 0, call }),
            Origin::Initial(key) => key,
            Origin::Unknown => self.symbols.forgotten_cell(term)?,
            _ => return None,
        };
        let holder = self.place_of(key.base, loads.checked_sub(1)?)?;
        Some(InputPlace::Cell { holder: Box::new(holder), offset: key.offset })
    }
}
