//! What is run, and the plan of one run: what the path needs, on top of memory that is filled by type.

use std::collections::BTreeMap;

use caulk_explore::{InputPlace, InputValue};
use caulk_harness::{Plan, StubKind, StubResult, Target, Word};
use caulk_ir::{Body, InstId};
use caulk_program::{GlobalVarId, Program};

use super::calls::{Calls, OutParameter};
use super::deciding::Need;
use super::memory::Memory;
use super::scope::Scripted;
use super::tries::{Constants, Try};
use super::{PathOf, scope, texts};

/// What a harness is linked from.
pub(super) struct Parts {
    pub target: Target,
    pub home: usize,
    pub units: Vec<usize>,
    pub variables: Vec<GlobalVarId>,
}

/// What is run.
pub(super) struct Subject<'a> {
    pub program: &'a Program,
    pub path: &'a PathOf,
    pub parts: &'a Parts,
    pub by: By<'a>,
    /// What the path needs `errno` to be where a function fails.
    pub errno: Option<u64>,
}

/// What stands for functions.
pub(super) enum By<'a> {
    Calls(&'a Calls),
    Functions {
        scripted: &'a Scripted,
        /// Results of the project's own functions are those of the path, in every run.
        decides_results: bool,
    },
}

impl Subject<'_> {
    pub(super) fn constants(&self) -> Constants {
        let (program, path) = (self.program, self.path);
        let words = texts::words(program, &path.inputs, |call| scope::callee(program, path.function, call));
        Constants { words, ..scope::constants(program, path.function) }
    }

    pub(super) fn body(&self) -> Option<Body> {
        self.program.body(self.path.function)
    }

    pub(super) fn plan(&self, one: Try<'_>, needs: &[Need]) -> Plan {
        let info = self.program.function(self.path.function);
        let mut memory = Memory::new(self.program, &self.parts.variables, one.filling);
        memory.fill(info.unit, info.declaration, &self.parts.target.parameters);
        if let By::Calls(calls) = &self.by
            && one.results.pointers
        {
            calls.results_by_type(self.program, self.path.function).for_each(|(call, unit, pointee)| {
                memory.fill_result(call, unit, pointee);
            });
            for OutParameter { call, argument, unit, pointee } in calls.out_parameters(self.program, self.path.function)
            {
                memory.fill_argument(call, argument, unit, pointee);
            }
        }
        if one.follows_path {
            self.path.inputs.values.iter().for_each(|(place, value)| memory.need(place, *value));
            self.path.texts.iter().for_each(|text| memory.need_text(text));
        }
        needs.iter().for_each(|(place, value)| memory.need(place, *value));
        let (mut plan, results, cells) = memory.finish();
        (plan.numbers, plan.pointers) = (one.results.number, one.results.pointers);
        plan.errno = self.errno.filter(|_| one.follows_path);
        match &self.by {
            _ if !one.follows_path => {}
            By::Calls(calls) => {
                calls.add_results(&self.path.inputs, &results, &mut plan);
                self.body().into_iter().for_each(|body| calls.add_writes(&body, &cells, &mut plan));
            }
            By::Functions { scripted, decides_results } => {
                self.script(scripted, &mut plan, &results, *decides_results || one.decides_results);
            }
        }
        plan
    }

    /// Results that the path needs. A pointer that is not null is left to the function itself, or to its stub, unless the path speaks of
    /// what it points to.
    fn script(
        &self,
        scripted: &Scripted,
        plan: &mut Plan,
        results: &BTreeMap<(u32, InstId), usize>,
        decides_all: bool,
    ) {
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
            let all = scripted.stubs.iter().zip(&scripted.calls).enumerate();
            for (stub, (about, calls)) in all.filter(|(_, (stub, _))| decides_all || !stub.is_replaced) {
                if matches!(word, Word::Block(_)) && !is_stub_for_pointer(&about.kind) {
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
fn is_stub_for_pointer(kind: &StubKind) -> bool {
    matches!(kind, StubKind::Replaced { kind: StubResult::Pointer })
}

pub(super) fn sign_extended(bits: u8, number: u64) -> u64 {
    let shift = 64 - u32::from(bits.clamp(1, 64));
    // The shift of a signed number repeats its sign.
    (((number << shift) as i64) >> shift) as u64
}
