//! Walks one body and notes its calls and the flow of function pointers.

use caulk_ir::entity::Entity;
use caulk_ir::{Body, CallData, Callee, CastOp, Constant, Inst, InstId, Linkage, Operand, Type};
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::built::note_builds;
use crate::facts::{BodyFacts, CallFact, CallShape, Facts, Key, Site, Value, World, fits, may_hold};
use crate::formulas::Formula;
use crate::ids::FuncId;
use crate::inline_assembly::takes_pointers;
use crate::locate::{Reader, Root, Slot};
use crate::variables::{constant_result, note_uses};
use crate::virtual_sites::virtual_call;

const NONE: u32 = u32::MAX;

struct Extractor<'a, 'f> {
    reader: Reader<'a>,
    id: FuncId,
    pointer_bytes: u8,
    facts: &'f mut Facts,
    /// The node of each value that has one.
    nodes: Vec<u32>,
    /// Values with a node whose operands have yet to flow into it.
    pending: Vec<InstId>,
}

pub(crate) fn extract(world: &World<'_>, id: FuncId, body: &Body, facts: &mut Facts) -> BodyFacts {
    let home = world.linked.functions[id];
    let unit = &world.units[home.unit.index()].unit;
    let function = &unit.functions[home.local];
    let reader = Reader::new(world, unit, world.map(home.unit), function, body);
    let nodes = vec![NONE; body.insts.len()];
    let mut extractor = Extractor { reader, id, pointer_bytes: unit.pointer_bytes, facts, nodes, pending: Vec::new() };
    extractor.run();
    note_uses(world, world.map(home.unit), id, body, &mut extractor.facts.variables);
    let meant = |name| match world.map(home.unit).functions.get(name) {
        [only] => Some(*only),
        _ => None,
    };
    let is_final = function.linkage != Linkage::Weak;
    let formula = Formula::new(body, meant).filter(|_| is_final);
    extractor.facts.formulas.extend(formula.map(|formula| (id, formula)));
    note_builds(world, world.map(home.unit), id, body, extractor.facts);
    let own = body.places.values().filter(|p| p.inlined.is_none() && Some(p.file) == function.file);
    BodyFacts {
        blocks: body.blocks.len() as u32,
        insts: body.insts.len() as u32,
        last_line: own.map(|p| p.line).max().unwrap_or(0),
        calls_end: 0,
        result: constant_result(body),
    }
}

