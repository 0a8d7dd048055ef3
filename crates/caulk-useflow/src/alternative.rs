//! The state of one object on one class of paths.

use caulk_ir::{InstId, VarId};
use caulk_memory::{Cell, ValueId};
use smallvec::SmallVec;

use crate::apart::Apart;
use crate::fact_list::keep_shared;
use crate::facts::FactList;

/// The finite-state machine of an object (SMOKE's, with Melton's states).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Status {
    /// Exists, and this function must free it or hand it on. Where it is held is said by the alternative.
    Live,
    Freed,
    /// Kept by an owner out of sight.
    Kept,
    /// Given to unknown code.
    Unknown,
    /// Does not exist on these paths: they go around its allocation, or the allocation failed.
    Absent,
}

/// One alternative: the object's status on the paths that agree on it and on who holds the object.
#[derive(Debug)]
pub(crate) struct Alternative {
    pub status: Status,
    /// Values that point to the object or into it. Sorted.
    pub names: SmallVec<[InstId; 6]>,
    /// Places in memory that hold such a pointer. Sorted.
    pub cells: SmallVec<[Cell; 2]>,
    /// Choices (phis) that lead to a holder, and the value that each of them is on these paths.
    pub aliases: SmallVec<[(ValueId, ValueId); 1]>,
    /// The object itself as a value: cells in it hold nothing that they do not take with them.
    pub own: Option<ValueId>,
    /// Variables of the source that hold it.
    pub vars: SmallVec<[VarId; 2]>,
    /// The variable that held it last, for messages.
    pub last_variable: Option<VarId>,
    /// What is known on all of these paths.
    pub facts: FactList,
    /// Where the last variable or cell that held it was lost, and whether it was overwritten there (or freed) rather than
    /// gone out of scope.
    pub lost: Option<(InstId, bool)>,
    /// The last event, in the history of the function.
    pub event: u32,
    /// Every path that leads here goes on after an exception that no code names.
    pub rests_on_unnamed: bool,
    /// Some free or keep before this point was decided by something hidden.
    pub rests_on_opaque: bool,
    /// The last of those was done by some of the functions that may be called there.
    pub rests_on_unsure: bool,
    /// A callee has, or may have, put another block in its place.
    pub is_renewed: bool,
    /// The call whose exception is on its way out of the function, if code names it. On some of these paths is enough.
    pub thrown_by: Option<InstId>,
    /// At the entry of a block: changed since the block was last run.
    pub is_new: bool,
}

/// Copies of its lists are made by the thousand; a derived implementation would copy them one element at a time.
impl Clone for Alternative {
    fn clone(&self) -> Self {
        Self {
            names: SmallVec::from_slice(&self.names),
            cells: SmallVec::from_slice(&self.cells),
            aliases: SmallVec::from_slice(&self.aliases),
            vars: SmallVec::from_slice(&self.vars),
            facts: SmallVec::from_slice(&self.facts),
            ..*self
        }
    }

    fn clone_from(&mut self, other: &Self) {
        let Self { status, names, cells, aliases, own, vars, last_variable, facts, lost, event, .. } = self;
        copy(names, &other.names);
        copy(cells, &other.cells);
        copy(aliases, &other.aliases);
        copy(vars, &other.vars);
        copy(facts, &other.facts);
        (*status, *own, *last_variable) = (other.status, other.own, other.last_variable);
        (*lost, *event) = (other.lost, other.event);
        self.rests_on_opaque = other.rests_on_opaque;
        self.rests_on_unnamed = other.rests_on_unnamed;
        self.rests_on_unsure = other.rests_on_unsure;
        self.is_renewed = other.is_renewed;
        self.thrown_by = other.thrown_by;
        self.is_new = other.is_new;
    }
}

fn copy<A: smallvec::Array<Item: Copy>>(to: &mut SmallVec<A>, from: &SmallVec<A>) {
    to.clear();
    to.extend_from_slice(from);
}

impl Alternative {
    pub(crate) fn new(event: u32) -> Self {
        Self {
            status: Status::Live,
            names: SmallVec::new(),
            cells: SmallVec::new(),
            aliases: SmallVec::new(),
            own: None,
            vars: SmallVec::new(),
            last_variable: None,
            facts: SmallVec::new(),
            lost: None,
            event,
            rests_on_opaque: false,
            rests_on_unnamed: false,
            rests_on_unsure: false,
            is_renewed: false,
            thrown_by: None,
            is_new: true,
        }
    }

