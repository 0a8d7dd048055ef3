//! Guarded summaries: what a callee does, part by part, each with the condition under which it does it.
//!
//! They are worked out on demand, for callees small enough, by executing the callee on symbols of its own. A part keeps the
//! end of one path (or of several that do the same): conditions over what the callee was given, memory written, objects
//! freed or kept, and the value returned. `apply.rs` puts a caller's values in place of the callee's symbols.

use std::sync::{Arc, OnceLock};

use caulk_program::{FuncId, Program};
use caulk_solver::{Facts, TermId, TermPool};
use smallvec::SmallVec;

use crate::frame::Frame;
use crate::machine::Machine;
use crate::memory::Content;
use crate::search::{End, Goal, Search};
use crate::state::Fate;
use crate::symbols::{Key, Origin, Symbols};
use crate::world::World;

/// One way a function may go.
#[derive(Clone, Debug)]
pub struct Effect {
    pub literals: Vec<TermId>,
    pub result: Option<TermId>,
    /// Cells that callers can see, in the order of their keys.
    pub writes: Vec<(Key, Content)>,
    /// What became of the function's own blocks, and of what it was given.
    pub fates: Vec<(TermId, Fate)>,
    /// An allocation failed on this way.
    pub failed: bool,
}

/// All ways a function may go, in terms of its own pool.
#[derive(Debug)]
pub struct Effects {
    pub pool: TermPool,
    pub symbols: Symbols,
    pub parts: Vec<Effect>,
    /// Functions it calls that were taken by their summaries: what they write is known only by class.
    pub opaque: Vec<FuncId>,
}

/// The guarded summaries of a program, each worked out when first asked for. None: the function is too large, part of a
/// cycle, or goes too many ways.
pub struct EffectCache {
    slots: Vec<OnceLock<Option<Arc<Effects>>>>,
    in_cycle: Vec<bool>,
}

impl EffectCache {
    pub fn new(program: &Program) -> Self {
        let count = program.functions().len();
        let mut in_cycle = vec![false; count];
        for component in program.sccs() {
            let is_cycle = component.len() > 1 || component.iter().any(|f| program.callees(*f).any(|c| c == *f));
            component.iter().for_each(|f| in_cycle[f.0 as usize] = is_cycle);
        }
        Self { slots: std::iter::repeat_with(OnceLock::new).take(count).collect(), in_cycle }
    }

    pub fn get(&self, world: &World<'_>, function: FuncId) -> Option<Arc<Effects>> {
        let index = function.0 as usize;
        let (_, size) = world.program.body_size(function);
        let has_no_use = world.analysis.summary(function).is_model || !world.program.has_body(function);
        if self.in_cycle[index] || has_no_use || size > world.config.max_callee_size {
            return None;
        }
        self.slots[index].get_or_init(|| work_out(world, function).map(Arc::new)).clone()
    }
}

fn work_out(world: &World<'_>, function: FuncId) -> Option<Effects> {
    let body = world.program.body(function)?;
    // What is returned tells callers, so it matters wherever it is decided.
    let decides = |inst| body.insts[inst].is_terminator() || world.depends_on_arguments(function, inst);
    let frame = Frame::new(world.program, function, &body, &decides);
    let mut machine = Machine::new(world, &frame);
    machine.follows_all = true;
    let mut search = Search::new(machine, Goal::Effects, world.config.max_callee_steps);
    search.run();
    if search.cut || search.ends.iter().any(|end| end.state.is_blurred) {
        return None;
    }
    let ends = std::mem::take(&mut search.ends);
    let mut machine = search.machine;
    let mut parts: Vec<(Effect, Facts)> = Vec::new();
    for end in ends {
        let effect = effect_of(&mut machine, &end);
        let same = parts.iter_mut().find(|(known, _)| is_alike(known, &effect));
        match same {
            Some((known, facts)) => {
                *facts = facts.join(&end.state.facts, &mut machine.pool);
                known.failed &= effect.failed;
            }
            None => parts.push((effect, end.state.facts)),
        }
    }
    if parts.len() > world.config.max_effects {
        return None;
    }
    let finish = |(effect, facts): (Effect, Facts)| Effect { literals: facts.literals().to_vec(), ..effect };
    let parts = parts.into_iter().map(finish).collect();
    let mut opaque = std::mem::take(&mut machine.opaque);
    opaque.sort_unstable();
    opaque.dedup();
    Some(Effects { pool: machine.pool, symbols: machine.symbols, parts, opaque })
}

fn is_alike(a: &Effect, b: &Effect) -> bool {
    a.result == b.result && a.writes == b.writes && a.fates == b.fates
}

fn effect_of(machine: &mut Machine<'_>, end: &End) -> Effect {
    let state = &end.state;
    let mut writes = Vec::new();
    for (key, content) in state.memory.iter() {
        let root = machine.root(key.base);
        let is_own = root.is_none_or(|r| matches!(machine.origin(r), Origin::Local(_)));
        let is_unchanged = machine.symbols.origin(&machine.pool, content.value) == Some(Origin::Initial(key));
        if !is_own && !is_unchanged {
            writes.push((key, *content));
        }
    }
    let kept: SmallVec<[TermId; 1]> = end.result.into_iter().collect();
    let matters = |root: &TermId, fate: &Fate| match (machine.origin(*root), fate) {
        (Origin::Local(_), _) => false,
        // What nobody holds is lost inside, and no caller's business.
        (Origin::Block(_), Fate::Live) => machine.is_held(state, *root, &kept, false),
        (Origin::Block(_), _) => false,
        _ => true,
    };
    let fates = state.fates.iter().filter(|(r, f)| matters(r, f)).map(|(r, f)| (*r, *f)).collect();
    let zero = machine.pool.constant(64, 0);
    let mut failed = state.failed_inside;
    for (_, result) in &state.allocations {
        if machine.pool.width(*result) == 64 {
            let is_null = machine.pool.eq(*result, zero);
            failed |= state.facts.implied(&machine.pool, is_null) == Some(true);
        }
    }
    Effect { literals: Vec::new(), result: end.result, writes, fates, failed }
}
