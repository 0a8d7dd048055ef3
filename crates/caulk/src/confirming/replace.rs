//! The second way to run a finding: functions of other units are replaced by stubs. They crash on structures whose invariants types do not
//! tell, or end the process, before the function comes to its leak.
//!
//! The memory that is lost must not have been given to such a stub: then what its function does with memory does not matter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use caulk_harness::{Stub, StubKind, StubResult};
use caulk_ir::Type;
use caulk_program::{FuncId, Program};
use caulk_summary::{Subject, Summary};
use caulk_useflow::Analysis;

use super::scope::{MAX_WRAPPED_ARGUMENTS, Scripted, returned};

/// What the path decides, with stubs in the place of functions of other units; None where there are no such functions.
pub(crate) fn replaced(
    program: &Program,
    analysis: &Analysis,
    function: FuncId,
    scripted: &Scripted,
) -> Option<Scripted> {
    let mut replaced = scripted.clone();
    for callee in outer_callees(program, function) {
        if !can_be_replaced(program, analysis, callee) {
            continue;
        }
        let symbol = program.function(callee).symbol;
        let kind = StubKind::Replaced { kind: returned(program, analysis, callee) };
        match replaced.stubs.iter_mut().find(|stub| stub.symbol == symbol) {
            Some(stub) => (stub.kind, stub.is_known) = (kind, false),
            None => {
                replaced.stubs.push(Stub {
                    symbol: symbol.to_owned(),
                    kind,
                    is_known: false,
                    is_replaced: true,
                    is_trusted: false,
                });
                replaced.calls.push(Vec::new());
            }
        }
    }
    let is_replaced = |stub: &Stub| matches!(stub.kind, StubKind::Replaced { .. });
    replaced.stubs.iter().any(is_replaced).then_some(replaced)
}

/// The functions of other units that the function calls, itself or through functions of its own unit, and that no call passes more to than a stub
/// can see.
fn outer_callees(program: &Program, function: FuncId) -> Vec<FuncId> {
    let home = program.function(function).unit;
    let mut seen: BTreeSet<FuncId> = BTreeSet::from([function]);
    let mut waiting: VecDeque<FuncId> = VecDeque::from([function]);
    let mut most_arguments: BTreeMap<FuncId, usize> = BTreeMap::new();
    while let Some(caller) = waiting.pop_front() {
        let Some(body) = program.body(caller) else { continue };
        for site in program.call_sites(caller) {
            let count = body.insts[site.inst].call().map_or(usize::MAX, |call| call.args.len());
            for callee in program.targets(site).iter().copied().filter(|callee| program.has_body(*callee)) {
                if program.function(callee).unit == home {
                    if seen.insert(callee) {
                        waiting.push_back(callee);
                    }
                } else {
                    let most = most_arguments.entry(callee).or_default();
                    *most = count.max(*most);
                }
            }
        }
    }
    let fits = |(callee, count): (FuncId, usize)| (count <= MAX_WRAPPED_ARGUMENTS).then_some(callee);
    most_arguments.into_iter().filter_map(fits).collect()
}

/// A function that returns, and hands out memory by its result alone.
fn can_be_replaced(program: &Program, analysis: &Analysis, callee: FuncId) -> bool {
    let declaration = program.function(callee).declaration;
    let signature = &declaration.signature;
    let summary = analysis.summary(callee);
    let is_word = |ty: &Type| matches!(ty, Type::Ptr | Type::Int(_));
    let is_fresh = returned(program, analysis, callee) == StubResult::Fresh;
    // The size of what an allocator returns must be what was asked for.
    let is_allocator = is_fresh && signature.params.iter().any(|ty| matches!(ty, Type::Int(_)));
    !summary.no_return
        && !declaration.flags.no_return
        && !is_allocator
        && allocates_its_result_only(summary)
        && (signature.ret == Type::Void || is_word(&signature.ret))
        && signature.params.iter().all(is_word)
        && !declaration.params.iter().any(|param| param.flags.by_value)
}

pub(crate) fn allocates_its_result_only(summary: &Summary) -> bool {
    let is_fresh = |subject: &Subject| matches!(subject, Subject::Alloc(_));
    summary.actions.iter().all(|action| !is_fresh(&action.subject) || action.is_returned())
}
