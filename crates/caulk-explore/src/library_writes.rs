//! What library functions write besides pointers, as their models say: the numbers that `read()`, `scanf()` and `stat()` fill.

use caulk_ir::Type;
use caulk_memory::{AccessPath, Class};
use caulk_program::FuncId;
use caulk_solver::TermId;
use caulk_summary::Summary;
use smallvec::SmallVec;

use crate::call::Site;
use crate::machine::Machine;
use crate::state::State;
use crate::symbols::{Key, Origin, Part};

/// Bytes that are written where more may lie behind: in memory that is not a variable of this function only the number that is pointed to.
const NUMBER: u64 = 8;

/// Sets the pointers that such a function moves apart from what else a call gives.
const MOVED: u32 = u32::MAX;

impl Machine<'_> {
    /// What a call without effects on pointers fills.
    pub(crate) fn fills_of(&self, site: &Site<'_>) -> Summary {
        let libraries = site.targets.iter().filter(|target| !self.frame.program.has_body(**target));
        let mut filled = Summary::default();
        for summary in libraries.map(|target| self.world.analysis.summary(*target)) {
            filled.fills.extend(&summary.fills);
            filled.fills_further |= summary.fills_further;
        }
        filled
    }

    /// Forgets what was behind the arguments that a library function fills.
    pub(crate) fn fill_arguments(&mut self, state: &mut State, site: &Site<'_>, summary: &Summary) {
        let named = |target: &FuncId| self.frame.program.function(*target).declaration.signature.params.len();
        let named = site.targets.iter().map(named).max().unwrap_or(site.args.len());
        let further = named.min(site.args.len())..site.args.len();
        let filled = summary.fills.iter().map(|param| *param as usize);
        let filled: SmallVec<[usize; 4]> = filled.chain(further.filter(|_| summary.fills_further)).collect();
        for index in filled {
            let Some(argument) = site.args.get(index).copied() else { continue };
            let Some(root) = self.root(argument) else { continue };
            let key = self.key(argument);
            let is_variable = matches!(self.origin(root), Origin::Local(_));
            let end = key.offset.saturating_add(if is_variable { i64::MAX } else { NUMBER as i64 });
            if is_variable {
                state.memory_mut().forget_zeroes_from(key);
            }
            let inside = |_: &Self, at: Key, _: Class, _: Option<TermId>| {
                at.base == key.base && key.offset <= at.offset && at.offset < end
            };
            self.forget_where(state, site.inst, inside);
        }
    }

    /// What a callee puts into a place: the value itself, or a pointer to somewhere in the same object.
    pub(crate) fn moved(&mut self, site: &Site<'_>, summary: &Summary, to: &AccessPath, value: TermId) -> TermId {
        match self.root(value) {
            Some(root) if summary.somewhere_inside.contains(to) => {
                self.derived(&site.program_point_of(MOVED), Part::Value, root, Type::Ptr)
            }
            _ => value,
        }
    }
}