impl<'a> Extractor<'a, '_> {
    fn run(&mut self) {
        let body = self.reader.body;
        for constant in body.consts.values() {
            if let Constant::Function(function) = constant {
                self.facts.address_taken.extend_from_slice(self.reader.map.functions.get(*function));
            }
        }
        for (id, inst) in body.insts.iter() {
            self.inst(id, inst);
        }
        while let Some(value) = self.pending.pop() {
            let node = Key::Local(self.nodes[value.index()]);
            match &body.insts[value] {
                Inst::Phi { incoming, .. } => incoming.iter().for_each(|(_, v)| self.flow(*v, node)),
                Inst::Select { then: a, other: b, .. } | Inst::Insert { aggregate: a, value: b, .. } => {
                    self.flow(*a, node);
                    self.flow(*b, node);
                }
                Inst::Call(_) | Inst::Invoke { .. } => {
                    self.flow(Operand::Value(value), node);
                    self.allocate(value, node);
                }
                _ => self.flow(Operand::Value(value), node),
            }
        }
    }

    /// A call result used as a pointer to function pointers may be a fresh array of them.
    fn allocate(&mut self, value: InstId, node: Key) {
        let shape = self.reader.shape(value);
        if shape.is_some_and(|s| s.pointee.is_function && s.pointee.depth > 1) {
            let array = Key::Local(self.fresh());
            self.facts.values.push((node, Value::Address(array)));
        }
    }

    fn inst(&mut self, id: InstId, inst: &'a Inst) {
        match inst {
            Inst::Store { ty, value, address, .. } => {
                self.escapes(*value);
                if self.fits(*ty) && !self.is_number(*value) {
                    self.store(*value, *ty, *address);
                }
            }
            Inst::Copy { dst, src, .. } => {
                self.escapes(*dst);
                self.escapes(*src);
                self.copy(*dst, *src);
            }
            Inst::Call(call) | Inst::Invoke { call, .. } => {
                call.args.iter().for_each(|arg| self.escapes(*arg));
                self.call(id, call);
            }
            Inst::Return { value: Some(value) } => {
                self.escapes(*value);
                let function = self.reader.function;
                if self.fits(function.signature.ret) && may_hold(function.ret_pointee) {
                    if let Some(node) = self.reader.world.frames.result(self.id) {
                        self.flow(*value, Key::Frame(node));
                    }
                }
            }
            Inst::Phi { .. }
            | Inst::Select { .. }
            | Inst::Cast { .. }
            | Inst::Insert { .. }
            | Inst::Binary { .. }
            | Inst::Unknown { .. } => inst.for_each_operand(|operand| self.escapes(*operand)),
            _ => {}
        }
    }

    fn fits(&self, ty: Type) -> bool {
        fits(ty, self.pointer_bytes)
    }

    fn is_number(&self, operand: Operand) -> bool {
        let constant = self.reader.body.constant(operand);
        constant.is_some_and(|c| !matches!(c, Constant::Function(_) | Constant::Global { .. }))
    }

    /// The address of a variable that is a structure goes where only the type of the structure is known.
    fn escapes(&mut self, operand: Operand) {
        let body = self.reader.body;
        let is_address = match operand {
            Operand::Const(c) => matches!(body.consts[c], Constant::Global { .. }),
            Operand::Value(v) => matches!(body.insts[v], Inst::Address { .. }),
        };
        if !is_address {
            return;
        }
        if let Root::Global(global) = self.reader.locate(operand).root {
            if self.reader.world.globals[global].ty.is_some() {
                self.facts.escaped.push(global);
            }
        }
    }

    fn fresh(&mut self) -> u32 {
        self.facts.locals += 1;
        self.facts.locals - 1
    }

    /// The node of a value or of a local variable. True if it is new.
    fn node(&mut self, value: InstId) -> (Key, bool) {
        let known = self.nodes[value.index()];
        if known != NONE {
            return (Key::Local(known), false);
        }
        let node = self.fresh();
        self.nodes[value.index()] = node;
        (Key::Local(node), true)
    }

    /// The node of a value that is not itself a local variable, with what flows into it.
    fn pointer(&mut self, value: InstId) -> Key {
        let (node, is_new) = self.node(value);
        if is_new {
            self.pending.push(value);
        }
        node
    }

    /// Whatever functions the operand may be, `to` may hold.
    fn flow(&mut self, from: Operand, to: Key) {
        let body = self.reader.body;
        let mut from = from;
        for _ in 0..BOUNDS.casts {
            let value = match from {
                Operand::Value(value) => value,
                Operand::Const(c) => return self.flow_constant(from, body.consts[c], to),
            };
            match &body.insts[value] {
                Inst::Cast { op, value, .. } if *op != CastOp::Float => from = *value,
                Inst::Extract { aggregate, .. } => from = *aggregate,
                Inst::Param { index, ty } => {
                    let declared = self.reader.function.params.get(*index as usize);
                    if self.fits(*ty) && declared.is_none_or(|p| may_hold(p.pointee)) {
                        let node = self.reader.world.frames.param(self.id, *index);
                        self.facts.edges.extend(node.map(|n| (Key::Frame(n), to)));
                    }
                    return;
                }
                Inst::Load { ty, address, .. } if self.fits(*ty) => return self.load(*address, *ty, to),
                Inst::Phi { ty, .. } | Inst::Select { ty, .. } | Inst::Insert { ty, .. } if self.fits(*ty) => {
                    let node = self.pointer(value);
                    return self.edge(node, to);
                }
                Inst::Call(call) | Inst::Invoke { call, .. } if self.fits(call.ret) => {
                    return self.flow_result(value, call, to);
                }
                Inst::Local { .. } | Inst::Address { .. } => match self.reader.function_place(from) {
                    Slot::Behind(base) if Operand::Value(base) != from => from = Operand::Value(base),
                    slot => return self.flow_address(slot, to),
                },
                _ => return,
            }
        }
    }

    fn flow_constant(&mut self, from: Operand, constant: Constant, to: Key) {
        match constant {
            Constant::Function(function) => {
                let targets = self.reader.map.functions.get(function);
                self.facts.values.extend(targets.iter().map(|&t| (to, Value::Function(t))));
            }
            Constant::Global { .. } => {
                let slot = self.reader.function_place(from);
                self.flow_address(slot, to);
            }
            _ => {}
        }
    }

    fn flow_address(&mut self, slot: Slot, to: Key) {
        let key = match slot {
            Slot::Key(key) => key,
            Slot::Local(local) => self.node(local).0,
            Slot::Behind(_) | Slot::Nothing => return,
        };
        self.facts.values.push((to, Value::Address(key)));
    }

    fn flow_result(&mut self, value: InstId, call: &CallData, to: Key) {
        match call.callee {
            Callee::Direct(function) if may_hold(self.reader.unit.functions[function].ret_pointee) => {
                for &target in self.reader.map.functions.get(function) {
                    let node = self.reader.world.frames.result(target);
                    self.facts.edges.extend(node.map(|n| (Key::Frame(n), to)));
                }
            }
            Callee::Indirect(_) => {
                let node = self.node(value).0;
                self.edge(node, to);
            }
            _ => {}
        }
    }

    fn edge(&mut self, from: Key, to: Key) {
        if from != to {
            self.facts.edges.push((from, to));
        }
    }

    /// The slots a value of the type covers at an address.
    fn slots(&self, address: Operand, ty: Type) -> SmallVec<[Slot; 1]> {
        let location = self.reader.locate(address);
        let word = u64::from(self.pointer_bytes.max(1));
        let words = match ty {
            Type::Aggregate(bytes) if location.ty.is_some() => (u64::from(bytes) / word).clamp(1, BOUNDS.words),
            _ => 1,
        };
        let mut slots: SmallVec<[Slot; 1]> = SmallVec::new();
        for slot in (0..words).map(|i| self.reader.slot_at(&location, i * word)) {
            if slot != Slot::Nothing && !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        slots
    }

    fn load(&mut self, address: Operand, ty: Type, to: Key) {
        for slot in self.slots(address, ty) {
            self.load_slot(slot, to);
        }
    }

    fn load_slot(&mut self, slot: Slot, to: Key) {
        match slot {
            Slot::Key(key) => self.edge(key, to),
            Slot::Local(local) => {
                let node = self.node(local).0;
                self.edge(node, to);
            }
            Slot::Behind(pointer) => {
                let node = self.pointer(pointer);
                self.facts.loads.push((node, to));
            }
            Slot::Nothing => {}
        }
    }

    fn store(&mut self, value: Operand, ty: Type, address: Operand) {
        for slot in self.slots(address, ty) {
            match slot {
                Slot::Key(key) => self.flow(value, key),
                Slot::Local(local) => {
                    let node = self.node(local).0;
                    self.flow(value, node);
                }
                Slot::Behind(pointer) => {
                    if let Some(from) = self.node_of(value) {
                        let to = self.pointer(pointer);
                        self.facts.stores.push((from, to));
                    }
                }
                Slot::Nothing => {}
            }
        }
    }

    /// A node for what an operand may be; none if nothing can flow into it.
    fn node_of(&mut self, operand: Operand) -> Option<Key> {
        let before = (self.facts.edges.len(), self.facts.values.len(), self.facts.loads.len());
        let node = Key::Local(self.fresh());
        self.flow(operand, node);
        let after = (self.facts.edges.len(), self.facts.values.len(), self.facts.loads.len());
        if before == after {
            return None;
        }
        Some(node)
    }

    /// Structures of one type share their slots, so a copy between them moves nothing. Between different types, or
    /// when only one is a structure, words travel one by one.
    fn copy(&mut self, dst: Operand, src: Operand) {
        let (from, to) = (self.reader.locate(src), self.reader.locate(dst));
        let types = &self.reader.world.types;
        let words = match (from.ty, to.ty) {
            (Some(a), Some(b)) if a == b => 0,
            (Some((a, _)), Some((b, _))) => {
                let bytes = types.get(a).size.min(types.get(b).size);
                (bytes / u64::from(self.pointer_bytes.max(1))).min(BOUNDS.words)
            }
            _ => 1,
        };
        for i in 0..words {
            let after = i * u64::from(self.pointer_bytes);
            let (from, to) = (self.reader.slot_at(&from, after), self.reader.slot_at(&to, after));
            if from == to || from == Slot::Nothing {
                continue;
            }
            match to {
                Slot::Key(key) => self.load_slot(from, key),
                Slot::Local(local) => {
                    let node = self.node(local).0;
                    self.load_slot(from, node);
                }
                Slot::Behind(pointer) => {
                    let passing = Key::Local(self.fresh());
                    self.load_slot(from, passing);
                    let node = self.pointer(pointer);
                    self.facts.stores.push((passing, node));
                }
                Slot::Nothing => {}
            }
        }
    }

    fn call(&mut self, id: InstId, call: &CallData) {
        let fact = match call.callee {
            Callee::Direct(function) => {
                for &target in self.reader.map.functions.get(function) {
                    self.pass_arguments(call, target);
                }
                CallFact::Direct(function)
            }
            Callee::Indirect(target) => {
                let site = self.site(id, call, target);
                self.facts.sites.push(site);
                CallFact::Indirect
            }
            Callee::Assembly(_) => {
                CallFact::Assembly { takes_pointers: takes_pointers(self.reader.unit, self.reader.body, call) }
            }
        };
        self.facts.calls.push((id, fact));
    }

    fn pass_arguments(&mut self, call: &CallData, target: FuncId) {
        let world = self.reader.world;
        if !world.frames.has_body(target) {
            return;
        }
        let params = &world.function(target).params;
        for (index, (arg, ty)) in call.args.iter().zip(&call.arg_types).enumerate() {
            let holds = params.get(index).is_none_or(|p| may_hold(p.pointee));
            if !holds || !self.fits(*ty) {
                continue;
            }
            if let Some(node) = world.frames.param(target, index as u32) {
                self.flow(*arg, Key::Frame(node));
            }
        }
    }

    fn site(&mut self, id: InstId, call: &CallData, target: Operand) -> Site {
        let callee = self.callee(target);
        let mut args = Vec::new();
        for (index, (arg, ty)) in call.args.iter().zip(&call.arg_types).enumerate() {
            if self.fits(*ty) && !self.is_number(*arg) {
                args.extend(self.node_of(*arg).map(|node| (index as u32, node)));
            }
        }
        let ret = self.fits(call.ret).then(|| self.node(id).0);
        let virtual_call = virtual_call(&self.reader, self.id, target);
        Site { callee, args: args.into(), ret, shape: CallShape::new(call), virtual_call }
    }

    /// The node of what is called: the slot itself where it is simply loaded from one, so that all calls through that
    /// slot can be resolved as one.
    fn callee(&mut self, target: Operand) -> Key {
        let before = (self.facts.edges.len(), self.facts.values.len(), self.facts.loads.len());
        let node = Key::Local(self.fresh());
        self.flow(target, node);
        if (self.facts.values.len(), self.facts.loads.len()) == (before.1, before.2) {
            if let [(from, to)] = self.facts.edges[before.0..] {
                if to == node {
                    self.facts.edges.pop();
                    return from;
                }
            }
        }
        node
    }
}
