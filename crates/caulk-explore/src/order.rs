//! Which function may ask for which guarded summary, so that none waits for itself.
//!
//! Large programs are one knot: whatever allocates may report an error, and what reports errors may call anything. But
//! only callees small enough are executed, and without the large ones most of the knot falls apart. What cycles are left are
//! cut where a walk in depth over the call graph comes back to where it is: the order is the program's, whichever function asks first.

use caulk_ir::{EntitySet, EntityVec};
use caulk_program::{FuncId, Program};

/// An order of the callees that are executed: each may ask for those before it.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// By function; None for those that are never executed as callees.
    places: EntityVec<FuncId, Option<Position>>,
    /// How many may wait for each other in a chain: each waits on the stack.
    max_waiting: u32,
}

/// A function whose own guarded summary is being made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub function: FuncId,
    /// Whether it asks for those of functions that may call it back.
    pub in_cycles: bool,
}

#[derive(Clone, Copy, Debug)]
struct Position {
    rank: u32,
    /// The cycle of the whole call graph it is in.
    component: u32,
    /// The longest chain of callees below, each of which waits for the next.
    depth: u32,
}

impl Order {
    pub(crate) fn new(program: &Program, is_executed: &impl Fn(FuncId) -> bool, max_waiting: u32) -> Self {
        let mut order = Self { places: vec![None; program.functions().len()].into(), max_waiting };
        let mut seen = EntitySet::with_capacity(program.functions().len());
        let mut rank = 0;
        let mut components: EntityVec<FuncId, u32> = vec![0; program.functions().len()].into();
        for (number, component) in program.sccs().iter().enumerate() {
            component.iter().for_each(|f| components[*f] = number as u32);
        }
        for root in program.functions().filter(|f| is_executed(*f)) {
            let mut stack: Vec<(FuncId, Vec<FuncId>)> = Vec::new();
            enter(program, is_executed, root, &mut seen, &mut stack);
            while let Some((function, ahead)) = stack.last_mut() {
                let function = *function;
                match ahead.pop() {
                    Some(next) => enter(program, is_executed, next, &mut seen, &mut stack),
                    None => {
                        order.place(program, &components, function, rank);
                        rank += 1;
                        stack.pop();
                    }
                }
            }
        }
        order
    }

    /// All callees that come before it have their place already; those that have none yet are the ones cut off.
    fn place(&mut self, program: &Program, components: &EntityVec<FuncId, u32>, function: FuncId, rank: u32) {
        let below = program.callees(function).filter_map(|callee| self.places[callee]).map(|p| p.depth);
        let depth = below.max().map_or(0, |deepest| deepest + 1);
        self.places[function] = Some(Position { rank, depth, component: components[function] });
    }

    pub(crate) fn is_executed(&self, function: FuncId) -> bool {
        self.places[function].is_some()
    }

    /// Whether one function's guarded summary may be made with another's. `max_depth` bounds how many of one cycle wait for
    /// each other.
    pub(crate) fn may_ask(&self, asker: Asker, callee: FuncId, max_depth: u32) -> bool {
        let [Some(from), Some(to)] = [asker.function, callee].map(|f| self.places[f]) else { return false };
        let is_cycle = from.component == to.component;
        // The last of so many asks for none: where chains are cut depends on the program alone.
        let is_end = from.depth % self.max_waiting.max(1) == 0;
        let is_below = to.rank < from.rank && to.depth < from.depth;
        !is_end && is_below && (!is_cycle || (asker.in_cycles && to.depth <= max_depth))
    }

    /// Whether two functions may call each other.
    pub(crate) fn is_cycle(&self, one: FuncId, other: FuncId) -> bool {
        let [one, other] = [one, other].map(|f| self.places[f].map(|place| place.component));
        one.is_some() && one == other
    }
}

fn enter(
    program: &Program,
    is_executed: &impl Fn(FuncId) -> bool,
    function: FuncId,
    seen: &mut EntitySet<FuncId>,
    stack: &mut Vec<(FuncId, Vec<FuncId>)>,
) {
    if !is_executed(function) || !seen.insert(function) {
        return;
    }
    let mut ahead: Vec<FuncId> = program.callees(function).collect();
    ahead.sort_unstable_by(|a, b| b.cmp(a));
    stack.push((function, ahead));
}
