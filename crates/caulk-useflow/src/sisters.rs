//! Functions that work on one and the same structure: they reach it by the same static variable, get it from
//! the same function, or a table calls them with it.
//!
//! What one of them takes care of, the others should too. `parse_name(server, arg)` and `parse_path(server, arg)` of one table
//! are each called any number of times, so where one frees what it sets again, the field of the other may be full as well.

use caulk_ir::InstId;
use caulk_memory::{ValueId, ValueNode};
use caulk_program::{CallKind, FuncId, GlobalVarId, Program, TypeId};
use caulk_summary::Subject;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::function::View;

/// How a function knows the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Known {
    /// By a static variable that is it, or leads to it.
    Global(GlobalVarId),
    /// By a parameter.
    Given(u32),
    /// By a function that gives back what is there, and makes one only where there is none.
    Found(FuncId),
    Otherwise,
}

impl Known {
    pub(crate) fn new(view: &View<'_>, base: ValueId) -> Self {
        match (view.values.node(base), view.values.root(base)) {
            (ValueNode::Param(index), _) => Known::Given(index),
            (_, ValueNode::Global(global)) => Known::Global(global),
            (ValueNode::Opaque(inst), _) => getter(view, inst).map_or(Known::Otherwise, Known::Found),
            _ => Known::Otherwise,
        }
    }
}

/// The function that a call gets an older structure from, or a new one where there is none.
pub(crate) fn getter(view: &View<'_>, call: InstId) -> Option<FuncId> {
    let site = view.program.call_site(view.id, call)?;
    let [target] = view.program.targets(site) else { return None };
    let summary = &view.calls[call].as_ref()?.summary;
    let gives_older = summary.actions.iter().any(|a| matches!(a.subject, Subject::Value(_)) && a.gives_back());
    (summary.returns_fresh() && gives_older).then_some(*target)
}

/// Who frees fields of a structure before they are set again.
#[derive(Debug, Default)]
pub(crate) struct Sisters {
    careful: FxHashMap<(TypeId, Known), FxHashSet<FuncId>>,
    /// The tables that a function is called from: groups of functions that one call through a pointer may reach.
    tables: FxHashMap<FuncId, Vec<u32>>,
}

impl Sisters {
    pub(crate) fn new(program: &Program) -> Self {
        let mut groups: FxHashMap<&[FuncId], u32> = FxHashMap::default();
        let mut tables: FxHashMap<FuncId, Vec<u32>> = FxHashMap::default();
        for function in program.functions() {
            for site in program.call_sites(function).iter().filter(|site| site.kind == CallKind::Indirect) {
                let targets = program.targets(site);
                let number = groups.len() as u32;
                if targets.len() > 1 && !groups.contains_key(targets) {
                    groups.insert(targets, number);
                    targets.iter().for_each(|target| tables.entry(*target).or_default().push(number));
                }
            }
        }
        Self { careful: FxHashMap::default(), tables }
    }

    pub(crate) fn add_careful(&mut self, function: FuncId, ty: TypeId, known: Known) {
        self.careful.entry((ty, known)).or_default().insert(function);
    }

    /// Whether a function that works on the same structure, or this one itself, frees some field of it before setting it again.
    pub(crate) fn free_first(&self, function: FuncId, ty: TypeId, known: Known) -> bool {
        let Some(careful) = self.careful.get(&(ty, known)) else { return false };
        // Others that reach a static structure may run at another time than those that set it up.
        let is_sister = |other: &FuncId| *other == function || self.share_table(function, *other);
        known != Known::Otherwise && careful.iter().any(is_sister)
    }

    fn share_table(&self, one: FuncId, other: FuncId) -> bool {
        match (self.tables.get(&one), self.tables.get(&other)) {
            (Some(a), Some(b)) => a.iter().any(|table| b.contains(table)),
            _ => false,
        }
    }
}
