//! Objects that stage two would find left, if it looked at all of them, in functions where stage one lists nothing.
//!
//! Nothing is reported of these: a test asks for them. Where there is one, the two stages disagree about what code does. Functions with a
//! candidate are left out: of what hangs on an object, or takes its place, stage one lists the object alone.

use caulk_ir::{Body, Inst, InstId};
use caulk_program::{FuncId, Program};
use caulk_summary::{Alloc, AllocId, Destination, Subject, Summary};
use caulk_useflow::{Analysis, Candidate, Kind, Loss, UseflowConfig};

use crate::call::Wanted;
use crate::config::ExploreConfig;
use crate::effect_cache::EffectCache;
use crate::frame::Frame;
use crate::machine::Machine;
use crate::replay::Replay;
use crate::search::{Goal, Search};
use crate::world::World;

/// An object that is left on some path, as stage two sees it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlisted {
    pub function: FuncId,
    /// The call that makes it, and which of the blocks of that call it is.
    pub allocation: InstId,
    pub block: AllocId,
    /// The return that the path ends at.
    pub exit: InstId,
}

/// The objects that stage two finds left, of all functions in which stage one lists none.
pub fn unlisted(
    program: &Program,
    useflow: &UseflowConfig,
    analysis: &Analysis,
    config: &ExploreConfig,
) -> Vec<Unlisted> {
    let effects = EffectCache::new(program, analysis, config, &[]);
    let world = World::new(program, useflow, analysis, config, &effects);
    let is_without = |f: &FuncId| program.has_body(*f) && analysis.reports[*f].candidates.is_empty();
    program.functions().filter(is_without).flat_map(|function| of_function(&world, function)).collect()
}

fn of_function(world: &World<'_>, function: FuncId) -> Vec<Unlisted> {
    let Some(body) = world.program.body(function) else { return Vec::new() };
    let frame = Frame::new(world.program, function, &body, &|inst| world.depends_on_arguments(function, inst));
    let mut found = Vec::new();
    for (wanted, block) in objects(world, function, &body) {
        let everywhere: Vec<Candidate> = returns(&body).map(|exit| candidate(function, wanted, &block, exit)).collect();
        let candidates: Vec<&Candidate> = everywhere.iter().collect();
        let machine = Machine::new(world, &frame);
        let mut search = Search::new(machine, Goal::Leaks { wanted, candidates: &candidates }, world.config.max_steps);
        search.run();
        let is_left = |index: &usize| search.found[*index].is_some() && search.replay(*index, &[]) == Replay::Holds;
        let left = (0..everywhere.len()).find(is_left);
        found.extend(left.map(|index| Unlisted {
            function,
            allocation: wanted.call,
            block: wanted.block,
            exit: everywhere[index].exit,
        }));
    }
    found
}

/// What the calls of a function make for it.
fn objects(world: &World<'_>, function: FuncId, body: &Body) -> Vec<(Wanted, Alloc)> {
    let calls = body.insts.iter().filter(|(_, inst)| inst.call().is_some()).map(|(call, _)| call);
    let made = |call: InstId| {
        let effect = world.call_effect(function, call)?;
        let summary = &effect.summary;
        let handed_out = summary.blocks.keys().filter(|block| is_handed_out(summary, *block));
        Some(handed_out.map(|block| (Wanted { call, block }, summary.blocks[block].clone())).collect::<Vec<_>>())
    };
    calls.filter_map(made).flatten().collect()
}

fn is_handed_out(summary: &Summary, block: AllocId) -> bool {
    let is_of = |subject: &Subject| *subject == Subject::Alloc(block);
    summary.actions.iter().any(|action| is_of(&action.subject) && matches!(action.to, Destination::Store(_)))
}

fn returns(body: &Body) -> impl Iterator<Item = InstId> + '_ {
    body.insts.iter().filter(|(_, inst)| matches!(inst, Inst::Return { .. })).map(|(inst, _)| inst)
}

/// As stage one would list it, if it were left at this return.
fn candidate(function: FuncId, wanted: Wanted, block: &Alloc, exit: InstId) -> Candidate {
    Candidate {
        function,
        allocation: wanted.call,
        block: wanted.block,
        family: block.family,
        chain: Vec::new(),
        place: exit,
        exit,
        kind: Kind::Forgotten,
        variable: None,
        loss: Loss::Path,
        hidden: false,
        ground: None,
        is_part: false,
        trail: Vec::new(),
    }
}
