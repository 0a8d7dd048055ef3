//! Memory of a path as instructions see it: loads, stores, copies, and what is forgotten.

use std::rc::Rc;

use caulk_ir::{Constant, Initialiser, InstId, Type};
use caulk_memory::Class;
use caulk_solver::TermId;
use caulk_summary::Event;

use crate::bounds::BOUNDS;
use crate::flags::Left;
use crate::frame::{bytes_of, is_pointer, type_of, width_of};
use crate::machine::Machine;
use crate::memory::{Content, Memory};
use crate::state::{Ownership, State};
use crate::symbols::{Key, Origin, Part, ProgramPoint};

/// The character of a text at an offset: its final zero too, unless the text was cut. Other than ASCII it may not be what the source has.
fn character(text: &str, offset: i64) -> Option<u64> {
    let at = usize::try_from(offset).ok().filter(|_| text.is_ascii())?;
    let is_end = at == text.len() && at < Initialiser::MAX_TEXT;
    text.as_bytes().get(at).map(|byte| u64::from(*byte)).or(is_end.then_some(0))
}

impl Machine<'_> {
    pub(crate) fn key(&self, address: TermId) -> Key {
        let (base, offset) = self.pool.split_offset(address);
        if self.pool.as_symbol(base).is_none() {
            self.indexed.borrow_mut().extend(self.root(base));
        }
        Key { base, offset: offset as i64 }
    }

    pub(crate) fn load(
        &mut self,
        state: &State,
        address: TermId,
        ty: Type,
        class: Class,
        program_point: &ProgramPoint,
    ) -> TermId {
        let key = self.key(address);
        let bytes = bytes_of(ty);
        let Some(width) = width_of(ty) else {
            let parts: Vec<TermId> = state.memory.overlapping(key, bytes).map(|(_, c)| c.value).collect();
            return self.unknown_from(state, program_point, ty, &parts);
        };
        if let Some(content) = state.memory.get(key) {
            let known = self.pool.width(content.value);
            if known == width {
                return content.value;
            }
            if known > width {
                return self.pool.trunc(content.value, width);
            }
        }
        let cells: Vec<(Key, Content)> = state.memory.overlapping(key, bytes).map(|(at, c)| (at, *c)).collect();
        if !cells.is_empty() {
            let whole = if is_pointer(ty) { None } else { self.read_pieces(state, key, width, &cells, program_point) };
            let parts: Vec<TermId> = cells.iter().map(|(_, c)| c.value).collect();
            return whole.unwrap_or_else(|| self.unknown_from(state, program_point, ty, &parts));
        }
        if let Some(object) = self.may_hold_elsewhere(state, key, class) {
            return self.derived(program_point, Part::Value, object, ty);
        }
        if self.is_still_zero(state, key, bytes, class) {
            return self.pool.constant(width, 0);
        }
        if let Some(value) = self.constant_contents(key, ty) {
            return value;
        }
        self.symbols.initial(&mut self.pool, key, width, class, is_pointer(ty))
    }

    /// Whether bytes were cleared, and nothing can have been written there since.
    fn is_still_zero(&self, state: &State, key: Key, bytes: u64, class: Class) -> bool {
        let is_indexed = || self.root(key.base).is_some_and(|root| self.indexed.borrow().contains(&root));
        state
            .memory
            .zeroes(key, bytes)
            .is_some_and(|run| (run.since.is_empty() || !self.world.any_writes(&run.since, class)) && !is_indexed())
    }

    /// The object, if a cell that may be the one at `key` (another element of the same array, say) holds it.
    fn may_hold_elsewhere(&self, state: &State, key: Key, class: Class) -> Option<TermId> {
        let object = state.tracked?;
        let root = self.root(key.base)?;
        let meets = |(at, content): (Key, &Content)| {
            at.base != key.base
                && content.class.meets(class)
                && self.cell_points_to(content, object)
                && content.holder == Some(root)
        };
        state.memory.iter().any(meets).then_some(object)
    }

    /// What a constant global holds.
    fn constant_contents(&mut self, key: Key, ty: Type) -> Option<TermId> {
        let Origin::Global(global) = self.origin(key.base) else { return None };
        let info = self.frame.program.global(global);
        let width = width_of(ty)?;
        if !info.declaration.is_const {
            let built = self.frame.program.built_contents(global);
            let (_, number) = built.iter().find(|(offset, _)| i64::try_from(*offset) == Ok(key.offset))?;
            return match *number {
                Constant::Int { bits, value } if bits == u16::from(width) => Some(self.pool.constant(width, value)),
                Constant::Null => Some(self.pool.constant(width, 0)),
                _ => None,
            };
        }
        match &info.declaration.init {
            Initialiser::Zero => Some(self.pool.constant(width, 0)),
            Initialiser::Text(text) if width == 8 => {
                let text = self.frame.program.unit(info.unit).str(*text);
                Some(self.pool.constant(width, character(text, key.offset)?))
            }
            Initialiser::Items { items, complete } => {
                let item = items.iter().find(|item| i64::try_from(item.offset) == Ok(key.offset));
                match item.map(|item| item.value) {
                    Some(Constant::Int { bits, value }) if bits == u16::from(width) => {
                        Some(self.pool.constant(width, value))
                    }
                    Some(Constant::Null) => Some(self.pool.constant(width, 0)),
                    Some(_) => None,
                    None => complete.then(|| self.pool.constant(width, 0)),
                }
            }
            _ => None,
        }
    }

    /// The numbers in a run of bytes of a constant global whose other bytes are all zero. None: not all of it is known.
    fn constant_cells(&mut self, from: Key, bytes: u64) -> Option<Vec<(Key, Content)>> {
        let Origin::Global(global) = self.origin(from.base) else { return None };
        let declaration = self.frame.program.global(global).declaration;
        let items = match &declaration.init {
            _ if !declaration.is_const => return None,
            Initialiser::Zero => return Some(Vec::new()),
            Initialiser::Items { items, complete: true } => items,
            _ => return None,
        };
        let end = from.offset.checked_add(i64::try_from(bytes).ok()?)?;
        let mut cells = Vec::new();
        for item in items {
            let offset = i64::try_from(item.offset).ok()?;
            if !(from.offset..end).contains(&offset) {
                continue;
            }
            let Constant::Int { bits: bits @ ..=64, value } = item.value else { return None };
            let (width, key) = (u8::try_from(bits).ok()?, Key { base: from.base, offset });
            let value = self.pool.constant(width, value);
            cells.push((key, self.content(key, value, u64::from(width).div_ceil(8), Class::Other)));
        }
        (cells.len() <= BOUNDS.constant_cells).then_some(cells)
    }

    pub(crate) fn store(
        &mut self,
        state: &mut State,
        address: TermId,
        value: TermId,
        ty: Type,
        class: Class,
        inst: InstId,
    ) {
        let key = self.key(address);
        let bytes = bytes_of(ty);
        if let Some(object) = state.tracked {
            let held = state.memory.overlapping(key, bytes).any(|(_, c)| self.cell_points_to(c, object));
            let holds = self.points_to(value, object);
            if held && !holds {
                state.trail.add(inst, Event::Overwritten);
            }
            if holds {
                state.trail.add(inst, Event::Stored);
            }
        }
        if self.is_relinked(state, key, bytes, value, inst) {
            self.settle(state, Ownership::Kept);
        }
        self.forget_siblings(state, key, class, inst);
        let has_room = state.memory.len() < self.world.config.max_cells || state.memory.get(key).is_some();
        if has_room {
            let content = self.content(key, value, bytes, class);
            state.memory_mut().set(key, content);
        } else {
            state.is_merged = true;
            state.memory_mut().forget_zeroes(key.base);
            self.keep_unseen(state, value);
        }
        if !self.root(key.base).is_some_and(|r| matches!(self.origin(r), Origin::Local(_))) {
            self.touch(state);
        }
    }

    /// A value goes where there is no room to see it: what it points to is held there all the same.
    fn keep_unseen(&mut self, state: &mut State, value: TermId) {
        match state.tracked {
            Some(object) if self.leads_to(state, value, object) => self.settle(state, Ownership::Kept),
            Some(_) => {}
            None => drop(self.root(value).map(|root| state.ownerships.set(root, Ownership::Kept))),
        }
    }

    /// A callee puts something else where memory of others led to the object. A list that is appended to moves its tail on, and
    /// what it does with the rest is the list's affair.
    fn is_relinked(&self, state: &State, key: Key, bytes: u64, value: TermId, inst: InstId) -> bool {
        let Some(object) = state.tracked.filter(|_| self.frame.body.insts[inst].call().is_some()) else { return false };
        let is_others =
            self.root(key.base).is_some_and(|r| !matches!(self.origin(r), Origin::Local(_) | Origin::Block(_)));
        let led = |content: &Content| content.points.is_some() && self.leads_to(state, content.value, object);
        is_others && state.memory.overlapping(key, bytes).any(|(_, c)| led(c)) && !self.leads_to(state, value, object)
    }

    /// Memory that others see has changed.
    pub(crate) fn touch(&mut self, state: &mut State) {
        self.versions += 1;
        state.version = self.versions;
    }

    /// Other elements of an array that may be the one that is written to.
    fn forget_siblings(&mut self, state: &mut State, key: Key, class: Class, inst: InstId) {
        let Some(root) = self.root(key.base) else { return };
        let is_element = self.pool.as_symbol(key.base).is_none();
        if !is_element && !self.indexed.borrow().contains(&root) {
            return;
        }
        let is_sibling = |machine: &Self, at: Key, c: Class, holder: Option<TermId>| {
            holder == Some(root)
                && at.base != key.base
                && c.meets(class)
                && (is_element || machine.pool.as_symbol(at.base).is_none())
        };
        self.forget_where(state, inst, is_sibling);
    }

    /// Cells chosen hold something unknown from now on, except where they hold the object or a block of this path that may
    /// hold it in turn: who may or may not hold it goes on holding it.
    pub(crate) fn forget_where(
        &mut self,
        state: &mut State,
        inst: InstId,
        choose: impl Fn(&Self, Key, Class, Option<TermId>) -> bool,
    ) {
        self.forget_but_left(state, inst, choose, |_, _| Left::default());
    }

    /// The same, where it is known of a class what is left of it.
    pub(crate) fn forget_but_left(
        &mut self,
        state: &mut State,
        inst: InstId,
        choose: impl Fn(&Self, Key, Class, Option<TermId>) -> bool,
        left: impl Fn(&Self, Class) -> Left,
    ) {
        self.charge_for_cells(state);
        let mut chosen: Vec<(Key, Class, TermId)> = Vec::new();
        for (key, content) in state.memory.iter() {
            if choose(self, key, content.class, content.holder) && !self.may_hold(state, content) {
                chosen.push((key, content.class, content.value));
            }
        }
        chosen.extend(self.chosen_at_first(&state.memory, 0, &choose));
        self.forget_cells(state, inst, (chosen, 0), left);
    }

    /// A call looks through all cells.
    pub(crate) fn charge_for_cells(&mut self, state: &State) {
        let cells = state.memory.len() + self.symbols.initial_cells().len();
        self.steps += cells / self.world.config.cells_per_step.max(1);
    }

    /// Of the cells that were read first, from one on, those chosen in which nothing was written since.
    pub(crate) fn chosen_at_first(
        &self,
        memory: &Memory,
        from: usize,
        choose: impl Fn(&Self, Key, Class, Option<TermId>) -> bool,
    ) -> Vec<(Key, Class, TermId)> {
        let cells = self.symbols.initial_cells()[from..].iter();
        let chosen = cells.filter(|c| choose(self, c.key, c.class, c.holder) && memory.get(c.key).is_none());
        chosen.map(|cell| (cell.key, cell.class, cell.value)).collect()
    }

    /// Cells hold something unknown from now on. They are numbered, from `first` on, so that each has the same unknown on all paths.
    pub(crate) fn forget_cells(
        &mut self,
        state: &mut State,
        inst: InstId,
        (chosen, first): (Vec<(Key, Class, TermId)>, usize),
        left: impl Fn(&Self, Class) -> Left,
    ) {
        if chosen.is_empty() {
            return;
        }
        let program_point = self.program_point(state, inst);
        for (part, (key, class, before)) in (first..).zip(chosen) {
            let ty = type_of(self.pool.width(before));
            let forgotten = self.unknown(&program_point, Part::Forgotten(part as u32), ty);
            if self.world.config.wants_inputs {
                self.symbols.note_forgotten(forgotten, key);
            }
            let left = left(self, class);
            let value = self.with_left(state, before, left, forgotten);
            let content = self.content(key, value, bytes_of(ty), class);
            state.memory_mut().set(key, content);
        }
    }

    /// Whether a cell holds the object, or a block of this path that may hold it in turn.
    pub(crate) fn may_hold(&self, state: &State, content: &Content) -> bool {
        match state.tracked {
            Some(object) => {
                self.cell_points_to(content, object)
                    || content.points.is_some_and(|root| state.ownership(root) == Some(Ownership::Live))
            }
            // Any caller's object may be the one that matters.
            None => self.follows_all && content.points.is_some_and(|root| self.is_object(root)),
        }
    }

    /// A block of this function, or something it was given.
    pub(crate) fn is_object(&self, root: TermId) -> bool {
        matches!(self.origin(root), Origin::Block(_) | Origin::Param(_))
    }

    /// Forgets what lies in a run of bytes; None: at any offset.
    pub(crate) fn forget_range(&mut self, state: &mut State, address: TermId, bytes: Option<u64>, inst: InstId) {
        let key = self.key(address);
        let end = bytes.map(|b| key.offset.saturating_add(b.min(i64::MAX as u64) as i64));
        match bytes {
            Some(bytes) => state.memory_mut().forget_zeroes_in(key, bytes),
            None => state.memory_mut().forget_zeroes(key.base),
        }
        let inside = |_: &Self, at: Key, _: Class, _: Option<TermId>| {
            at.base == key.base && end.is_none_or(|end| key.offset <= at.offset && at.offset < end)
        };
        self.forget_where(state, inst, inside);
    }

    /// Memory that the function did not make itself: what is in it callers know better.
    fn is_callers(&self, key: Key) -> bool {
        let root = self.root(key.base).map(|root| self.origin(root));
        matches!(root, Some(Origin::Param(_) | Origin::Initial(_)))
    }

    fn is_local(&self, key: Key) -> bool {
        matches!(self.root(key.base).map(|root| self.origin(root)), Some(Origin::Local(_)))
    }

    pub(crate) fn copy(&mut self, state: &mut State, dst: TermId, src: TermId, len: TermId, inst: InstId) {
        let (from, to) = (self.key(src), self.key(dst));
        let bytes = state.facts.value(&self.pool, len);
        // How much goes over may be for the caller to say: `memcpy(element->data, data, size)`.
        if self.follows_all && self.is_callers(from) && (bytes.is_some() || !self.is_local(to)) {
            let len = bytes.map_or(len, |bytes| self.pool.constant(64, bytes));
            Rc::make_mut(&mut state.copies).push((to, from, len));
        }
        let Some(bytes) = bytes else {
            // How much goes over is not known: what held the object may hold it twice now.
            let holds = state.tracked.is_some_and(|object| {
                state.memory.iter().any(|(at, c)| at.base == from.base && self.cell_points_to(c, object))
            });
            if holds && from.base != to.base {
                self.settle(state, Ownership::Kept);
            }
            return self.forget_range(state, dst, None, inst);
        };
        let mut carried: Vec<(Key, Content)> = state.memory.overlapping(from, bytes).map(|(at, c)| (at, *c)).collect();
        for cell in self.symbols.initial_cells() {
            let end = from.offset.saturating_add(bytes as i64);
            if cell.key.base == from.base
                && (from.offset..end).contains(&cell.key.offset)
                && !carried.iter().any(|(known, _)| *known == cell.key)
            {
                let bytes = u64::from(self.pool.width(cell.value)).div_ceil(8);
                carried.push((cell.key, self.content(cell.key, cell.value, bytes, cell.class)));
            }
        }
        if carried.is_empty() {
            carried = self.read_numbers(state, from, bytes, inst);
        }
        let constant = self.constant_cells(from, bytes);
        let zeroed = state.memory.is_zeroed(from, bytes) || constant.is_some();
        carried.extend(constant.into_iter().flatten());
        carried.extend(self.built_cells(from, bytes));
        if let Some(object) = state.tracked
            && state.memory.overlapping(to, bytes).any(|(_, c)| self.cell_points_to(c, object))
        {
            state.trail.add(inst, Event::Overwritten);
        }
        let gone: Vec<Key> = state.memory.overlapping(to, bytes).map(|(at, _)| at).collect();
        for at in gone {
            state.memory_mut().remove(at);
        }
        self.forget_range(state, dst, Some(bytes), inst);
        if zeroed {
            state.memory_mut().zero(to, bytes);
        }
        for (at, content) in carried {
            let offset = to.offset.saturating_add(at.offset.saturating_sub(from.offset));
            let key = Key { base: to.base, offset };
            let content = self.content(key, content.value, content.bytes, content.class);
            state.memory_mut().set(key, content);
        }
        self.touch(state);
    }

    pub(crate) fn fill(&mut self, state: &mut State, dst: TermId, byte: TermId, len: TermId, inst: InstId) {
        let zero = self.pool.as_const(byte) == Some(0);
        let bytes = state.facts.value(&self.pool, len);
        let key = self.key(dst);
        if let Some(object) = state.tracked
            && state.memory.overlapping(key, bytes.unwrap_or(1)).any(|(_, c)| self.cell_points_to(c, object))
        {
            state.trail.add(inst, Event::Overwritten);
        }
        match bytes {
            Some(bytes) if zero => state.memory_mut().zero(key, bytes),
            bytes => self.forget_range(state, dst, bytes, inst),
        }
        self.touch(state);
    }
}
