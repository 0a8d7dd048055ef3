//! Resolves indirect calls: by tables of virtual functions, else by the functions that flow to the callee.
//!
//! Calls through one slot with one signature have the same targets, and there may be thousands of them. They are resolved
//! as one: their arguments meet in shared nodes, so that each target is connected once and not once for each call.

use caulk_ir::entity::Entity;
use caulk_rules::{Rule, Rules};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::assembly::Assembly;
use crate::calls::{CallKind, Resolution};
use crate::config::ProgramConfig;
use crate::facts::{CallShape, Facts, Site, VirtualCall, World};
use crate::ids::FuncId;
use crate::pointers::{Found, Match, Problem, matches, solve};
use crate::virtual_calls::VirtualTables;

/// The answers for all indirect calls.
#[derive(Default)]
pub(crate) struct Indirect {
    pub groups: Vec<Resolved>,
    /// The group of each call, in the order of [`Facts::sites`], chunk after chunk.
    pub group_of: Vec<usize>,
}

/// The answer for the indirect calls of one group.
pub(crate) struct Resolved {
    pub kind: CallKind,
    pub outcome: Resolution,
    pub targets: Vec<FuncId>,
}

/// What calls of one group have in common.
#[derive(PartialEq, Eq, Hash)]
enum Through<'a> {
    Table(&'a VirtualCall, &'a CallShape),
    Node(u32, &'a CallShape),
}

/// Calls with the same targets.
struct Group<'a> {
    shape: &'a CallShape,
    /// Functions of virtual tables; if there are none, the values of the callee tell.
    tables: Vec<FuncId>,
    /// Arguments by position, sorted, and the result.
    args: Vec<(u32, u32)>,
    ret: Option<u32>,
}

pub(crate) fn resolve_indirect<'a>(world: &'a World<'a>, facts: &'a [Facts], config: &'a ProgramConfig) -> Indirect {
    if facts.iter().all(|f| f.sites.is_empty()) {
        return Indirect::default();
    }
    let mut grouping = Grouping {
        world,
        rules: &config.rules,
        tables: VirtualTables::new(world),
        assembly: Assembly::new(world, facts, config),
        index: FxHashMap::default(),
        groups: Vec::new(),
    };
    let mut group_of = Vec::new();
    for (chunk, facts) in facts.iter().enumerate() {
        group_of.extend(facts.sites.iter().map(|site| grouping.site(chunk, site)));
    }
    let Grouping { groups, assembly: Assembly { mut problem, .. }, .. } = grouping;
    let found = solve_groups(world, &groups, &mut problem, config);
    let answers = groups.iter().zip(found).map(|(group, found)| conclude(world, group, found, config));
    Indirect { groups: answers.collect(), group_of }
}

fn solve_groups(world: &World<'_>, groups: &[Group<'_>], problem: &mut Problem, config: &ProgramConfig) -> Vec<Found> {
    let wire = |group: u32, function: u32, edges: &mut Vec<(u32, u32)>| {
        let (group, function) = (&groups[group as usize], FuncId(function));
        if suits(world, group.shape, function) == Match::No {
            return;
        }
        let frames = &world.frames;
        edges.extend(group.args.iter().filter_map(|&(i, node)| Some((node, frames.param(function, i)?))));
        edges.extend(group.ret.and_then(|node| Some((frames.result(function)?, node))));
    };
    for (index, group) in groups.iter().enumerate().filter(|(_, g)| g.tables.len() <= config.max_targets) {
        group.tables.iter().for_each(|t| wire(index as u32, t.0, &mut problem.edges));
    }
    let mut found = solve(problem, &wire);
    found.resize(groups.len(), Found::default());
    found
}

struct Grouping<'a> {
    world: &'a World<'a>,
    rules: &'a Rules,
    tables: VirtualTables,
    assembly: Assembly<'a>,
    index: FxHashMap<Through<'a>, usize>,
    groups: Vec<Group<'a>>,
}

