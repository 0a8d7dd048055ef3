//! Which blocks a changed function is given: it may have freed or kept them before.

use std::collections::BTreeSet;
use std::path::Path;

use caulk_ir::{Body, Entity, Inst, InstId, Operand};
use caulk_program::{FuncId, Program};
use caulk_report::shown_path;

/// How many functions may pass an argument on, one to the next, before a changed one gets it.
const MAX_DEPTH: u32 = 4;

/// The places of calls, by file and line, whose blocks reach a changed function as an argument.
pub(crate) fn given_to(program: &Program, root: &Path, changed: &BTreeSet<FuncId>) -> BTreeSet<(String, u32)> {
    let mut made = BTreeSet::new();
    let mut seen: BTreeSet<FuncId> = changed.clone();
    let mut receivers = changed.clone();
    for _ in 0..MAX_DEPTH {
        let mut next = BTreeSet::new();
        for receiver in &receivers {
            for caller in program.callers(*receiver) {
                let Some(body) = program.body(caller) else { continue };
                let mut origins = Origins { body: &body, calls: BTreeSet::new(), is_param: false };
                origins.of_arguments(program, caller, *receiver);
                let file = |inst: &InstId| {
                    let place = body.place(*inst);
                    let unit = program.unit(program.function(caller).unit);
                    let file = unit.files.get(place.file).map_or("?", |file| unit.str(*file));
                    (shown_path(file, root), place.line)
                };
                made.extend(origins.calls.iter().map(file));
                if origins.is_param && seen.insert(caller) {
                    next.insert(caller);
                }
            }
        }
        receivers = next;
    }
    made
}

/// Where values come from, in one function.
struct Origins<'b> {
    body: &'b Body,
    calls: BTreeSet<InstId>,
    is_param: bool,
}

impl Origins<'_> {
    fn of_arguments(&mut self, program: &Program, caller: FuncId, receiver: FuncId) {
        for site in program.call_sites(caller).iter().filter(|site| program.targets(site).contains(&receiver)) {
            let Some(call) = self.body.insts[site.inst].call() else { continue };
            let mut seen = vec![false; self.body.insts.len()];
            call.args.iter().for_each(|arg| self.trace(*arg, &mut seen));
        }
    }

    fn trace(&mut self, value: Operand, seen: &mut Vec<bool>) {
        let Operand::Value(at) = value else { return };
        if std::mem::replace(&mut seen[at.index()], true) {
            return;
        }
        match &self.body.insts[at] {
            Inst::Param { .. } => self.is_param = true,
            Inst::Call(_) | Inst::Invoke { .. } => {
                self.calls.insert(at);
            }
            Inst::Phi { incoming, .. } => incoming.iter().for_each(|(_, operand)| self.trace(*operand, seen)),
            Inst::Cast { value, .. } => self.trace(*value, seen),
            Inst::Select { then, other, .. } => [then, other].into_iter().for_each(|way| self.trace(*way, seen)),
            Inst::Address { base, .. } => self.trace(*base, seen),
            Inst::Load { address, .. } => self.trace_memory(*address, seen),
            Inst::Local { .. } => self.trace_memory(value, seen),
            _ => {}
        }
    }

    /// What is stored in the memory that an address leads to, by this function or by what it calls.
    fn trace_memory(&mut self, address: Operand, seen: &mut Vec<bool>) {
        let root = self.root(address);
        for (inst, kind) in self.body.insts.iter() {
            match kind {
                Inst::Store { value, address, .. } if self.root(*address) == root => self.trace(*value, seen),
                Inst::Call(call) | Inst::Invoke { call, .. } if call.args.iter().any(|arg| self.root(*arg) == root) => {
                    self.calls.insert(inst);
                }
                _ => {}
            }
        }
        if let Operand::Value(_) = root {
            self.trace(root, seen);
        }
    }

    fn root(&self, address: Operand) -> Operand {
        let mut at = address;
        while let Operand::Value(value) = at {
            match &self.body.insts[value] {
                Inst::Address { base, .. } | Inst::Cast { value: base, .. } => at = *base,
                _ => break,
            }
        }
        at
    }
}
