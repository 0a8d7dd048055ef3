//! Runs core IR on a given heap, and tells which cells nothing refers to in the end. Knows nothing of the prover.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use caulk_ir::{
    AddressStep, BinaryOp, Body, CallData, Callee, CastOp, CompareOp, Constant, Inst, InstId, Operand, Type, VarId,
};
use caulk_program::{FuncId, Program};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Pointer {
        object: usize,
        offset: i64,
    },
    /// Reading it ends the run: the program has no meaning.
    Undefined,
}

pub(crate) const NULL: Value = Value::Number(0);

#[derive(Clone, Debug, Default)]
pub(crate) struct Object {
    pub contents: BTreeMap<i64, Value>,
    pub is_heap: bool,
    pub is_gone: bool,
}

/// Why a run has no result: it has no meaning, or it is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck;

type Run<T> = Result<T, Stuck>;

pub(crate) struct Machine<'a> {
    program: &'a Program,
    bodies: HashMap<FuncId, Body>,
    pub objects: Vec<Object>,
    steps: usize,
    /// The object of the first global variable; there is one unit.
    first_global: usize,
    /// What the variables of each function that is running hold.
    variables: Vec<HashMap<VarId, Value>>,
    /// What was just returned, and has no place yet.
    returned: Value,
    /// Held by the caller that started the run.
    pub held: Vec<Value>,
    /// Which cells nothing refers to, and the line where that came to be.
    pub lost: BTreeMap<usize, u32>,
    /// Whether `lost` is kept.
    pub watches: bool,
}

/// Instructions of one run.
const MAX_STEPS: usize = 2_000;
/// Calls inside each other.
const MAX_DEPTH: usize = 30;

impl<'a> Machine<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        Self {
            program,
            bodies: HashMap::new(),
            objects: Vec::new(),
            steps: 0,
            first_global: 0,
            variables: Vec::new(),
            returned: NULL,
            held: Vec::new(),
            lost: BTreeMap::new(),
            watches: false,
        }
    }

    /// Starts again with a heap.
    pub(crate) fn reset(&mut self, heap: &[Object], globals: impl Fn(usize) -> Value) {
        self.objects = heap.to_vec();
        self.first_global = heap.len();
        for at in 0..self.program.globals().len() {
            let contents = BTreeMap::from([(0, globals(at))]);
            self.objects.push(Object { contents, ..Object::default() });
        }
        self.steps = 0;
        self.variables.clear();
        self.returned = NULL;
        self.held.clear();
        self.lost.clear();
    }

    /// Notes cells that nothing refers to since this line.
    fn watch(&mut self, line: u32) {
        if !self.watches {
            return;
        }
        let mut held: Vec<Value> = self.variables.iter().flat_map(|v| v.values().copied()).collect();
        held.push(self.returned);
        held.extend(&self.held);
        let now = self.unreferenced(&held);
        self.lost.retain(|cell, _| now.contains(cell));
        for cell in now {
            self.lost.entry(cell).or_insert(line);
        }
    }

    /// Heap cells that neither memory nor any of these values refers to, and that were not freed.
    pub(crate) fn unreferenced(&self, held: &[Value]) -> BTreeSet<usize> {
        let alive = self.objects.iter().filter(|o| !o.is_gone);
        let in_memory = alive.flat_map(|o| o.contents.values());
        let referenced: BTreeSet<usize> = in_memory
            .chain(held)
            .filter_map(|value| match value {
                Value::Pointer { object, .. } => Some(*object),
                _ => None,
            })
            .collect();
        let cells = self.objects.iter().enumerate().filter(|(_, o)| o.is_heap && !o.is_gone);
        cells.map(|(at, _)| at).filter(|at| !referenced.contains(at)).collect()
    }

    pub(crate) fn call(&mut self, function: FuncId, args: &[Value]) -> Run<Value> {
        if self.variables.len() >= MAX_DEPTH {
            return Err(Stuck);
        }
        self.variables.push(HashMap::new());
        let body = match self.bodies.remove(&function) {
            Some(body) => body,
            None => self.program.body(function).ok_or(Stuck)?,
        };
        let result = Frame { values: HashMap::new(), locals: Vec::new(), first_global: self.first_global }
            .run(self, function, &body, args);
        self.bodies.insert(function, body);
        self.variables.pop();
        result
    }

    fn object(&mut self, is_heap: bool) -> Value {
        self.objects.push(Object { is_heap, ..Object::default() });
        Value::Pointer { object: self.objects.len() - 1, offset: 0 }
    }

    fn place(&mut self, address: Value) -> Run<(&mut Object, i64)> {
        match address {
            Value::Pointer { object, offset } if !self.objects[object].is_gone => {
                Ok((&mut self.objects[object], offset))
            }
            _ => Err(Stuck),
        }
    }

    fn free(&mut self, what: Value) -> Run<()> {
        if what == NULL {
            return Ok(());
        }
        let (object, offset) = self.place(what)?;
        if !object.is_heap || offset != 0 {
            return Err(Stuck);
        }
        object.is_gone = true;
        Ok(())
    }
}

