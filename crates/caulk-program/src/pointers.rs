//! Solves the flow of function pointers: inclusion constraints over slots, flow-insensitive, one set for each slot. Cycles
//! of plain flow are one node from the start; calls and accesses through pointers add edges as they are found.

use caulk_ir::{Signature, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::scc::{Graph, for_each_component};

const NONE: u32 = u32::MAX;

/// The constraints over numbered nodes. Values below `functions` are functions; others, less `functions`, are the
/// nodes of places.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub nodes: u32,
    pub functions: u32,
    pub edges: Vec<(u32, u32)>,
    pub values: Vec<(u32, u32)>,
    pub loads: Vec<(u32, u32)>,
    pub stores: Vec<(u32, u32)>,
    /// The node of the callee of each indirect call, with the number of the call.
    pub callees: Vec<(u32, u32)>,
    pub max_values: usize,
}

impl Problem {
    /// A new node.
    pub(crate) fn fresh(&mut self) -> u32 {
        self.nodes += 1;
        self.nodes - 1
    }
}

/// What a call gains when a function turns out to be a target: given the call and the function, adds edges.
pub(crate) type Wire<'a> = &'a dyn Fn(u32, u32, &mut Vec<(u32, u32)>);

/// What may be at a node in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Functions, sorted.
    pub functions: Vec<u32>,
    /// More may be there than is listed.
    pub incomplete: bool,
}

/// How well a function suits a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Exact,
    /// Takes fewer arguments than are passed, which works on all machines we know and is done on purpose
    /// (`g_list_foreach(list, (GFunc)g_free, NULL)`).
    Fewer,
    No,
}

/// Compares a call with what it might call: the number of arguments, and pointers against numbers. Widths of integers
/// differ harmlessly.
pub(crate) fn matches(args: &[Type], ret: Type, variadic: bool, callee: &Signature) -> Match {
    let given = args.len();
    let named = callee.params.len();
    let same = |(a, b): (&Type, &Type)| class(*a) == class(*b);
    let returns = ret == Type::Void || class(ret) == class(callee.ret);
    if !returns || given < named || !args.iter().zip(&callee.params).all(same) {
        return Match::No;
    }
    if given == named || callee.variadic || variadic { Match::Exact } else { Match::Fewer }
}

fn class(ty: Type) -> u8 {
    match ty {
        Type::Void => 0,
        Type::Int(_) => 1,
        Type::Float(_) => 2,
        Type::Ptr => 3,
        Type::Vector(_) => 4,
        Type::Aggregate(_) => 5,
    }
}

#[derive(Debug, Default)]
struct State {
    /// All values, sorted.
    values: Vec<u32>,
    /// Those not yet passed on.
    fresh: Vec<u32>,
    incomplete: bool,
    told_incomplete: bool,
    queued: bool,
}

struct Solver<'a> {
    problem: &'a Problem,
    /// The node that stands for each node's cycle.
    of: Vec<u32>,
    graph: Graph,
    /// Edges found on the way.
    more: FxHashMap<u32, Vec<u32>>,
    known: FxHashSet<(u32, u32)>,
    loads: Graph,
    /// From pointer to stored value.
    stores: Graph,
    callees: Graph,
    /// Where each node's state is; most nodes never have one.
    index: Vec<u32>,
    states: Vec<State>,
    queue: Vec<u32>,
}

/// The answer for each call of [`Problem::callees`].
pub(crate) fn solve(problem: &Problem, wire: Wire<'_>) -> Vec<Found> {
    let mut solver = Solver::new(problem);
    for &(node, value) in &problem.values {
        solver.add(solver.of[node as usize], &[value], false);
    }
    let mut wires = Vec::new();
    while let Some(node) = solver.queue.pop() {
        solver.visit(node, wire, &mut wires);
    }
    let calls = problem.callees.iter().map(|c| c.1 as usize + 1).max().unwrap_or(0);
    let mut found = vec![Found::default(); calls];
    for &(node, call) in &problem.callees {
        let state = solver.index[solver.of[node as usize] as usize];
        if state != NONE {
            let state = &solver.states[state as usize];
            let functions = state.values.iter().copied().take_while(|&v| v < problem.functions).collect();
            found[call as usize] = Found { functions, incomplete: state.incomplete };
        }
    }
    found
}

impl<'a> Solver<'a> {
    fn new(problem: &'a Problem) -> Self {
        let len = problem.nodes as usize;
        let mut of: Vec<u32> = (0..problem.nodes).collect();
        for_each_component(&Graph::new(len, problem.edges.clone()), |members| {
            members.iter().for_each(|&m| of[m as usize] = members[0]);
        });
        let mapped = |list: &[(u32, u32)]| -> Vec<(u32, u32)> {
            list.iter().map(|&(a, b)| (of[a as usize], of[b as usize])).collect()
        };
        let edges = mapped(&problem.edges).into_iter().filter(|(a, b)| a != b).collect();
        let stores = mapped(&problem.stores).into_iter().map(|(value, pointer)| (pointer, value)).collect();
        let callees = problem.callees.iter().map(|&(node, call)| (of[node as usize], call)).collect();
        Self {
            problem,
            graph: Graph::new(len, edges),
            more: FxHashMap::default(),
            known: FxHashSet::default(),
            loads: Graph::new(len, mapped(&problem.loads)),
            stores: Graph::new(len, stores),
            callees: Graph::new(len, callees),
            index: vec![NONE; len],
            states: Vec::new(),
            queue: Vec::new(),
            of,
        }
    }

