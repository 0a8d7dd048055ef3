//! Allocations that are used before anything asks whether they failed: `p = realloc(p, n); strcat(p, s);`.

use caulk_ir::{Inst, InstId, Operand};

use crate::machine::Machine;

impl Machine<'_> {
    /// Whether what a call gives back is looked behind in the same block. Were it null, the program would end there, so that a test elsewhere
    /// is about another allocation.
    pub(crate) fn is_used_at_once(&mut self, call: InstId) -> bool {
        let frame = self.frame;
        let later: Vec<InstId> = frame.body.blocks[frame.homes[call]].insts().filter(|inst| *inst > call).collect();
        later.into_iter().any(|inst| match &frame.body.insts[inst] {
            Inst::Load { address, .. } | Inst::Store { address, .. } => self.is_inside(*address, call),
            kind => kind.call().is_some_and(|data| {
                let given = data.args.iter().position(|arg| *arg == Operand::Value(call));
                let effect = given.and_then(|index| Some((index as u32, self.effect(inst)?)));
                effect.is_some_and(|(index, effect)| effect.summary.looks_behind.contains(&index))
            }),
        })
    }

    /// Whether an address is what a call gives back, or a part of it.
    fn is_inside(&self, address: Operand, call: InstId) -> bool {
        let mut at = address;
        while let Operand::Value(value) = at {
            match &self.frame.body.insts[value] {
                Inst::Address { base, .. } => at = *base,
                _ => return value == call,
            }
        }
        false
    }
}