struct Frame {
    values: HashMap<InstId, Value>,
    locals: Vec<usize>,
    first_global: usize,
}

impl Frame {
    fn run(mut self, machine: &mut Machine<'_>, function: FuncId, body: &Body, args: &[Value]) -> Run<Value> {
        for (index, arg) in args.iter().enumerate() {
            self.values.insert(InstId(index as u32), *arg);
        }
        let mut block = Body::ENTRY;
        let mut from = block;
        loop {
            let phis = self.phis(machine, body, block, from)?;
            self.values.extend(phis);
            for inst in body.blocks[block].insts() {
                machine.steps += 1;
                if machine.steps > MAX_STEPS {
                    return Err(Stuck);
                }
                match &body.insts[inst] {
                    Inst::Phi { .. } => {}
                    Inst::Jump { target } => (from, block) = (block, *target),
                    Inst::Branch { cond, then, other } => {
                        let truth = self.number(body, *cond)? != 0;
                        (from, block) = (block, if truth { *then } else { *other });
                    }
                    Inst::Return { value } => {
                        let result = value.map_or(NULL, |v| self.operand(body, v));
                        self.locals.iter().for_each(|l| machine.objects[*l].is_gone = true);
                        machine.returned = result;
                        machine.variables.last_mut().expect("a function runs").clear();
                        machine.watch(body.place(inst).line);
                        return Ok(result);
                    }
                    _ => {
                        let value = self.step(machine, function, body, inst)?;
                        self.values.insert(inst, value);
                        self.watch(machine, body, inst);
                    }
                }
            }
        }
    }

    /// References change where variables and memory do.
    fn watch(&self, machine: &mut Machine<'_>, body: &Body, inst: InstId) {
        let variables = machine.variables.last_mut().expect("a function runs");
        match &body.insts[inst] {
            Inst::Bind { var, value } => {
                variables.insert(*var, self.operand(body, *value));
                machine.returned = NULL;
            }
            Inst::Unbind { var } => {
                variables.remove(var);
            }
            Inst::Store { ty: Type::Ptr, .. } | Inst::Copy { .. } => machine.returned = NULL,
            Inst::Call(call) if call.ret == Type::Void => {}
            _ => return,
        }
        machine.watch(body.place(inst).line);
    }

    fn phis(
        &self,
        _machine: &Machine<'_>,
        body: &Body,
        block: caulk_ir::BlockId,
        from: caulk_ir::BlockId,
    ) -> Run<Vec<(InstId, Value)>> {
        let mut values = Vec::new();
        for inst in body.blocks[block].insts() {
            let Inst::Phi { incoming, .. } = &body.insts[inst] else { break };
            let (_, operand) = incoming.iter().find(|(b, _)| *b == from).ok_or(Stuck)?;
            values.push((inst, self.operand(body, *operand)));
        }
        Ok(values)
    }

    fn operand(&self, body: &Body, operand: Operand) -> Value {
        match operand {
            Operand::Value(value) => self.values.get(&value).copied().unwrap_or(Value::Undefined),
            Operand::Const(c) => match body.consts[c] {
                Constant::Int { value, .. } | Constant::Pointer(value) => Value::Number(value),
                Constant::Null | Constant::Zero(_) => NULL,
                Constant::Global { global, offset } => {
                    Value::Pointer { object: self.first_global + global.0 as usize, offset }
                }
                _ => Value::Undefined,
            },
        }
    }

    fn number(&self, body: &Body, operand: Operand) -> Run<u64> {
        match self.operand(body, operand) {
            Value::Number(n) => Ok(n),
            _ => Err(Stuck),
        }
    }

