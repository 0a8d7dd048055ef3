//! The call graph: the targets of every call site, callers and callees, and the order for work from the bottom up.

use caulk_ir::entity::Entity;
use caulk_ir::{Constant, EntityVec, InstId};
use serde::Serialize;

use crate::config::ProgramConfig;
use crate::facts::{CallFact, Facts, World};
use crate::ids::FuncId;
use crate::indirect::{Indirect, resolve_indirect};
use crate::scc::{Graph, components};

/// A call in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    pub inst: InstId,
    pub kind: CallKind,
    pub outcome: Resolution,
    start: u32,
    len: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum CallKind {
    Direct,
    /// Through a pointer.
    Indirect,
    /// Through the table of virtual functions of an object.
    Virtual,
    Assembly,
}

/// What is known of the targets of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Resolution {
    /// These, as far as the program shows. A direct call has more than one target only where programs that share the
    /// unit link it differently.
    Resolved,
    /// More than [`ProgramConfig::max_targets`], or more than were followed. What was found is kept, but makes no
    /// edges in the call graph.
    Many,
    /// Nothing is known to be called here.
    Unresolved,
}

/// Every call of the program.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Where the calls of each function end in `sites`.
    ends: EntityVec<FuncId, u32>,
    sites: Vec<CallSite>,
    pool: Vec<FuncId>,
    pub callees: Graph,
    pub callers: Graph,
    /// Bottom-up.
    pub sccs: Vec<Vec<FuncId>>,
    pub address_taken: Vec<bool>,
}

impl Calls {
    pub(crate) fn new(world: &World<'_>, facts: &[Facts], config: &ProgramConfig) -> Self {
        let indirect = resolve_indirect(world, facts, config);
        let mut calls = Calls::default();
        calls.collect(world, facts, &indirect);
        calls.connect(world.linked.functions.len());
        calls.note_addresses(world, facts);
        calls
    }

    pub(crate) fn sites(&self, function: FuncId) -> &[CallSite] {
        let start = function.0.checked_sub(1).map_or(0, |before| self.ends[FuncId(before)]);
        &self.sites[start as usize..self.ends[function] as usize]
    }

    pub(crate) fn all(&self) -> &[CallSite] {
        &self.sites
    }

    pub(crate) fn targets(&self, site: &CallSite) -> &[FuncId] {
        &self.pool[site.start as usize..(site.start + site.len) as usize]
    }

    fn collect(&mut self, world: &World<'_>, facts: &[Facts], indirect: &Indirect) {
        // The targets of a group of calls are stored once.
        let groups: Vec<CallSite> =
            indirect.groups.iter().map(|g| self.site(InstId(0), g.kind, g.outcome, &g.targets)).collect();
        let mut group_of = indirect.group_of.iter();
        let mut function = FuncId(0);
        for chunk in facts {
            let mut next = 0;
            for told in &chunk.bodies {
                let map = world.map(world.linked.functions[function].unit);
                for &(inst, fact) in &chunk.calls[next..told.calls_end as usize] {
                    let site = match fact {
                        CallFact::Direct(local) => {
                            self.site(inst, CallKind::Direct, Resolution::Resolved, map.functions.get(local))
                        }
                        // What adds to a counter takes nothing.
                        CallFact::Assembly { takes_pointers: false } => {
                            self.site(inst, CallKind::Assembly, Resolution::Resolved, &[])
                        }
                        CallFact::Assembly { takes_pointers: true } => {
                            self.site(inst, CallKind::Assembly, Resolution::Unresolved, &[])
                        }
                        CallFact::Indirect => {
                            let group = *group_of.next().expect("there is one answer for each indirect call");
                            CallSite { inst, ..groups[group] }
                        }
                    };
                    self.sites.push(site);
                }
                next = told.calls_end as usize;
                self.ends.push(self.sites.len() as u32);
                function = FuncId(function.0 + 1);
            }
        }
    }

    fn site(&mut self, inst: InstId, kind: CallKind, outcome: Resolution, targets: &[FuncId]) -> CallSite {
        let (start, len) = (self.pool.len() as u32, targets.len() as u32);
        self.pool.extend_from_slice(targets);
        CallSite { inst, kind, outcome, start, len }
    }

    fn connect(&mut self, functions: usize) {
        let mut edges = Vec::new();
        for function in (0..functions).map(FuncId::from_index) {
            for site in self.sites(function).iter().filter(|s| s.outcome == Resolution::Resolved) {
                edges.extend(self.targets(site).iter().map(|t| (function.0, t.0)));
            }
        }
        self.callers = Graph::new(functions, edges.iter().map(|&(from, to)| (to, from)).collect());
        self.callees = Graph::new(functions, edges);
        let sccs = components(&self.callees).into_iter();
        self.sccs = sccs.map(|members| members.into_iter().map(FuncId).collect()).collect();
    }

    fn note_addresses(&mut self, world: &World<'_>, facts: &[Facts]) {
        self.address_taken = vec![false; world.linked.functions.len()];
        for function in facts.iter().flat_map(|f| &f.address_taken) {
            self.address_taken[function.index()] = true;
        }
        for (id, _) in world.globals.iter() {
            world.for_each_item(id, |_, value| {
                if let Constant::Function(function) = value {
                    let map = world.map(world.linked.globals[id].unit);
                    map.functions.get(function).iter().for_each(|f| self.address_taken[f.index()] = true);
                }
            });
        }
    }
}