impl<'a> Grouping<'a> {
    /// The group of a call, which is made if the call is the first of its kind.
    fn site(&mut self, chunk: usize, site: &'a Site) -> usize {
        let shape = &site.shape;
        if let Some(call) = &site.virtual_call {
            let known = self.index.get(&Through::Table(call, shape)).copied();
            let tables = || virtual_targets(self.world, self.rules, &self.tables, call, shape);
            let tables = if known.is_some() { None } else { Some(tables()).filter(|t| !t.is_empty()) };
            if let Some(group) = known.or_else(|| tables.map(|t| self.add(Through::Table(call, shape), shape, t))) {
                self.join(group, chunk, site);
                return group;
            }
        }
        let callee = self.assembly.node(chunk, site.callee);
        let group = match self.index.get(&Through::Node(callee, shape)) {
            Some(&group) => group,
            None => {
                let group = self.add(Through::Node(callee, shape), shape, Vec::new());
                self.assembly.problem.callees.push((callee, group as u32));
                group
            }
        };
        self.join(group, chunk, site);
        group
    }

    fn add(&mut self, through: Through<'a>, shape: &'a CallShape, tables: Vec<FuncId>) -> usize {
        self.index.insert(through, self.groups.len());
        self.groups.push(Group { shape, tables, args: Vec::new(), ret: None });
        self.groups.len() - 1
    }

    /// Connects a call's own nodes with those of its group.
    fn join(&mut self, group: usize, chunk: usize, site: &Site) {
        for &(position, key) in &site.args {
            let from = self.assembly.node(chunk, key);
            let problem = &mut self.assembly.problem;
            let args = &mut self.groups[group].args;
            let at = args.binary_search_by_key(&position, |a| a.0).unwrap_or_else(|at| {
                args.insert(at, (position, problem.fresh()));
                at
            });
            problem.edges.push((from, args[at].1));
        }
        if let Some(key) = site.ret {
            let to = self.assembly.node(chunk, key);
            let problem = &mut self.assembly.problem;
            let from = *self.groups[group].ret.get_or_insert_with(|| problem.fresh());
            problem.edges.push((from, to));
        }
    }
}

fn suits(world: &World<'_>, shape: &CallShape, function: FuncId) -> Match {
    matches(&shape.args, shape.ret, shape.variadic, &world.function(function).signature)
}

/// Functions a virtual call may reach. When the class is not known, the signature has to tell.
fn virtual_targets(
    world: &World<'_>,
    rules: &Rules,
    tables: &VirtualTables,
    call: &VirtualCall,
    shape: &CallShape,
) -> Vec<FuncId> {
    let made_as = call.made_as.filter(|_| rules.applies(Rule::VirtualSites, true));
    let (mut found, is_class_known) = tables.targets(world, &VirtualCall { made_as, ..call.clone() });
    if !is_class_known {
        found.retain(|&f| suits(world, shape, f) == Match::Exact);
        let names: FxHashSet<&str> = found.iter().map(|f| method_name(world, *f)).collect();
        // The same slot of unrelated classes: what is called may be none of them.
        if rules.applies(Rule::SlotNames, names.len() > 1) {
            found.clear();
        }
    }
    found
}

/// The name of a method without its class. All destructors have one.
fn method_name<'a>(world: &World<'a>, id: FuncId) -> &'a str {
    let home = world.linked.functions[id];
    let name = world.units[home.unit.index()].unit.function_name(home.local);
    let name = name.rsplit("::").next().unwrap_or(name);
    if name.starts_with('~') { "~" } else { name }
}

/// Prefers exact signatures; a function that takes fewer arguments counts only if there is no other.
fn conclude(world: &World<'_>, group: &Group<'_>, found: Found, config: &ProgramConfig) -> Resolved {
    let (kind, targets, incomplete) = if group.tables.is_empty() {
        let all = || found.functions.iter().map(|&f| FuncId(f));
        let exact: Vec<FuncId> = all().filter(|&f| suits(world, group.shape, f) == Match::Exact).collect();
        let fewer = || all().filter(|&f| suits(world, group.shape, f) == Match::Fewer).collect();
        (CallKind::Indirect, if exact.is_empty() { fewer() } else { exact }, found.incomplete)
    } else {
        (CallKind::Virtual, group.tables.clone(), false)
    };
    let outcome = if targets.len() > config.max_targets || incomplete {
        Resolution::Many
    } else if targets.is_empty() {
        Resolution::Unresolved
    } else {
        Resolution::Resolved
    };
    Resolved { kind, outcome, targets }
}