    /// Adds values to a node, sorted; what is new is passed on later.
    fn add(&mut self, node: u32, values: &[u32], incomplete: bool) {
        if values.is_empty() && !incomplete {
            return;
        }
        let slot = &mut self.index[node as usize];
        if *slot == NONE {
            *slot = self.states.len() as u32;
            self.states.push(State::default());
        }
        let state = &mut self.states[*slot as usize];
        state.incomplete |= incomplete;
        let new: Vec<u32> = values.iter().copied().filter(|v| state.values.binary_search(v).is_err()).collect();
        if state.values.len() + new.len() > self.problem.max_values {
            state.incomplete = true;
        } else if !new.is_empty() {
            state.values = merge(&state.values, &new);
            state.fresh = merge(&state.fresh, &new);
        }
        let has_news = !state.fresh.is_empty() || state.incomplete != state.told_incomplete;
        if has_news && !std::mem::replace(&mut state.queued, true) {
            self.queue.push(node);
        }
    }

    fn visit(&mut self, node: u32, wire: Wire<'_>, wires: &mut Vec<(u32, u32)>) {
        let state = &mut self.states[self.index[node as usize] as usize];
        state.queued = false;
        state.told_incomplete = state.incomplete;
        let incomplete = state.incomplete;
        let fresh = std::mem::take(&mut state.fresh);
        for i in 0..self.graph.row(node).len() {
            let to = self.graph.row(node)[i];
            self.add(to, &fresh, incomplete);
        }
        for i in 0..self.more.get(&node).map_or(0, Vec::len) {
            let to = self.more[&node][i];
            self.add(to, &fresh, incomplete);
        }
        for value in fresh {
            match value.checked_sub(self.problem.functions) {
                Some(place) => {
                    let place = self.of[place as usize];
                    wires.extend(self.loads.row(node).iter().map(|&to| (place, to)));
                    wires.extend(self.stores.row(node).iter().map(|&from| (from, place)));
                }
                None => self.callees.row(node).iter().for_each(|&call| wire(call, value, wires)),
            }
        }
        for (from, to) in std::mem::take(wires) {
            self.connect(self.of[from as usize], self.of[to as usize]);
        }
    }

    fn connect(&mut self, from: u32, to: u32) {
        if from == to || self.graph.row(from).binary_search(&to).is_ok() || !self.known.insert((from, to)) {
            return;
        }
        self.more.entry(from).or_default().push(to);
        let state = self.index[from as usize];
        if state != NONE {
            let values = self.states[state as usize].values.clone();
            let incomplete = self.states[state as usize].incomplete;
            self.add(to, &values, incomplete);
        }
    }
}

/// The union of two sorted lists without common members.
fn merge(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] < b[j] {
            out.push(a[i]);
            i += 1;
        } else {
            out.push(b[j]);
            j += 1;
        }
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(problem: Problem) -> Vec<Found> {
        solve(&problem, &|_, _, _| {})
    }

    #[test]
    fn values_follow_edges_through_cycles() {
        let found = run(Problem {
            nodes: 4,
            functions: 2,
            edges: vec![(0, 1), (1, 2), (2, 1), (2, 3)],
            values: vec![(0, 0), (2, 1)],
            callees: vec![(3, 0), (0, 1)],
            max_values: 8,
            ..Problem::default()
        });
        assert_eq!(found[0].functions, vec![0, 1]);
        assert_eq!(found[1].functions, vec![0]);
    }

    #[test]
    fn loads_and_stores_go_through_pointers() {
        // 0: slot, 1: pointer to it, 2: stored value, 3: loaded value.
        let found = run(Problem {
            nodes: 4,
            functions: 1,
            values: vec![(1, 1), (2, 0)],
            loads: vec![(1, 3)],
            stores: vec![(2, 1)],
            callees: vec![(3, 0)],
            max_values: 8,
            ..Problem::default()
        });
        assert_eq!(found[0].functions, vec![0]);
    }

    #[test]
    fn a_full_slot_says_that_it_is_incomplete() {
        let found = run(Problem {
            nodes: 2,
            functions: 9,
            edges: vec![(0, 1)],
            values: (0..9).map(|f| (0, f)).collect(),
            callees: vec![(1, 0)],
            max_values: 4,
            ..Problem::default()
        });
        assert_eq!(found[0], Found { functions: vec![0, 1, 2, 3], incomplete: true });
    }

    #[test]
    fn signatures_are_compared_by_count_and_kind() {
        let callee = Signature { params: vec![Type::Ptr, Type::Int(32)], ret: Type::Void, variadic: false };
        let check = |args: &[Type], ret, variadic| matches(args, ret, variadic, &callee);
        assert_eq!(check(&[Type::Ptr, Type::Int(64)], Type::Void, false), Match::Exact);
        assert_eq!(check(&[Type::Ptr], Type::Void, false), Match::No);
        assert_eq!(check(&[Type::Int(64), Type::Int(32)], Type::Void, false), Match::No);
        assert_eq!(check(&[Type::Ptr, Type::Int(32), Type::Ptr], Type::Void, false), Match::Fewer);
        assert_eq!(check(&[Type::Ptr, Type::Int(32), Type::Ptr], Type::Void, true), Match::Exact);
        assert_eq!(check(&[Type::Ptr, Type::Int(32)], Type::Ptr, false), Match::No);
    }
}
