//! The calls of the function that is run, one by one: which of them a harness may leave out, and with what in their place.

use std::collections::{BTreeMap, BTreeSet};

use caulk_explore::{InputPlace, InputValue, Inputs};
use caulk_harness::{Plan, Site, Stub, StubKind, StubResult, Word};
use caulk_ir::{AddressStep, Body, CallData, Inst, InstId, Linkage, Operand, Pointee, Type};
use caulk_program::{CallKind, FuncId, Program, UnitId};
use caulk_useflow::Analysis;

use super::memory::LocalCell;
use super::replace::allocates_its_result_only;
use super::scope::{can_be_scripted, leaves_arguments, returned};

/// Arguments in registers, which is where a stub looks for pointers.
const REGISTER_ARGUMENTS: usize = 6;

/// A call, and what a harness may do with it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub inst: InstId,
    /// It can be left out: it returns, and what it returns is not fixed by its arguments alone.
    pub can_be_left_out: bool,
    /// The project has no body for it.
    pub is_foreign: bool,
    /// It gives memory to its caller, so it is better made.
    pub allocates: bool,
    /// All that it may return, where its code shows that.
    returns: Option<Vec<i64>>,
}

impl Call {
    /// Whether it may return a number, as far as is known.
    pub(crate) fn may_return(&self, number: u64) -> bool {
        let is_number = |known: &i64| *known as u64 == number || u64::from(*known as u32) == number;
        self.returns.as_ref().is_none_or(|known| known.iter().any(is_number))
    }
}

/// All calls of a function; their stubs have the same numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    pub stubs: Vec<Stub>,
    pub calls: Vec<Call>,
}

impl Calls {
    pub(crate) fn of(program: &Program, analysis: &Analysis, function: FuncId) -> Self {
        let mut all = Self::default();
        let Some(body) = program.body(function) else { return all };
        let mut met: BTreeMap<(Option<String>, u32, u32), u32> = BTreeMap::new();
        for at in program.call_sites(function).iter().filter(|at| at.kind != CallKind::Assembly) {
            let Some(data) = body.insts[at.inst].call() else { continue };
            let callee = match (at.kind, program.targets(at)) {
                (CallKind::Direct, [callee, ..]) => Some(*callee),
                _ => None,
            };
            let place = body.place(at.inst);
            let symbol = callee.map(|callee| program.function(callee).symbol.to_owned());
            let nth = met.entry((symbol.clone(), place.line, place.column)).or_default();
            let site = Site { symbol: symbol.clone(), line: place.line, column: place.column, nth: *nth };
            *nth += 1;
            let kind = match callee {
                Some(callee) => returned(program, analysis, callee),
                None if data.ret == Type::Ptr => StubResult::Pointer,
                None => StubResult::Number,
            };
            let name = symbol.unwrap_or_else(|| format!("(a pointer, line {})", place.line));
            let is_foreign = callee.is_some_and(|callee| !is_own(program, callee));
            all.stubs.push(Stub {
                symbol: name,
                kind: StubKind::Call { kind, site, arguments: words(data) },
                is_known: false,
                is_replaced: !is_foreign,
                is_trusted: callee.is_some_and(|callee| leaves_arguments(analysis.summary(callee))),
            });
            let only_result = callee.is_none_or(|callee| allocates_its_result_only(analysis.summary(callee)));
            all.calls.push(Call {
                inst: at.inst,
                can_be_left_out: can_be_left_out(program, analysis, callee, data),
                is_foreign,
                allocates: kind == StubResult::Fresh || !only_result,
                returns: match kind {
                    StubResult::Number => callee.and_then(|callee| returned_numbers(program, callee)),
                    // Any other number is no pointer.
                    StubResult::Pointer | StubResult::Fresh => Some(vec![0]),
                },
            });
        }
        all
    }

    pub(crate) fn number(&self, inst: InstId) -> Option<usize> {
        self.calls.iter().position(|call| call.inst == inst)
    }

    /// Calls whose results the path decides, or that leave something in a variable that it speaks of.
    fn decided(&self, body: &Body, inputs: &Inputs) -> BTreeSet<usize> {
        let mut decided = BTreeSet::new();
        for (place, value) in &inputs.values {
            match (place, value) {
                // Any result that is not null will do, and the function's own is the best.
                (InputPlace::Result { .. }, InputValue::NotNull) => {}
                (InputPlace::Result { call, .. }, _) => decided.extend(self.number(*call)),
                (place, _) => {
                    let Some(local) = place.local() else { continue };
                    let passing =
                        self.calls.iter().enumerate().filter(|(_, call)| !passed(body, call.inst, local).is_empty());
                    decided.extend(passing.map(|(number, _)| number));
                }
            }
        }
        decided.retain(|number| self.calls[*number].can_be_left_out);
        decided
    }

