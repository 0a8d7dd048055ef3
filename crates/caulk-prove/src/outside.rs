//! Functions that leave the language for which proofs hold.

use std::collections::BTreeSet;
use std::fmt;

use caulk_ir::{AddressStep, BinaryOp, Callee, CastOp, Inst, InstId, Operand, Type, UnknownReason};
use caulk_program::{Program, TypeId};

use crate::shape::Shape;

/// Why nothing is proved of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    PointerFromNumber,
    PointerToNumber,
    /// `plain`: no structure lies in it, so that all its arms are one place.
    Union {
        plain: bool,
    },
    Assembly,
    Aggregate,
    ByValue,
    Vector,
    NotUnderstood,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outside::PointerFromNumber => "makes a pointer from a number",
            Outside::PointerToNumber => "makes a number from a pointer",
            Outside::Union { .. } => "keeps pointers in a union",
            Outside::Assembly => "has inline assembly",
            Outside::Aggregate => "passes structures with pointers in registers",
            Outside::ByValue => "passes structures by value",
            Outside::Vector => "moves pointers in vectors",
            Outside::NotUnderstood => "has an instruction that is not understood",
        })
    }
}

impl Outside {
    /// All that is wrong is that pointers and numbers share a place.
    pub fn is_plain_union(self) -> bool {
        matches!(self, Outside::Union { plain: true })
    }
}

/// The first thing in a function that breaks the rules; plain unions last.
pub(crate) fn find(program: &Program, shape: &Shape) -> Option<Outside> {
    if program.function(shape.id).declaration.params.iter().any(|p| p.flags.by_value) {
        return Some(Outside::ByValue);
    }
    let body = Seen::new(shape);
    let found = || shape.body.insts.iter().filter_map(|(id, inst)| of_inst(program, shape, &body, id, inst));
    found().find(|o| !o.is_plain_union()).or_else(|| found().next())
}

/// What one look at a whole body tells of its instructions.
struct Seen {
    /// Values that serve other ends than to measure or compare.
    used_freely: BTreeSet<InstId>,
    has_landing_pad: bool,
}

impl Seen {
    fn new(shape: &Shape) -> Self {
        let mut seen = Self { used_freely: BTreeSet::new(), has_landing_pad: false };
        for inst in shape.body.insts.values() {
            seen.has_landing_pad |= matches!(inst, Inst::LandingPad { .. });
            if !matches!(inst, Inst::Binary { op: BinaryOp::Sub, .. } | Inst::Compare { .. } | Inst::Bind { .. }) {
                inst.for_each_operand(|operand| seen.used_freely.extend(operand.value()));
            }
        }
        seen
    }
}

fn of_inst(program: &Program, shape: &Shape, seen: &Seen, id: InstId, inst: &Inst) -> Option<Outside> {
    match inst {
        Inst::Cast { op: CastOp::IntToPtr, value: Operand::Value(_), .. } => Some(Outside::PointerFromNumber),
        Inst::Cast { op: CastOp::PtrToInt, .. } if seen.used_freely.contains(&id) => Some(Outside::PointerToNumber),
        Inst::Load { ty, address, .. } | Inst::Store { ty, address, .. } => match ty {
            Type::Aggregate(_) => Some(Outside::Aggregate),
            Type::Vector(bytes) if *bytes >= 8 => Some(Outside::Vector),
            Type::Ptr => union_on_way(program, shape, *address).map(|ty| Outside::Union {
                plain: program.type_info(ty).fields.iter().all(|f| f.embedded().is_none()),
            }),
            _ => None,
        },
        Inst::Insert { value, .. } if shape.body.operand_type(*value) == Type::Ptr => {
            // What a landing pad hands on is the exception, no cell of the program's.
            (!seen.has_landing_pad).then_some(Outside::Aggregate)
        }
        Inst::Extract { ty: Type::Ptr, aggregate, .. } => {
            let from = aggregate.value().map(|v| &shape.body.insts[v]);
            (!matches!(from, Some(Inst::LandingPad { .. }))).then_some(Outside::Aggregate)
        }
        Inst::Unknown { ty: Type::Ptr, reason, .. } if *reason != UnknownReason::Undefined => {
            Some(Outside::NotUnderstood)
        }
        Inst::Call(call) | Inst::Invoke { call, .. } => match call.callee {
            Callee::Assembly(_) => Some(Outside::Assembly),
            _ if !call.by_value.is_empty() => Some(Outside::ByValue),
            _ => None,
        },
        _ => None,
    }
}

/// The union with more than one arm that an address leads into.
fn union_on_way(program: &Program, shape: &Shape, address: Operand) -> Option<TypeId> {
    let mut at = address;
    while let Operand::Value(value) = at {
        let Inst::Address { base, steps } = &shape.body.insts[value] else {
            return shape.local_type(program, value).filter(|ty| program.type_info(*ty).is_union);
        };
        for step in steps {
            if let AddressStep::Field { ty, offset } = step {
                let spot = program.types().spot(program.resolve_struct(shape.unit, *ty), *offset);
                let info = program.type_info(spot.ty);
                if info.is_union && info.fields.len() > 1 {
                    return Some(spot.ty);
                }
            }
        }
        at = *base;
    }
    None
}
