//! Functions of a library whose source is part of the program: what the library promises, where its code does not show it.
//!
//! Libraries make and free objects through templates and tables of functions, which no summary sees through. Their manuals
//! say what callers may rely on. Where the code tells more than the manual (which field, under which condition), it is heard.

use caulk_ir::{Body, EntityVec};
use caulk_memory::PathRoot;
use caulk_models::Models;
use caulk_program::{FuncId, Program, constant_result};
use caulk_rules::Rule;
use caulk_summary::{Action, AllocId, Depth, Destination, Guard, Subject, Summary};

use crate::facts::number_of;
use crate::library::from_model;
use crate::summarize::World;

/// The promise of a function that the program defines, if a model makes one for definitions too.
fn promise(program: &Program, models: &Models, function: FuncId) -> Option<Summary> {
    let info = program.function(function);
    let model = models.get(info.symbol).filter(|model| model.covers_definitions)?;
    let is_same = model.params.is_none_or(|count| usize::from(count) == info.declaration.signature.params.len());
    is_same.then(|| from_model(model, info.declaration))
}

/// Adds to a summary what the library promises of the function, and takes away what contradicts it.
pub(crate) fn rely_on_contract(world: &World<'_>, function: FuncId, body: &Body, summary: &mut Summary) {
    let promised = promise(world.program, world.models, function);
    let is_used = world.config.rules.applies(Rule::LibraryContracts, promised.is_some());
    let Some(mut promise) = promised.filter(|_| is_used) else { return };
    if let Some(result) = constant_result(body).and_then(number_of) {
        promise.actions.retain_mut(|action| is_told_by(action, result));
    }
    // A certain free of the code's own says whether what is inside goes too.
    promise.actions.retain(|promised| !summary.actions.iter().any(|own| frees_for_certain(own, promised)));
    // What the code may do to an argument, or may not, the manual decides.
    let is_promised = |own: &Action| promise.actions.iter().any(|promised| speaks_of(promised, own));
    summary.actions.retain(|own| !is_doubtful(own) && !is_promised(own));
    let added: EntityVec<AllocId, AllocId> =
        promise.blocks.values().map(|block| summary.blocks.push(block.clone())).collect::<Vec<_>>().into();
    for Action { subject, to, guard } in promise.actions {
        let subject = match subject {
            Subject::Alloc(id) => Subject::Alloc(added[id]),
            value => value,
        };
        let to = match to {
            // Its destructor: nothing of it is left.
            Destination::Free { .. } => Destination::Free { deep: Depth::Deep },
            to => to,
        };
        summary.actions.push(Action { subject, to, guard });
    }
    summary.is_model = true;
    summary.actions.sort();
    summary.actions.dedup();
    summary.drop_unused_blocks();
}

/// Callers of a function that always returns the same are told nothing: an action happens, or it does not.
fn is_told_by(action: &mut Action, result: i64) -> bool {
    let Guard::ByResult(relation, _) = action.guard else { return true };
    action.guard = Guard::Always;
    relation.holds(result)
}

fn frees_for_certain(own: &Action, promised: &Action) -> bool {
    let [own_frees, promised_frees] = [own, promised].map(|a| matches!(a.to, Destination::Free { .. }));
    own_frees && promised_frees && own.subject == promised.subject && own.guard == Guard::Always
}

/// Whether something happens to an argument as a whole that its code does not decide where the caller could see it.
fn is_doubtful(action: &Action) -> bool {
    let Subject::Value(path) = &action.subject else { return false };
    let is_argument = path.steps.is_empty() && matches!(path.root, PathRoot::Param(_));
    let is_hidden = matches!(action.guard, Guard::Opaque) || action.to == Destination::Unknown;
    is_argument && is_hidden && !matches!(action.to, Destination::Store(_))
}

/// Whether a promise speaks of the same thing.
fn speaks_of(promised: &Action, own: &Action) -> bool {
    match (&promised.subject, &own.subject) {
        (Subject::Alloc(_), Subject::Alloc(_)) => promised.to == own.to,
        (Subject::Value(_), Subject::Value(_)) => promised.subject == own.subject && !is_returned(promised),
        _ => false,
    }
}

fn is_returned(action: &Action) -> bool {
    matches!(&action.to, Destination::Store(to) if to.root == PathRoot::Return)
}
