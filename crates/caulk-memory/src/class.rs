//! Classes of memory cells, by which writes are distinguished.

use caulk_ir::{AddressStep, Body, CastOp, Constant, Inst, InstId, Operand, StructId};
use caulk_program::{GlobalVarId, Program, TypeId, UnitId};

/// Where a cell of memory lies, as far as the code that addresses it tells. Two cells of different known classes are never one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A field of a structure type, whichever object it is in: the innermost structure and the offset in it. Elements of an array are one.
    Field(TypeId, u64),
    Global(GlobalVarId),
    /// A variable of the function that is looked at. Other functions know it as [`Class::Other`].
    Local(InstId),
    /// Behind a pointer that says nothing of what it points into: an `int *` or a `char *`.
    Other,
}

impl Class {
    /// The class of a field, whatever structure around it the code goes through.
    pub fn of_field(program: &Program, ty: TypeId, offset: u64) -> Class {
        let spot = program.types().spot(ty, offset);
        Class::Field(spot.ty, spot.offset)
    }

    /// The class of the cell at an address in some body.
    pub fn of_address(program: &Program, unit: UnitId, body: &Body, address: Operand) -> Class {
        let mut at = address;
        loop {
            match at {
                Operand::Const(constant) => {
                    return match body.consts[constant] {
                        Constant::Global { global, .. } => {
                            program.resolve_global(unit, global).first().map_or(Class::Other, |g| Class::Global(*g))
                        }
                        _ => Class::Other,
                    };
                }
                Operand::Value(value) => match &body.insts[value] {
                    Inst::Local { .. } => return Class::Local(value),
                    Inst::Address { base, steps } => match last_field(steps) {
                        Some((ty, offset)) => {
                            return Class::of_field(program, program.resolve_struct(unit, ty), offset);
                        }
                        None => at = *base,
                    },
                    Inst::Cast { op: CastOp::Bits | CastOp::PtrToInt | CastOp::IntToPtr, value, .. } => at = *value,
                    _ => return Class::Other,
                },
            }
        }
    }

    /// Whether cells of the two classes may be one.
    pub fn meets(self, other: Class) -> bool {
        self == other || self == Class::Other || other == Class::Other
    }

    /// The class that other functions know its cells by.
    #[must_use]
    pub fn for_others(self) -> Class {
        match self {
            Class::Local(_) => Class::Other,
            class => class,
        }
    }
}

fn last_field(steps: &[AddressStep]) -> Option<(StructId, u64)> {
    steps.iter().rev().find_map(|step| match step {
        AddressStep::Field { ty, offset } => Some((*ty, *offset)),
        _ => None,
    })
}
