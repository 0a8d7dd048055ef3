//! In which order functions are looked at: components of the call graph in waves, and the functions of one component in levels.

use caulk_ir::EntityVec;
use caulk_program::{FuncId, Program};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;

/// The functions of a component by level: calls go down, except those that close a cycle.
pub(crate) fn component_levels(program: &Program, component: &[FuncId]) -> Vec<Vec<FuncId>> {
    let members: FxHashSet<FuncId> = component.iter().copied().collect();
    let mut level: FxHashMap<FuncId, usize> = FxHashMap::default();
    let mut seen: FxHashSet<FuncId> = FxHashSet::default();
    let inside = |f: FuncId| -> Vec<FuncId> { program.callees(f).filter(|c| members.contains(c)).collect() };
    for &start in component {
        if !seen.insert(start) {
            continue;
        }
        let mut stack = vec![(start, inside(start), 0usize)];
        while let Some((function, callees, next)) = stack.last_mut() {
            if let Some(&callee) = callees.get(*next) {
                *next += 1;
                if seen.insert(callee) {
                    let below = inside(callee);
                    stack.push((callee, below, 0));
                }
                continue;
            }
            // A callee without a level yet is on the stack: the call closes a cycle.
            let height = callees.iter().filter_map(|c| level.get(c)).map(|l| l + 1).max().unwrap_or(0);
            level.insert(*function, height);
            stack.pop();
        }
    }
    let mut levels: Vec<Vec<FuncId>> = Vec::new();
    for &function in component {
        let height = level[&function];
        if levels.len() <= height {
            levels.resize_with(height + 1, Vec::new);
        }
        levels[height].push(function);
    }
    levels
}

/// Components by how far above the leaves they are.
pub(crate) fn waves<'p>(program: &'p Program, given: &EntityVec<FuncId, Vec<FuncId>>) -> Vec<Vec<&'p [FuncId]>> {
    let mut home: EntityVec<FuncId, usize> = vec![0; program.functions().len()].into();
    for (index, component) in program.sccs().iter().enumerate() {
        component.iter().for_each(|f| home[*f] = index);
    }
    let mut level: Vec<usize> = vec![0; program.sccs().len()];
    let iterations = if given.values().all(Vec::is_empty) { 0 } else { BOUNDS.given_functions };
    for _ in 0..iterations {
        raise(program, &home, &mut level, &|f| &given[f]);
    }
    // Where that goes round in a circle, calls count.
    raise(program, &home, &mut level, &|_| &[]);
    let mut waves: Vec<Vec<&[FuncId]>> = Vec::new();
    for (index, component) in program.sccs().iter().enumerate() {
        if component.iter().all(|f| !program.has_body(*f)) {
            continue;
        }
        let height = level[index];
        if waves.len() <= height {
            waves.resize_with(height + 1, Vec::new);
        }
        waves[height].push(component);
    }
    waves
}

/// Puts every component above all that it calls, and above what `besides` says.
fn raise<'g>(
    program: &Program,
    home: &EntityVec<FuncId, usize>,
    level: &mut [usize],
    besides: &dyn Fn(FuncId) -> &'g [FuncId],
) {
    for (index, component) in program.sccs().iter().enumerate() {
        let below = component.iter().flat_map(|f| program.callees(*f).chain(besides(*f).iter().copied()));
        let homes = below.filter(|f| program.has_body(*f)).map(|f| home[f]).filter(|h| *h != index);
        level[index] = homes.map(|h| level[h] + 1).max().unwrap_or(0).max(level[index]);
    }
}
