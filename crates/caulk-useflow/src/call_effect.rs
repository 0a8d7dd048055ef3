//! What a call does, put together from the summaries of the functions that it may reach.

use std::borrow::Cow;

use caulk_ir::{Body, EntityVec};
use caulk_memory::{AccessPath, PathRoot};
use caulk_program::{CallKind, CallSite, FuncId, Program, Resolution};
use caulk_rules::Rule;
use caulk_summary::{Action, Depth, Destination, Guard, Subject, Summary};
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::config::UseflowConfig;
use crate::sealed::{Callees, constant_arguments};
use crate::survey::Survey;
use crate::targets::{add_common_results, combine};

/// What a call does, as far as its targets agree.
#[derive(Clone, Debug)]
pub struct CallEffect<'a> {
    pub summary: Cow<'a, Summary>,
    /// Some target is not known at all: whatever it is given may be gone.
    pub unknown: bool,
}

/// The effect of a call, as its targets' summaries tell. None: none that matters, or not known yet.
pub fn effect_of<'a>(
    program: &Program,
    config: &UseflowConfig,
    site: &CallSite,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
) -> Option<CallEffect<'a>> {
    let targets = program.targets(site);
    if site.kind == CallKind::Assembly && site.outcome == Resolution::Resolved {
        return None;
    }
    if targets.is_empty() || site.outcome == Resolution::Unresolved {
        return Some(CallEffect { summary: Cow::Owned(Summary::default()), unknown: true });
    }
    let is_many = site.outcome == Resolution::Many || targets.len() > config.max_targets;
    if is_many && targets.iter().all(|t| is_deleting_destructor(program.function(*t).symbol)) {
        return Some(CallEffect { summary: Cow::Owned(deletes_this()), unknown: false });
    }
    let summaries: SmallVec<[&'a Summary; 4]> = targets.iter().filter_map(|&t| summary_of(t)).collect();
    if summaries.len() < targets.len() && summaries.is_empty() {
        // A component that is being computed: no effect yet. Calls with too many targets are no edges of the call graph, so theirs may
        // never be known here.
        let is_open = site.outcome != Resolution::Resolved;
        return is_open.then(|| CallEffect { summary: Cow::Owned(Summary::default()), unknown: true });
    }
    let many = targets.len() > config.max_targets;
    let summary = match summaries.as_slice() {
        [only] => Cow::Borrowed(*only),
        several => {
            let mut summary = combine(several, many, &config.rules);
            if site.kind == CallKind::Virtual && config.rules.is_on(Rule::CommonResults) {
                // Those that only return null say nothing about what the others give.
                let gives = |t: &&FuncId| !program.returns_null(**t);
                let giving: SmallVec<[&'a Summary; 4]> =
                    targets.iter().filter(gives).filter_map(|&t| summary_of(t)).collect();
                config.rules.note(Rule::CommonResults, add_common_results(&giving, &mut summary));
            }
            Cow::Owned(summary)
        }
    };
    // Where more may be called than was found, they may do anything to what they are given.
    let effect = CallEffect { summary, unknown: site.outcome != Resolution::Resolved };
    let tells = |s: &Summary| {
        !s.demands.is_empty()
            || !s.looks_behind.is_empty()
            || s.nonnull_result
            || s.result_inside.is_some()
            || s.holding.is_some()
            || s.counts
            || !s.ensures.is_empty()
            || !s.taken_by_throws.is_empty()
            || !s.throw_needs.is_empty()
    };
    let says_something = |s: &Summary| !s.is_empty() || tells(s);
    (effect.unknown || says_something(&effect.summary)).then_some(effect)
}

/// The effect of a call without the blocks that the callee does not make for the constants it is given: `resize(0)` only frees.
pub(crate) fn without_sealed_blocks<'a>(
    (program, survey): (&Program, &Survey),
    config: &UseflowConfig,
    body: &Body,
    site: &CallSite,
    effect: CallEffect<'a>,
    summary_of: &dyn Fn(FuncId) -> Option<&'a Summary>,
) -> CallEffect<'a> {
    let targets = program.targets(site);
    if effect.unknown || effect.summary.blocks.is_empty() || targets.is_empty() || site.outcome != Resolution::Resolved
    {
        return effect;
    }
    let given = body.insts[site.inst].call().map(|call| constant_arguments(body, &call.args)).unwrap_or_default();
    let of_call = |function: FuncId, inst| effect_of(program, config, program.call_site(function, inst)?, summary_of);
    let (max_size, reached) = (BOUNDS.sealed_insts, &survey.reached_calls);
    let callees = Callees { program, max_size, reached, summary: summary_of, effect: &of_call };
    if given.is_empty() || !targets.iter().all(|target| callees.makes_no_block(*target, &given)) {
        return effect;
    }
    let mut summary = effect.summary.into_owned();
    summary.actions.retain(|action| !matches!(action.subject, Subject::Alloc(_)));
    summary.blocks = EntityVec::default();
    CallEffect { summary: Cow::Owned(summary), ..effect }
}

/// The destructor that `delete` calls through the table of virtual functions (Itanium C++ ABI 2.6.1): it frees its object. Through the table of
/// a second or virtual base, a thunk (`_ZTh`, `_ZTv`, 5.1.4.4) calls it; classes inside of functions have names with `_ZZ`.
fn is_deleting_destructor(symbol: &str) -> bool {
    ["_ZN", "_ZTh", "_ZTv", "_ZZ"].iter().any(|start| symbol.starts_with(start)) && symbol.ends_with("D0Ev")
}

/// The object and what it owns are gone, whatever its class is.
fn deletes_this() -> Summary {
    let this = Subject::Value(AccessPath::root(PathRoot::Param(0)));
    let freed = Action { subject: this, to: Destination::Free { deep: Depth::Deep }, guard: Guard::Always };
    Summary { actions: vec![freed], impure: true, ..Summary::default() }
}