    /// Sets of calls to leave out, the most promising first; a search goes on from each of them.
    pub(crate) fn starts(&self, body: &Body, inputs: &Inputs) -> Vec<BTreeSet<usize>> {
        let decided = self.decided(body, inputs);
        let is_null = |number: &usize| {
            let inst = self.calls[*number].inst;
            let is_own = |place: &InputPlace| matches!(place, InputPlace::Result { call, .. } if *call == inst);
            inputs.values.iter().any(|(place, value)| is_own(place) && *value == InputValue::Null)
        };
        let as_path: BTreeSet<usize> =
            decided.iter().copied().filter(|number| !self.calls[*number].allocates || is_null(number)).collect();
        let foreign: BTreeSet<usize> =
            as_path.iter().copied().filter(|number| self.calls[*number].is_foreign).collect();
        let is_other = |number: &usize| {
            let call = &self.calls[*number];
            // What takes or frees its arguments has a part in it.
            call.can_be_left_out && !call.allocates && !call.is_foreign && self.stubs[*number].is_trusted
        };
        let most = (0..self.calls.len()).filter(is_other).chain(as_path.iter().copied()).collect();
        let mut starts: Vec<BTreeSet<usize>> = Vec::new();
        for start in [as_path, foreign, most] {
            if !starts.contains(&start) {
                starts.push(start);
            }
        }
        starts
    }

    /// What the path says that callees leave in variables of the function.
    pub(crate) fn add_writes(&self, body: &Body, cells: &[LocalCell], plan: &mut Plan) {
        for (number, call) in self.calls.iter().enumerate() {
            for cell in cells {
                for (argument, inside) in passed(body, call.inst, cell.local) {
                    if let Ok(offset) = u64::try_from(cell.offset as i64 - inside) {
                        plan.write(number, argument, offset, cell.bytes, cell.word);
                    }
                }
            }
        }
    }

    /// Calls that return a pointer to something of a known type.
    pub(crate) fn results_by_type<'p>(
        &self,
        program: &'p Program,
        function: FuncId,
    ) -> impl Iterator<Item = (InstId, UnitId, Pointee)> + use<'p> {
        let is_pointer = |stub: &Stub| matches!(stub.kind, StubKind::Call { kind: StubResult::Pointer, .. });
        let own = self.stubs.iter().zip(&self.calls).filter(|(stub, _)| is_pointer(stub)).map(|(_, call)| call.inst);
        own.collect::<Vec<_>>().into_iter().filter_map(move |call| {
            let callee = *program.targets(program.call_site(function, call)?).first()?;
            let info = program.function(callee);
            info.declaration.ret_pointee.target.map(|_| (call, info.unit, info.declaration.ret_pointee))
        })
    }

    /// Arguments of calls that are the addresses of pointers in variables of the function: the callee may set these.
    pub(crate) fn out_parameters(&self, program: &Program, function: FuncId) -> Vec<OutParameter> {
        let Some(body) = program.body(function) else { return Vec::new() };
        let mut found = Vec::new();
        for (number, call) in self.calls.iter().enumerate().filter(|(_, call)| call.can_be_left_out) {
            let target = program.call_site(function, call.inst).and_then(|site| program.targets(site).first().copied());
            let (Some(data), Some(callee)) = (body.insts[call.inst].call(), target) else { continue };
            let info = program.function(callee);
            let params = info.declaration.params.iter().zip(&data.args).zip(&data.arg_types).enumerate();
            // Registers are numbered as arguments are while all of them are words.
            for (argument, ((param, value), ty)) in params.take(REGISTER_ARGUMENTS) {
                if !matches!(ty, Type::Ptr | Type::Int(_)) || param.flags.by_value {
                    break;
                }
                let is_set = param.pointee.depth > 1 && !param.pointee.is_const;
                if is_set && is_in_local(&body, *value) {
                    found.push(OutParameter { call: number, argument, unit: info.unit, pointee: param.pointee });
                }
            }
        }
        found
    }

    /// Results that the path needs, and memory for those that it does not speak of.
    pub(crate) fn add_results(&self, inputs: &Inputs, blocks: &BTreeMap<(u32, InstId), usize>, plan: &mut Plan) {
        for (place, value) in &inputs.values {
            let InputPlace::Result { nth, call } = place else { continue };
            let Some(number) = self.number(*call) else { continue };
            let StubKind::Call { kind, .. } = self.stubs[number].kind else { continue };
            let word = match value {
                InputValue::Number(bits, number) => Word::Number(super::subject::sign_extended(*bits, *number)),
                InputValue::Null => Word::Number(0),
                InputValue::NotNull => match blocks.get(&(*nth, *call)) {
                    Some(block) if kind != StubResult::Number => Word::Block(*block),
                    _ => continue,
                },
            };
            let is_once = !inputs.values.iter().any(|(place, _)| {
                matches!(place, InputPlace::Result { nth: other, call: same } if same == call && other != nth)
            });
            plan.result(number, if is_once { 0 } else { nth + 1 }, word);
        }
        let is_named = |call: InstId| {
            let is_own = |place: &InputPlace| matches!(place, InputPlace::Result { call: own, .. } if *own == call);
            inputs.values.iter().any(|(place, _)| is_own(place))
        };
        for ((_, call), block) in blocks.iter().filter(|((_, call), _)| !is_named(*call)) {
            self.number(*call).into_iter().for_each(|number| plan.result(number, 0, Word::Block(*block)));
        }
    }
}

