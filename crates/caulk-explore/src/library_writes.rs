//! What library functions write besides pointers, as their models say: the numbers that `read()`, `scanf()` and `stat()` fill; and what is
//! filled behind what a function is given, for those that call it: a `read_all(fd, data, size)` of the program's own fills whatever it is given.

use caulk_ir::{InstId, Type};
use caulk_memory::{AccessPath, Class};
use caulk_program::FuncId;
use caulk_rules::Rule;
use caulk_solver::TermId;
use caulk_summary::Summary;
use smallvec::SmallVec;

use crate::call::Site;
use crate::machine::Machine;
use crate::state::State;
use crate::symbols::{Key, Origin, Part};
use crate::written::Inside;

/// Bytes that are written where more may lie behind: in memory that is not a variable of this function, and of a size that nothing tells.
const NUMBER: i64 = 8;

/// Sets the pointers that such a function moves apart from what else a call gives.
const MOVED: u32 = u32::MAX;

impl Machine<'_> {
    /// What a call without effects on pointers fills.
    pub(crate) fn fills_of(&self, site: &Site<'_>) -> Summary {
        let libraries = site.targets.iter().filter(|target| !self.frame.program.has_body(**target));
        let mut filled = Summary::default();
        for summary in libraries.map(|target| self.world.analysis.summary(*target)) {
            filled.fills.extend(&summary.fills);
            filled.fills_inside.extend(&summary.fills_inside);
            filled.fills_further |= summary.fills_further;
        }
        filled
    }

    /// Forgets what was behind the arguments that a library function fills.
    pub(crate) fn fill_arguments(&mut self, state: &mut State, site: &Site<'_>, summary: &Summary) {
        let named = |target: &FuncId| self.frame.program.function(*target).declaration.signature.params.len();
        let named = site.targets.iter().map(named).max().unwrap_or(site.args.len());
        let further = named.min(site.args.len())..site.args.len();
        let further: SmallVec<[usize; 4]> = further.filter(|_| summary.fills_further).collect();
        let size = self.size_given(site);
        // What is filled may be where the address of what is filled as well was found.
        for index in summary.fills_inside.iter().map(|param| *param as usize).chain(further.iter().copied()) {
            if let Some(argument) = site.args.get(index).copied() {
                self.fill_inside(state, site, argument);
            }
        }
        for index in summary.fills.iter().map(|param| *param as usize).chain(further) {
            let Some(argument) = site.args.get(index).copied() else { continue };
            let Some(root) = self.root(argument) else { continue };
            let key = self.key(argument);
            let is_variable = matches!(self.origin(root), Origin::Local(_));
            let size = size.filter(|_| index < named && key.offset == 0 || is_variable);
            let bytes = if is_variable { i64::MAX } else { size.unwrap_or(NUMBER) };
            self.forget_behind(state, site.inst, key, bytes);
            if bytes > NUMBER {
                self.note_filled(key);
            }
        }
    }

    /// How much a library function is asked to fill: a number among its arguments, or all there is where that is not known. None: nothing
    /// says that it is more than one number.
    fn size_given(&self, site: &Site<'_>) -> Option<i64> {
        let numbers = site.call.args.iter().zip(&site.args);
        let numbers = numbers.filter(|(arg, _)| matches!(self.frame.body.operand_type(**arg), Type::Int(_)));
        let size = |term: &TermId| match self.pool.as_const(*term) {
            Some(number) => i64::try_from(number).unwrap_or(0),
            None => i64::MAX,
        };
        let largest = numbers.map(|(_, term)| size(term)).max().filter(|size| *size > NUMBER);
        largest.filter(|_| self.world.config.rules.is_on(Rule::FilledStructures))
    }

    /// Forgets the numbers that lie behind an address, in its object; all of them where the address is computed.
    fn forget_behind(&mut self, state: &mut State, inst: InstId, key: Key, bytes: i64) {
        let end = key.offset.saturating_add(bytes);
        let root = self.root(key.base).filter(|root| *root != key.base);
        let inside = |_: &Self, at: Key, _: Class, holder: Option<TermId>| {
            let is_behind = at.base == key.base && (key.offset..end).contains(&at.offset);
            is_behind || (bytes > NUMBER && root.is_some() && holder == root)
        };
        self.forget_where(state, inst, inside);
        if bytes > NUMBER {
            state.memory_mut().forget_zeroes_from(key);
            root.into_iter().for_each(|root| state.memory_mut().forget_zeroes(root));
        }
    }

    /// Notes for callers that something was filled that they may see.
    pub(crate) fn note_filled(&mut self, key: Key) {
        let place = self.seen_by_callers(key);
        self.filled.extend(place);
    }

    /// The same, of what the contents of a place lead to.
    pub(crate) fn note_filled_inside(&mut self, key: Key) {
        let place = self.seen_by_callers(key);
        self.filled_inside.extend(place);
    }

    fn seen_by_callers(&self, key: Key) -> Option<Key> {
        let is_seen = |root| matches!(self.origin(root), Origin::Param(_) | Origin::Initial(_) | Origin::Global(_));
        let is_on = self.follows_all && self.world.config.rules.is_on(Rule::FilledStructures);
        let root = self.root(key.base).filter(|root| is_on && is_seen(*root))?;
        // Where the address is computed, all of the object.
        Some(if root == key.base { key } else { Key { base: root, offset: 0 } })
    }

    /// What a callee of the callee has filled. `inside`: and what its contents lead to.
    pub(crate) fn fill_place(&mut self, state: &mut State, site: &Site<'_>, (address, inside): (TermId, bool)) {
        if self.root(address).is_none() {
            return;
        }
        if inside {
            self.fill_inside(state, site, address);
        }
        let key = self.key(address);
        self.forget_behind(state, site.inst, key, i64::MAX);
        self.note_filled(key);
        self.world.config.rules.note(Rule::FilledStructures, 1);
    }

    /// Forgets the numbers in what the memory behind an argument leads to: the buffers of `readv()`, or of a request of `ioctl()`.
    fn fill_inside(&mut self, state: &mut State, site: &Site<'_>, argument: TermId) {
        let root = self.root(argument);
        if root.is_none() || !self.world.config.rules.is_on(Rule::FilledStructures) {
            return;
        }
        let inside = self.reach(state, &[root]);
        self.forget_where(state, site.inst, |_, _, _, holder| holder.is_some_and(|holder| inside.has(holder)));
        self.fill_reached(state, &inside);
        let key = self.key(argument);
        self.note_filled_inside(key);
    }

    /// Nothing is known any more to be zero in what memory leads to.
    pub(crate) fn fill_reached(&mut self, state: &mut State, inside: &Inside) {
        for key in inside.places() {
            let base = self.root(key.base).unwrap_or(key.base);
            state.memory_mut().forget_zeroes(base);
            self.note_filled(*key);
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
