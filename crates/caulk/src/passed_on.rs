//! Which blocks a changed function is given: it may have freed or kept them before.

use std::collections::BTreeSet;
use std::path::Path;

use caulk_ir::{Body, Entity, Inst, InstId, Operand};
use caulk_program::{FuncId, Program};
use caulk_report::scope::Given;
use caulk_report::shown_path;

/// How many functions may pass an argument on, one to the next, before a changed one gets it.
const MAX_DEPTH: u32 = 4;

/// The blocks that reach a changed function as an argument.
pub(crate) fn given_to(program: &Program, root: &Path, changed: &BTreeSet<FuncId>) -> BTreeSet<Given> {
    let mut given = BTreeSet::new();
    let mut seen: BTreeSet<FuncId> = changed.clone();
    let mut receivers = changed.clone();
    for _ in 0..MAX_DEPTH {
        let callers: BTreeSet<FuncId> = receivers.iter().flat_map(|receiver| program.callers(*receiver)).collect();
        let mut next = BTreeSet::new();
        for caller in callers {
            let Some(body) = program.body(caller) else { continue };
            let unit = program.unit(program.function(caller).unit);
            let mut passes_on = false;
            for site in program.call_sites(caller) {
                let Some(call) = body.insts[site.inst].call() else { continue };
                if !program.targets(site).iter().any(|target| receivers.contains(target)) {
                    continue;
                }
                let mut origins = Origins { body: &body, calls: BTreeSet::new(), is_param: false };
                let mut seen = vec![false; body.insts.len()];
                call.args.iter().for_each(|arg| origins.trace(*arg, &mut seen));
                passes_on |= origins.is_param;
                for maker in origins.calls.into_iter().filter(|maker| *maker != site.inst) {
                    let place = body.place(maker);
                    let file = unit.files.get(place.file).map_or("?", |file| unit.str(*file));
                    let line = body.place(site.inst).line;
                    given.insert(Given { file: shown_path(file, root), made: place.line, given: line });
                }
            }
            if passes_on && seen.insert(caller) {
                next.insert(caller);
            }
        }
        receivers = next;
    }
    given
}

/// Where values come from, in one function.
struct Origins<'b> {
    body: &'b Body,
    calls: BTreeSet<InstId>,
    is_param: bool,
}

impl Origins<'_> {
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