/// An argument by which a callee may set a pointer of its caller.
pub(crate) struct OutParameter {
    pub call: usize,
    pub argument: usize,
    pub unit: UnitId,
    pub pointee: Pointee,
}

/// Words in which arguments may be, on the stack too. Of structures passed by value a part.
fn words(data: &CallData) -> usize {
    const WORDS_BY_VALUE: usize = 8;
    data.args.len() + data.by_value.len() * WORDS_BY_VALUE
}

/// All that a function returns, if these are numbers of its code.
fn returned_numbers(program: &Program, callee: FuncId) -> Option<Vec<i64>> {
    let body = program.body(callee)?;
    let mut all = Vec::new();
    for inst in body.insts.values() {
        let Inst::Return { value: Some(value) } = inst else { continue };
        match value {
            Operand::Const(constant) => all.push(body.consts[*constant].as_signed()?),
            Operand::Value(value) => all.extend(body.constants_of(*value)?),
        }
    }
    Some(all)
}

fn can_be_left_out(program: &Program, analysis: &Analysis, callee: Option<FuncId>, data: &CallData) -> bool {
    let Some(callee) = callee else { return !data.flags.no_return };
    let declaration = program.function(callee).declaration;
    let returns = !data.flags.no_return && !declaration.flags.no_return && !analysis.summary(callee).no_return;
    returns && (is_own(program, callee) || can_be_scripted(program, callee))
}

/// Whether the project defines a function. A header of a library may show what one does, and still leave it to the library.
fn is_own(program: &Program, callee: FuncId) -> bool {
    let info = program.function(callee);
    info.has_body && info.declaration.linkage != Linkage::AvailableExternally
}

/// The arguments of a call that are addresses in a local variable: the register, and how far inside.
pub(super) fn passed(body: &Body, call: InstId, local: InstId) -> Vec<(usize, i64)> {
    let Some(data) = body.insts[call].call() else { return Vec::new() };
    let mut found = Vec::new();
    let mut register = 0;
    for (at, (argument, ty)) in data.args.iter().zip(&data.arg_types).enumerate() {
        let is_word = matches!(ty, Type::Ptr | Type::Int(_)) && !data.by_value.contains(&(at as u16));
        if !is_word || register >= REGISTER_ARGUMENTS {
            continue;
        }
        found.extend(inside(body, *argument, local).map(|offset| (register, offset)));
        register += 1;
    }
    found
}

/// Whether an address lies in a local variable.
fn is_in_local(body: &Body, address: Operand) -> bool {
    let Some(value) = address.value() else { return false };
    match &body.insts[value] {
        Inst::Local { .. } => true,
        Inst::Address { base, .. } => is_in_local(body, *base),
        _ => false,
    }
}

/// How far inside of a local variable an address lies.
fn inside(body: &Body, address: Operand, local: InstId) -> Option<i64> {
    let value = address.value()?;
    if value == local {
        return Some(0);
    }
    let Inst::Address { base, steps } = &body.insts[value] else { return None };
    let mut offset = inside(body, *base, local)?;
    for step in steps {
        offset += match step {
            AddressStep::Field { offset, .. } => i64::try_from(*offset).ok()?,
            AddressStep::Bytes { offset, .. } => *offset,
            AddressStep::Index { .. } => return None,
        };
    }
    Some(offset)
}
