//! The shape of a body: a hash of all that it says, whatever numbers its unit gives to what it mentions and wherever in its file it stands.
//!
//! When code above a function changes, its lines move and its unit may number functions, variables, types and strings in another way. The
//! shape stays the same: lines count from the function's own, strings by their text, and what else is mentioned is listed apart, for who
//! knows what it means.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::body::Body;
use crate::constant::Constant;
use crate::entity::{FunctionId, GlobalId, StrId, StructId};
use crate::inst::{AddressStep, CallData, Callee, Inst};
use crate::types::Pointee;
use crate::unit::Unit;

/// What is not known stays so: no function is so long.
const UNKNOWN: u32 = 1 << 31;

/// A line as the distance from that of its function: it stays the same when code above moves both.
pub fn line_below(line: u32, function: u32) -> u32 {
    if line == 0 { UNKNOWN } else { line.wrapping_sub(function) }
}

/// The line of which [`line_below`] gave the distance.
pub fn line_at(below: u32, function: u32) -> u32 {
    if below == UNKNOWN { 0 } else { below.wrapping_add(function) }
}

/// Something of the unit that a body mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mention {
    Function(FunctionId),
    Global(GlobalId),
    Struct(StructId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// All but the mentions.
    pub hash: u64,
    /// In the order in which they occur.
    pub mentions: Box<[Mention]>,
}

impl Shape {
    /// The shape of a body of `function`.
    pub fn new(unit: &Unit, function: FunctionId, mut body: Body) -> Self {
        let mut taker = Taker { unit, hasher: DefaultHasher::new(), mentions: Vec::new() };
        let line = unit.functions[function].line;
        for inst in body.insts.values_mut() {
            match inst {
                Inst::Call(call) | Inst::Invoke { call, .. } => taker.callee(call),
                Inst::Address { steps, .. } => steps.iter_mut().for_each(|step| taker.step(step)),
                _ => {}
            }
        }
        body.consts.values_mut().for_each(|constant| taker.constant(constant));
        for var in body.vars.values_mut() {
            taker.text(&mut var.name);
            taker.pointee(&mut var.pointee);
            var.line = line_below(var.line, line);
        }
        for place in body.places.values_mut() {
            place.line = line_below(place.line, line);
            if let Some(file) = unit.files.get(place.file) {
                unit.str(*file).hash(&mut taker.hasher);
            }
            place.file = crate::entity::FileId(0);
            if let Some(inlined) = &mut place.inlined {
                taker.text(&mut inlined.function);
            }
        }
        let bytes = postcard::to_stdvec(&body).expect("a body in memory always encodes");
        taker.hasher.write(&bytes);
        Self { hash: taker.hasher.finish(), mentions: taker.mentions.into() }
    }
}

/// Takes out of a body what is numbered by its unit.
struct Taker<'u> {
    unit: &'u Unit,
    hasher: DefaultHasher,
    mentions: Vec<Mention>,
}

impl Taker<'_> {
    fn text(&mut self, id: &mut StrId) {
        self.unit.str(*id).hash(&mut self.hasher);
        *id = StrId(0);
    }

    fn structure(&mut self, id: &mut StructId) {
        self.mentions.push(Mention::Struct(*id));
        *id = StructId(0);
    }

    fn pointee(&mut self, pointee: &mut Pointee) {
        if let Some(target) = &mut pointee.target {
            self.structure(target);
        }
    }

    fn step(&mut self, step: &mut AddressStep) {
        if let AddressStep::Field { ty, .. } = step {
            self.structure(ty);
        }
    }

    fn callee(&mut self, call: &mut CallData) {
        match &mut call.callee {
            Callee::Direct(function) => {
                self.mentions.push(Mention::Function(*function));
                *function = FunctionId(0);
            }
            Callee::Assembly(text) => self.text(text),
            Callee::Indirect(_) => {}
        }
    }

    fn constant(&mut self, constant: &mut Constant) {
        match constant {
            Constant::Global { global, .. } => {
                self.mentions.push(Mention::Global(*global));
                *global = GlobalId(0);
            }
            Constant::Function(function) => {
                self.mentions.push(Mention::Function(*function));
                *function = FunctionId(0);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_unit;

    fn shape(text: &str) -> Shape {
        let mut unit = parse_unit(text).expect("well formed");
        let last = unit.functions.keys().last().expect("there is a function");
        let body = unit.functions[last].body.take().expect("it has a body");
        Shape::new(&unit, last, body)
    }

    #[test]
    fn lines_are_found_again() {
        for (line, function) in [(0, 7), (7, 7), (12, 7), (3, 7), (5, 0)] {
            assert_eq!(line_at(line_below(line, function), function), line);
        }
        assert_eq!(line_below(0, 7), line_below(0, 9));
    }

    #[test]
    fn numbers_of_the_unit_are_no_part_of_a_shape() {
        let one = shape("declare @g(ptr)\ndefine @f(p: ptr) {\n  call void @g(ptr %0) @ 3:2\n  return @ 4:1\n}\n");
        let other = shape(
            "declare @other()\ndeclare @g(ptr)\ndefine @f(p: ptr) {\n  call void @g(ptr %0) @ 3:2\n  return @ 4:1\n}\n",
        );
        assert_eq!(one.hash, other.hash);
        assert_ne!(one.mentions, other.mentions);
        let moved = shape("declare @g(ptr)\ndefine @f(p: ptr) {\n  call void @g(ptr %0) @ 3:5\n  return @ 4:1\n}\n");
        assert_ne!(one.hash, moved.hash);
    }
}
