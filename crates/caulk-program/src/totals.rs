//! Numbers that say what was read.

use std::collections::BTreeMap;

use caulk_ir::UnknownReason;
use serde::Serialize;

use crate::calls::{CallKind, Resolution};
use crate::program::Program;

/// What a program consists of, for a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    pub units: usize,
    pub functions_with_body: usize,
    pub functions_without_body: usize,
    pub blocks: u64,
    pub instructions: u64,
    pub globals: usize,
    pub struct_types: usize,
    pub direct_calls: usize,
    /// Direct calls that mean different functions in different programs.
    pub ambiguous_calls: usize,
    pub assembly_calls: usize,
    /// Calls through pointers, virtual ones included.
    pub indirect_calls: usize,
    pub virtual_calls: usize,
    pub indirect_resolved: usize,
    pub indirect_many: usize,
    pub indirect_unresolved: usize,
    pub sccs: usize,
    pub largest_scc: usize,
    pub unknown_values: BTreeMap<UnknownReason, u64>,
}

impl Totals {
    pub(crate) fn new(program: &Program) -> Self {
        let mut totals = Self {
            units: program.units().len(),
            globals: program.globals().len(),
            struct_types: program.types().len(),
            sccs: program.sccs().len(),
            largest_scc: program.sccs().iter().map(Vec::len).max().unwrap_or(0),
            ..Self::default()
        };
        for (_, unit) in program.units() {
            for (reason, count) in &unit.unit.unknowns {
                *totals.unknown_values.entry(*reason).or_default() += u64::from(*count);
            }
        }
        for function in program.functions() {
            if program.has_body(function) {
                totals.functions_with_body += 1;
            } else {
                totals.functions_without_body += 1;
            }
            let (blocks, insts) = program.body_size(function);
            totals.blocks += u64::from(blocks);
            totals.instructions += u64::from(insts);
        }
        totals.count_calls(program);
        totals
    }

    fn count_calls(&mut self, program: &Program) {
        for site in program.all_call_sites() {
            match site.kind {
                CallKind::Direct => {
                    self.direct_calls += 1;
                    self.ambiguous_calls += usize::from(program.targets(site).len() > 1);
                    continue;
                }
                CallKind::Assembly => {
                    self.assembly_calls += 1;
                    continue;
                }
                CallKind::Virtual => self.virtual_calls += 1,
                CallKind::Indirect => {}
            }
            self.indirect_calls += 1;
            match site.outcome {
                Resolution::Resolved => self.indirect_resolved += 1,
                Resolution::Many => self.indirect_many += 1,
                Resolution::Unresolved => self.indirect_unresolved += 1,
            }
        }
    }
}
