//! Conditions in the names the IR has, for where the source cannot be quoted.

use caulk_ir::{Body, CompareOp, Constant, Inst, InstId, Operand, Unit};

pub(crate) struct OperandNames<'a> {
    pub unit: &'a Unit,
    pub body: &'a Body,
    /// The parameters' names.
    pub params: Vec<Option<&'a str>>,
}

impl OperandNames<'_> {
    /// The condition of a branch, as it must be for the first or the second successor: `p == NULL`.
    pub(crate) fn condition(&self, cond: Operand, holds: bool) -> Option<String> {
        let Inst::Compare { op, lhs, rhs, .. } = &self.body.insts[cond.value()?] else {
            return Some(format!("{} is {}", self.operand(cond)?, if holds { "true" } else { "false" }));
        };
        let op = comparison(*op, holds)?;
        Some(format!("{} {op} {}", self.operand(*lhs)?, self.operand(*rhs)?))
    }

    fn operand(&self, operand: Operand) -> Option<String> {
        match operand {
            Operand::Const(c) => match self.body.consts[c] {
                Constant::Null => Some("NULL".to_owned()),
                Constant::Int { value, bits } => Some(caulk_ir::constant::sign_extend(value, bits).to_string()),
                _ => None,
            },
            Operand::Value(value) => self.value(value),
        }
    }

    fn value(&self, value: InstId) -> Option<String> {
        let bound = self.body.insts.values().find_map(|inst| match inst {
            Inst::Bind { var, value: Operand::Value(v) } if *v == value => Some(*var),
            _ => None,
        });
        if let Some(var) = bound {
            return Some(self.unit.str(self.body.vars[var].name).to_owned());
        }
        match &self.body.insts[value] {
            Inst::Param { index, .. } => self.params.get(*index as usize).copied().flatten().map(str::to_owned),
            Inst::Load { address: Operand::Value(local), .. } => match self.body.insts[*local] {
                Inst::Local { var: Some(var), .. } => Some(self.unit.str(self.body.vars[var].name).to_owned()),
                _ => None,
            },
            Inst::Cast { value, .. } => self.operand(*value),
            Inst::Call(call) | Inst::Invoke { call, .. } => match call.callee {
                caulk_ir::Callee::Direct(function) => Some(format!("{}()", self.unit.function_name(function))),
                _ => None,
            },
            _ => None,
        }
    }
}

fn comparison(op: CompareOp, holds: bool) -> Option<&'static str> {
    let (yes, no) = match op {
        CompareOp::Eq => ("==", "!="),
        CompareOp::Ne => ("!=", "=="),
        CompareOp::ULt | CompareOp::SLt => ("<", ">="),
        CompareOp::ULe | CompareOp::SLe => ("<=", ">"),
        CompareOp::UGt | CompareOp::SGt => (">", "<="),
        CompareOp::UGe | CompareOp::SGe => (">=", "<"),
        CompareOp::Float => return None,
    };
    Some(if holds { yes } else { no })
}
