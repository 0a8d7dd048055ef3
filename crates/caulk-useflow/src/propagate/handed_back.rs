//! Results that are what the call was given, as far as the caller treats them so.

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_memory::{PathRoot, Relation};
use caulk_rules::Rule;
use caulk_summary::Destination;

use super::{Propagation, names};
use crate::alternative::Alternative;
use crate::fact_list::learn;

impl Propagation<'_, '_> {
    /// `p = check(p)`: where the function was not read, and no model says what it returns, the result goes by the name of the object.
    pub(super) fn take_back(&mut self, call: InstId, current: &mut Alternative) {
        let body = self.view.body;
        let Some(data) = body.insts[call].call() else { return };
        let is_back = matches!(data.ret, Type::Ptr)
            && data.args.iter().any(|arg| names(current, *arg))
            && self.is_unread(call)
            && self.replaces(call, current);
        if self.view.config.rules.applies(Rule::HandedBack, is_back) {
            current.add_name(call);
        }
    }

    /// Whether nothing is known of what a call returns.
    fn is_unread(&self, call: InstId) -> bool {
        let program = self.view.program;
        let targets = program.call_site(self.view.id, call).map(|site| program.targets(site)).unwrap_or_default();
        let tells = self.view.calls[call].as_ref().is_some_and(|effect| {
            let is_result = |to: &Destination| matches!(to, Destination::Store(path) if path.root == PathRoot::Return);
            let summary = &effect.summary;
            effect.unknown || !summary.blocks.is_empty() || summary.actions.iter().any(|action| is_result(&action.to))
        });
        !tells && !targets.is_empty() && targets.iter().all(|target| !program.has_body(*target))
    }

    /// Whether the result is put where the object was held.
    fn replaces(&self, call: InstId, current: &Alternative) -> bool {
        let view = &self.view;
        let is_result = |value: &Operand| match value.value().map(|v| (v, &view.body.insts[v])) {
            Some((value, _)) if value == call => true,
            Some((_, Inst::Cast { value, .. })) => *value == Operand::Value(call),
            _ => false,
        };
        view.body.insts.values().any(|inst| match inst {
            Inst::Bind { var, value } => is_result(value) && current.vars.contains(var),
            Inst::Store { value, address, .. } => {
                is_result(value) && view.values.of_operand(*address).is_some_and(|cell| current.cells.contains(&cell))
            }
            _ => false,
        })
    }

    /// A function that only computes keeps the zero that it is given: `return error(source, code)` with code 0.
    pub(super) fn keep_zero(&mut self, call: InstId, current: &mut Alternative) {
        let Some(keepers) = self.view.zero_keepers.get(&call).cloned() else { return };
        let Some(data) = self.view.body.insts[call].call() else { return };
        self.view.keys.here = (self.view.homes[call], call);
        let mut key_of = |operand: Operand| self.view.keys.of_operand(self.view.body, &self.view.values, operand);
        let is_zero = |operand: Operand, key: Option<_>, current: &Alternative| {
            let is_constant = self.view.body.constant(operand).is_some_and(caulk_ir::Constant::is_zero);
            is_constant || current.facts.iter().any(|f| Some(f.0) == key && f.1.implies(Relation::ZERO))
        };
        let is_kept = keepers.iter().any(|index| {
            let Some(arg) = data.args.get(*index) else { return false };
            let key = key_of(*arg);
            is_zero(*arg, key, current)
        });
        let result = key_of(call.into());
        if let Some(key) = result.filter(|_| is_kept) {
            learn(&mut current.facts, (key, Relation::ZERO), self.view.config.max_facts);
        }
    }
}
