//! Variables that only pass a value down: from a function that sets them to the functions it calls.
//!
//! Every read of such a variable happens while a function is active that has set it before. Once that function returns,
//! the variable is not read again before it is set again, so what it holds then is as lost as what a local held. A cache
//! or a registry is not like that: some way to its readers does not set it first.

use caulk_ir::{Body, Constant, DominatorTree, Inst, InstId};

use crate::ids::{FuncId, GlobalVarId};
use crate::program::Program;
use crate::variables::{Access, VariableUse, Variables};

pub(crate) fn carriers(program: &Program, variables: &Variables) -> Vec<GlobalVarId> {
    let pointers = variables.private().filter(|(id, _)| program.global(*id).declaration.pointee.depth > 0);
    pointers.filter(|(id, uses)| is_carrier(program, *id, uses)).map(|(id, _)| id).collect()
}

fn is_carrier(program: &Program, variable: GlobalVarId, uses: &[VariableUse]) -> bool {
    let who = |access: Access| uses.iter().filter(move |u| u.2 == access).map(|u| u.1);
    let mut writers: Vec<FuncId> = who(Access::Writes).chain(who(Access::Sets)).collect();
    writers.sort_unstable();
    writers.dedup();
    let readers: Vec<FuncId> = who(Access::Reads).collect();
    let max = program.config.max_carrier_walk;
    // What is never read is kept for another reason, such as a debugger.
    if writers.is_empty() || readers.is_empty() || readers.len() > max {
        return false;
    }
    let search = Search { program, variable, writers: &writers };
    let unit = program.global(variable).unit;
    let users = uses.iter().map(|u| program.function(u.1).unit);
    if program.is_meant_for_others(program.global(variable).declaration.linkage, unit, users) {
        return false;
    }
    let mut exposed: Vec<FuncId> = readers.into_iter().filter(|f| search.reads_before_writing(*f)).collect();
    let mut next = 0;
    while let Some(&function) = exposed.get(next) {
        next += 1;
        if exposed.len() > max || program.may_be_called_from_outside(function) {
            return false;
        }
        for caller in program.callers(function) {
            if !exposed.contains(&caller) && search.calls_before_writing(caller, function) {
                exposed.push(caller);
            }
        }
    }
    // Who finds the variable full or empty, and may fill it, does so for the function that has set it before: `if (!cache) cache = ..`.
    writers.iter().all(|writer| !exposed.contains(writer))
}

struct Search<'a> {
    program: &'a Program,
    variable: GlobalVarId,
    writers: &'a [FuncId],
}

impl Search<'_> {
    /// Whether the function may read the variable before it has set it.
    fn reads_before_writing(&self, function: FuncId) -> bool {
        self.happens_before_writing(function, |body, inst| match &body.insts[inst] {
            Inst::Load { address, .. } => self.is_variable(function, body.constant(*address)),
            _ => false,
        })
    }

    /// Whether the function may call another before it has set the variable.
    fn calls_before_writing(&self, caller: FuncId, callee: FuncId) -> bool {
        self.happens_before_writing(caller, |_, inst| {
            let site = self.program.call_site(caller, inst);
            site.is_some_and(|site| self.program.targets(site).contains(&callee))
        })
    }

    /// Whether some instruction like that is not preceded by a store to the variable on every way to it.
    fn happens_before_writing(&self, function: FuncId, is_sought: impl Fn(&Body, InstId) -> bool) -> bool {
        if !self.writers.contains(&function) {
            return true;
        }
        let Some(body) = self.program.body(function) else { return true };
        let tree = DominatorTree::new(&body);
        let homes = body.inst_blocks();
        let is_store = |inst: &Inst| match inst {
            Inst::Store { address, .. } => self.is_variable(function, body.constant(*address)),
            _ => false,
        };
        let stores: Vec<InstId> = body.insts.iter().filter(|(_, inst)| is_store(inst)).map(|(id, _)| id).collect();
        let is_preceded = |inst: InstId| {
            stores.iter().any(|store| match homes[*store] == homes[inst] {
                true => *store < inst,
                false => tree.dominates(homes[*store], homes[inst]),
            })
        };
        let reachable = body.insts.keys().filter(|inst| tree.is_reachable(homes[*inst]));
        reachable.filter(|inst| is_sought(&body, *inst)).any(|inst| !is_preceded(inst))
    }

    fn is_variable(&self, function: FuncId, address: Option<Constant>) -> bool {
        let Some(Constant::Global { global, .. }) = address else { return false };
        let unit = self.program.function(function).unit;
        self.program.resolve_global(unit, global).contains(&self.variable)
    }
}