    fn step(&mut self, machine: &mut Machine<'_>, function: FuncId, body: &Body, inst: InstId) -> Run<Value> {
        let operand = |o: Operand| self.operand(body, o);
        Ok(match &body.insts[inst] {
            Inst::Load { address, .. } => {
                let (object, offset) = machine.place(operand(*address))?;
                object.contents.get(&offset).copied().unwrap_or(Value::Undefined)
            }
            Inst::Store { value, address, .. } => {
                let value = operand(*value);
                let (object, offset) = machine.place(operand(*address))?;
                object.contents.insert(offset, value);
                NULL
            }
            Inst::Copy { dst, src, len } => {
                let len = self.number(body, *len)? as i64;
                let (from, start) = machine.place(operand(*src))?;
                let inside = from.contents.range(start..start + len);
                let copied: Vec<(i64, Value)> = inside.map(|(at, value)| (at - start, *value)).collect();
                let (to, start) = machine.place(operand(*dst))?;
                to.contents.retain(|at, _| *at < start || start + len <= *at);
                to.contents.extend(copied.into_iter().map(|(at, value)| (start + at, value)));
                NULL
            }
            Inst::Address { base, steps } => {
                let mut value = operand(*base);
                for step in steps {
                    let Value::Pointer { object, offset } = value else { return Err(Stuck) };
                    let more = match step {
                        AddressStep::Field { offset, .. } => *offset as i64,
                        AddressStep::Bytes { offset, .. } => *offset,
                        AddressStep::Index { index, stride } => self.number(body, *index)? as i64 * *stride as i64,
                    };
                    value = Value::Pointer { object, offset: offset + more };
                }
                value
            }
            Inst::Local { .. } => {
                let local = machine.object(false);
                if let Value::Pointer { object, .. } = local {
                    self.locals.push(object);
                }
                local
            }
            Inst::ScopeEnd { local } | Inst::ScopeStart { local } => {
                if let Value::Pointer { object, .. } = operand(Operand::Value(*local)) {
                    machine.objects[object].contents.clear();
                }
                NULL
            }
            Inst::Compare { op, ty, lhs, rhs } => {
                Value::Number(u64::from(compare(*op, *ty, operand(*lhs), operand(*rhs))?))
            }
            Inst::Binary { op, ty, lhs, rhs, .. } => {
                Value::Number(binary(*op, *ty, self.number(body, *lhs)?, self.number(body, *rhs)?)?)
            }
            Inst::Cast { op, from, to, value } => cast(*op, *from, *to, operand(*value))?,
            Inst::Select { cond, then, other, .. } => {
                let truth = self.number(body, *cond)? != 0;
                operand(if truth { *then } else { *other })
            }
            Inst::Bind { .. } | Inst::Unbind { .. } => NULL,
            Inst::Call(call) => self.call(machine, function, body, call)?,
            _ => return Err(Stuck),
        })
    }

    fn call(&self, machine: &mut Machine<'_>, function: FuncId, body: &Body, call: &CallData) -> Run<Value> {
        let Callee::Direct(local) = call.callee else { return Err(Stuck) };
        let program = machine.program;
        let target = program.resolve_function(program.function(function).unit, local)[0];
        let args: Vec<Value> = call.args.iter().map(|a| self.operand(body, *a)).collect();
        match program.function(target).symbol {
            "malloc" => Ok(machine.object(true)),
            "free" => machine.free(args[0]).map(|()| NULL),
            _ => machine.call(target, &args),
        }
    }
}

fn signed(value: u64, ty: Type) -> i64 {
    match ty {
        Type::Int(bits) if bits < 64 => ((value << (64 - bits)) as i64) >> (64 - bits),
        _ => value as i64,
    }
}

fn truncated(value: u64, ty: Type) -> u64 {
    match ty {
        Type::Int(bits) if bits < 64 => value & ((1 << bits) - 1),
        _ => value,
    }
}

fn compare(op: CompareOp, ty: Type, a: Value, b: Value) -> Run<bool> {
    if a == Value::Undefined || b == Value::Undefined {
        return Err(Stuck);
    }
    match op {
        CompareOp::Eq => return Ok(a == b),
        CompareOp::Ne => return Ok(a != b),
        _ => {}
    }
    let (Value::Number(a), Value::Number(b)) = (a, b) else { return Err(Stuck) };
    let (x, y) = (signed(a, ty), signed(b, ty));
    Ok(match op {
        CompareOp::ULt => a < b,
        CompareOp::ULe => a <= b,
        CompareOp::UGt => a > b,
        CompareOp::UGe => a >= b,
        CompareOp::SLt => x < y,
        CompareOp::SLe => x <= y,
        CompareOp::SGt => x > y,
        CompareOp::SGe => x >= y,
        _ => return Err(Stuck),
    })
}

fn binary(op: BinaryOp, ty: Type, a: u64, b: u64) -> Run<u64> {
    let result = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        _ => return Err(Stuck),
    };
    Ok(truncated(result, ty))
}

fn cast(op: CastOp, from: Type, to: Type, value: Value) -> Run<Value> {
    match (op, value) {
        (CastOp::Bits, value) => Ok(value),
        (CastOp::ZeroExtend, Value::Number(n)) => Ok(Value::Number(n)),
        (CastOp::SignExtend, Value::Number(n)) => Ok(Value::Number(truncated(signed(n, from) as u64, to))),
        (CastOp::Truncate, Value::Number(n)) => Ok(Value::Number(truncated(n, to))),
        _ => Err(Stuck),
    }
}
