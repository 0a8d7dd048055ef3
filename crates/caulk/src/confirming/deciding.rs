//! What decides a branch, as far as the code around it shows: calls, pieces of memory, and the numbers that they are compared with. Where a run leaves
//! the path, other values are tried for these.

use std::collections::BTreeSet;

use caulk_explore::{InputPlace, InputValue};
use caulk_ir::{AddressStep, Body, Constant, Inst, InstId, Operand, Type};
use caulk_program::{Program, UnitId};

use super::calls::{Calls, passed};

/// Values that are looked at for one branch.
const MAX_SLICE: usize = 200;
/// Loads and structures between a branch and a parameter.
const MAX_LOADS: u32 = 5;
/// Pieces of memory, and values of each, that are tried for one branch.
const MAX_CELLS: usize = 6;
const MAX_NUMBERS: usize = 8;
/// Tried for every number: a count has to be 2 for what happens in a second iteration.
const USUAL: [u64; 4] = [1, 2, 0, u64::MAX];

/// Something that the path does not speak of and that is tried all the same.
pub(crate) type Need = (InputPlace, InputValue);

/// What may decide a branch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deciding {
    pub calls: Vec<usize>,
    /// The same piece of memory, of several elements where it is that of an element, and its type.
    cells: Vec<(Vec<InputPlace>, Type)>,
    /// With their neighbours.
    pub numbers: Vec<u64>,
}

impl Deciding {
    pub(crate) fn of(program: &Program, unit: UnitId, body: &Body, calls: &Calls, branch: InstId) -> Self {
        let mut found = Self::default();
        let resolve = |address: Operand| places(program, unit, body, address, MAX_LOADS);
        let mut constants: Vec<u64> = Vec::new();
        let mut seen: BTreeSet<InstId> = BTreeSet::from([branch]);
        let mut waiting = vec![branch];
        while let Some(value) = waiting.pop().filter(|_| seen.len() < MAX_SLICE) {
            let mut operands = Vec::new();
            match &body.insts[value] {
                Inst::Call(_) => found.calls.extend(calls.number(value)),
                Inst::Param { index, ty } => found.cells.push((vec![InputPlace::Param(*index)], *ty)),
                Inst::Load { ty, address, .. } => {
                    let cells: Vec<InputPlace> =
                        resolve(*address).into_iter().map(|(holder, offset)| cell(holder, offset)).collect();
                    found.calls.extend(filling(body, calls, &cells));
                    found.cells.push((cells, *ty));
                }
                inst => inst.for_each_operand(|operand| operands.push(*operand)),
            }
            constants.extend(operands.iter().filter_map(|operand| match body.constant(*operand)? {
                Constant::Int { value, .. } => Some(value),
                _ => None,
            }));
            waiting.extend(operands.into_iter().filter_map(Operand::value).filter(|value| seen.insert(*value)));
        }
        let mut met = BTreeSet::new();
        found.calls.retain(|number| met.insert(*number));
        found.cells.retain(|(cells, _)| !cells.is_empty());
        found.cells.truncate(MAX_CELLS);
        let near = constants.into_iter().flat_map(|number| [number, number.wrapping_add(1), number.wrapping_sub(1)]);
        for number in near.chain(USUAL) {
            if !found.numbers.contains(&number) && found.numbers.len() < MAX_NUMBERS {
                found.numbers.push(number);
            }
        }
        found
    }

    /// Other values of the memory that decides, one piece after the other.
    pub(crate) fn needs(&self) -> impl Iterator<Item = Vec<Need>> {
        self.cells.iter().flat_map(|(places, ty)| {
            let values: Vec<InputValue> = match ty {
                Type::Ptr => vec![InputValue::Null, InputValue::NotNull],
                Type::Int(bits) => self.numbers.iter().map(|number| InputValue::Number(*bits as u8, *number)).collect(),
                _ => Vec::new(),
            };
            values.into_iter().map(|value| places.iter().map(|place| (place.clone(), value)).collect())
        })
    }
}

fn cell(holder: InputPlace, offset: i64) -> InputPlace {
    InputPlace::Cell { holder: Box::new(holder), offset }
}

/// Calls that may have left something in a variable of the function.
fn filling(body: &Body, calls: &Calls, cells: &[InputPlace]) -> Vec<usize> {
    let locals: BTreeSet<InstId> = cells.iter().filter_map(InputPlace::local).collect();
    let is_given = |inst: InstId| locals.iter().any(|local| !passed(body, inst, *local).is_empty());
    (0..calls.calls.len()).filter(|number| is_given(calls.calls[*number].inst)).collect()
}

/// What an address is: so many bytes after where these point. Of an element whose number is not known, the first and the second.
fn places(program: &Program, unit: UnitId, body: &Body, address: Operand, loads: u32) -> Vec<(InputPlace, i64)> {
    let Some(rest) = loads.checked_sub(1) else { return Vec::new() };
    let inner = |operand: Operand| places(program, unit, body, operand, rest);
    let value = match address {
        Operand::Value(value) => value,
        Operand::Const(constant) => {
            let Constant::Global { global, offset } = body.consts[constant] else { return Vec::new() };
            let known = program.resolve_global(unit, global).first();
            return known.map(|global| (InputPlace::Global(*global), offset)).into_iter().collect();
        }
    };
    match &body.insts[value] {
        Inst::Param { index, .. } => vec![(InputPlace::Param(*index), 0)],
        Inst::Local { .. } => vec![(InputPlace::Local(value), 0)],
        Inst::Call(_) => vec![(InputPlace::Result { nth: 0, call: value }, 0)],
        Inst::Load { address, .. } => {
            inner(*address).into_iter().map(|(holder, offset)| (cell(holder, offset), 0)).collect()
        }
        Inst::Phi { incoming, .. } => {
            incoming.iter().map(|(_, operand)| inner(*operand)).find(|found| !found.is_empty()).unwrap_or_default()
        }
        Inst::Address { base, steps } => {
            let mut all = inner(*base);
            for step in steps {
                match step {
                    AddressStep::Field { offset, .. } => all.iter_mut().for_each(|(_, at)| *at += *offset as i64),
                    AddressStep::Bytes { offset, .. } => all.iter_mut().for_each(|(_, at)| *at += offset),
                    AddressStep::Index { stride, .. } => {
                        let second = |(place, at): &(InputPlace, i64)| (place.clone(), at + *stride as i64);
                        let others: Vec<(InputPlace, i64)> = all.iter().map(second).collect();
                        all.extend(others);
                    }
                }
            }
            all
        }
        _ => Vec::new(),
    }
}
