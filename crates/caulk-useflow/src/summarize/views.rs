//! Parameters that a function only looks at: `void append(const char *text, long length)`.
//!
//! Deep below, behind virtual functions and structures of libraries, something may keep such a pointer for a while. It is no owner's
//! to free there: the declaration says that what it points to does not change.

use caulk_ir::{Inst, Operand, Pointee};
use caulk_memory::PathRoot;
use caulk_rules::Rule;
use caulk_summary::{Action, Destination, Subject};

use super::Summarizer;

impl Summarizer<'_> {
    /// Drops what is said of a parameter that a function declares to point to constant characters or numbers, and that it does
    /// not store itself: that something below may keep it. Containers of C often keep such keys, so there only what code below may do of which
    /// nothing is known is dropped, as for functions that were not read.
    pub(super) fn drop_views(&mut self) {
        let info = self.view.program.function(self.view.id);
        let is_cxx = info.symbol.starts_with("_Z");
        let rule = if is_cxx { Rule::ConstViews } else { Rule::ConstTexts };
        let views: Vec<u32> = (0u32..)
            .zip(info.declaration.params.iter())
            .filter(|(index, param)| is_view(&param.pointee) && !self.is_stored_here(*index))
            .map(|(index, _)| index)
            .collect();
        let view = |action: &Action| match &action.subject {
            Subject::Value(path) if path.steps.is_empty() => match path.root {
                PathRoot::Param(index) => Some(index).filter(|index| views.contains(index)),
                _ => None,
            },
            _ => None,
        };
        let is_kept_below = |action: &Action| {
            view(action).is_some()
                && match &action.to {
                    Destination::Unknown => true,
                    Destination::Keep => is_cxx,
                    Destination::Store(to) => is_cxx && action.guard.is_hidden() && to.root != PathRoot::Return,
                    Destination::Free { .. } | Destination::Renew => false,
                }
        };
        let rules = &self.world.config.rules;
        let summary = &mut self.report.summary;
        let mut dropped: Vec<u32> = summary.actions.iter().filter(|a| is_kept_below(a)).filter_map(view).collect();
        summary.actions.retain(|action| !rules.applies(rule, is_kept_below(action)));
        // Stage two finds them kept when it executes the function.
        dropped.retain(|index| !summary.actions.iter().any(|action| view(action) == Some(*index)));
        dropped.sort_unstable();
        dropped.dedup();
        summary.views = dropped;
    }

    /// Whether the function itself puts the parameter somewhere.
    fn is_stored_here(&self, index: u32) -> bool {
        let is_param = |operand: &Operand| {
            let inst = operand.value().map(|inst| &self.view.body.insts[inst]);
            matches!(inst, Some(Inst::Param { index: i, .. }) if *i == index)
        };
        self.view.body.insts.values().any(|inst| matches!(inst, Inst::Store { value, .. } if is_param(value)))
    }
}

/// A pointer to something that is constant and no structure: who is given one would have to cast to free it.
fn is_view(pointee: &Pointee) -> bool {
    pointee.is_const && pointee.depth == 1 && pointee.target.is_none() && !pointee.is_function
}