    /// Leaves an empty one in its place.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(0))
    }

    pub(crate) fn has_name(&self, value: InstId) -> bool {
        self.names.binary_search(&value).is_ok()
    }

    pub(crate) fn add_name(&mut self, value: InstId) {
        if let Err(at) = self.names.binary_search(&value) {
            self.names.insert(at, value);
        }
    }

    pub(crate) fn remove_name(&mut self, value: InstId) {
        if let Ok(at) = self.names.binary_search(&value) {
            self.names.remove(at);
        }
    }

    pub(crate) fn add_cell(&mut self, cell: Cell) {
        if let Err(at) = self.cells.binary_search(&cell) {
            self.cells.insert(at, cell);
        }
        self.lost = None;
    }

    /// A choice is made, and leads to a holder.
    pub(crate) fn add_alias(&mut self, choice: ValueId, of: ValueId) {
        if !self.aliases.contains(&(choice, of)) {
            self.aliases.push((choice, of));
        }
    }

    /// A choice is made again, or is out of sight: what it led to before is not to be found there.
    pub(crate) fn forget_alias(&mut self, choice: ValueId) {
        if self.aliases.iter().any(|(known, _)| *known == choice) {
            self.aliases.retain(|(known, of)| *known != choice && *of != choice);
            self.cells.retain(|cell| cell.base != choice);
        }
    }

    /// What a value is on these paths, behind all choices.
    pub(crate) fn behind(&self, mut value: ValueId) -> ValueId {
        // Each step goes to a value that was there before the choice.
        for _ in 0..=self.aliases.len() {
            match self.aliases.iter().find(|(choice, _)| *choice == value) {
                Some((_, of)) => value = *of,
                None => break,
            }
        }
        value
    }

    /// A place does not hold it any more, by whatever name.
    pub(crate) fn remove_cell(&mut self, cell: Cell) {
        let base = self.behind(cell.base);
        let cells = std::mem::take(&mut self.cells);
        let is_other = |c: &Cell| c.offset != cell.offset || self.behind(c.base) != base;
        self.cells = cells.into_iter().filter(is_other).collect();
    }

    /// A holder is gone, by whatever name.
    pub(crate) fn forget_cells_of(&mut self, holder: ValueId) {
        let holder = self.behind(holder);
        let cells = std::mem::take(&mut self.cells);
        self.cells = cells.into_iter().filter(|cell| self.behind(cell.base) != holder).collect();
    }

    /// Whether something that lasts holds it.
    pub(crate) fn is_held(&self) -> bool {
        !self.vars.is_empty() || self.holders().next().is_some()
    }

    /// Cells outside of the object that hold it.
    pub(crate) fn holders(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|c| Some(c.base) != self.own)
    }

    /// After a holder went: remembers where, if it was the last.
    pub(crate) fn holder_went(&mut self, at: InstId, overwritten: bool) {
        if self.status == Status::Live && !self.is_held() {
            self.lost = Some((at, overwritten));
        }
    }

    /// The object is no longer ours: who holds it does not matter any more.
    pub(crate) fn settle(&mut self, status: Status, event: u32) {
        self.status = status;
        self.names.clear();
        self.cells.clear();
        self.aliases.clear();
        self.vars.clear();
        self.lost = None;
        self.event = event;
    }

    fn same_class(&self, other: &Alternative) -> bool {
        self.status == other.status && self.names == other.names && self.cells == other.cells
    }

    fn absorb(&mut self, other: &Alternative, apart: &Apart) -> bool {
        let mut changed = keep_shared(&mut self.facts, &other.facts, apart);
        let before = self.aliases.len();
        self.aliases.retain(|alias| other.aliases.contains(alias));
        changed |= self.aliases.len() != before;
        for var in &other.vars {
            if !self.vars.contains(var) {
                self.vars.push(*var);
            }
        }
        for name in &other.names {
            if !self.has_name(*name) {
                self.add_name(*name);
                changed = true;
            }
        }
        for cell in &other.cells {
            if !self.cells.contains(cell) {
                let lost = self.lost;
                self.add_cell(*cell);
                self.lost = lost;
                changed = true;
            }
        }
        changed |= self.thrown_by.is_none() && other.thrown_by.is_some();
        self.thrown_by = self.thrown_by.or(other.thrown_by);
        if self.rests_on_unnamed && !other.rests_on_unnamed {
            changed = true;
            self.rests_on_unnamed = false;
            self.thrown_by = other.thrown_by.or(self.thrown_by);
        }
        self.rests_on_opaque |= other.rests_on_opaque;
        self.is_renewed |= other.is_renewed;
        self.rests_on_unsure &= other.rests_on_unsure;
        if self.lost.is_none() && !self.is_held() {
            self.lost = other.lost;
        }
        self.is_new |= changed;
        changed
    }
}

/// Adds an alternative to those of a block; true when something new came in. `cut` is set when unlike ones were merged.
/// Nothing is taken from `new` when it is merged with one that is there.
pub(crate) fn merge(
    into: &mut Vec<Alternative>,
    new: &mut Alternative,
    max: usize,
    apart: &Apart,
    cut: &mut bool,
) -> bool {
    new.is_new = true;
    if let Some(known) = into.iter_mut().find(|a| a.same_class(new)) {
        return known.absorb(new, apart);
    }
    if into.len() >= max {
        *cut = true;
        if let Some(known) = into.iter_mut().rev().find(|a| a.status == new.status) {
            return known.absorb(new, apart);
        }
    }
    into.push(new.take());
    true
}

/// Merges all alternatives of one status, so that a block that keeps changing settles.
pub(crate) fn collapse(alternatives: &mut Vec<Alternative>, apart: &Apart) {
    let mut merged: Vec<Alternative> = Vec::new();
    for alternative in alternatives.drain(..) {
        match merged.iter_mut().find(|a| a.status == alternative.status) {
            Some(known) => {
                known.absorb(&alternative, apart);
                known.is_new = true;
            }
            None => merged.push(alternative),
        }
    }
    *alternatives = merged;
}
