//! What callees may have written: by class, and only where they can reach.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use caulk_memory::Class;
use caulk_program::FuncId;
use caulk_rules::Rule;
use caulk_solver::TermId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::call::Site;
use crate::flags::Left;
use crate::machine::Machine;
use crate::memory::{Content, Memory};
use crate::state::{Ownership, State};
use crate::symbols::{Key, Origin};
use crate::world::World;

/// What memory of this path leads to from what a call is given.
pub(crate) struct Inside {
    objects: SmallVec<[TermId; 4]>,
    /// Places whose address is found there.
    exposed: SmallVec<[Key; 4]>,
}

impl Inside {
    pub(crate) fn has(&self, object: TermId) -> bool {
        self.objects.contains(&object)
    }

    pub(crate) fn places(&self) -> &[Key] {
        &self.exposed
    }
}

/// The objects whose contents lead to an object: itself, the one whose cell held its address at first, and so on.
#[derive(Debug)]
pub(crate) struct Lineage {
    above: SmallVec<[TermId; 4]>,
    /// The last one is a global.
    is_global: bool,
}

/// Functions, and which classes one of them may write, once asked for: a call asks for each cell, mostly about the same few classes.
#[derive(Debug)]
pub(crate) struct Writers {
    functions: SmallVec<[FuncId; 2]>,
    known: RefCell<FxHashMap<Class, bool>>,
}

impl Writers {
    fn write(&self, world: &World<'_>, class: Class) -> bool {
        *self.known.borrow_mut().entry(class).or_insert_with(|| world.any_writes(&self.functions, class))
    }
}

/// What one part of a guarded summary forgot because of the callee's own callees. The other parts forget the same.
pub(crate) struct Forgotten {
    inside: Inside,
    memory: Rc<Memory>,
    /// Cells that were forgotten.
    cells: usize,
    /// Cells that had been read first by then.
    first_reads: usize,
}

/// The argument that leads to an object, or that a global does.
pub(crate) type Reached = (Option<usize>, bool);

impl Machine<'_> {
    fn writers(&self, functions: &[FuncId]) -> Rc<Writers> {
        let mut known = self.writers.borrow_mut();
        if let Some(writers) = known.get(functions) {
            return writers.clone();
        }
        let writers = Rc::new(Writers { functions: functions.into(), known: RefCell::default() });
        known.insert(functions.into(), writers.clone());
        writers
    }

    /// What the callee's own callees may have written, known by class only. `known`: what another way of the callee has forgotten before,
    /// from the same memory.
    pub(crate) fn forget_written_by(
        &mut self,
        state: &mut State,
        site: &Site<'_>,
        opaque: &[FuncId],
        known: &mut Option<Forgotten>,
    ) {
        if opaque.is_empty() {
            return;
        }
        let given: SmallVec<[Option<TermId>; 4]> = site.args.iter().map(|a| self.root(*a)).collect();
        let writers = self.writers(opaque);
        let before = state.memory.clone();
        let known = known.get_or_insert_with(|| Forgotten {
            inside: self.reach(state, &given),
            memory: before.clone(),
            cells: 0,
            first_reads: 0,
        });
        // Cells of one object follow each other.
        let last: Cell<(Option<TermId>, bool)> = Cell::new((None, false));
        let inside = &known.inside;
        let choose = |machine: &Self, class: Class, holder: Option<TermId>| {
            if last.get().0 != holder {
                let is_reached = |root| inside.has(root) || machine.reached_from(root, &given).is_some();
                last.set((holder, holder.is_some_and(is_reached)));
            }
            last.get().1 && writers.write(machine.world, class)
        };
        self.charge_for_cells(state);
        let mut chosen: Vec<(Key, Class, TermId)> = Vec::new();
        if known.first_reads == 0 && known.cells == 0 {
            let cells = before.iter().filter(|(_, c)| choose(self, c.class, c.holder) && !self.may_hold(state, c));
            chosen.extend(cells.map(|(key, content)| (key, content.class, content.value)));
        }
        // What was read first since then is left.
        let is_chosen = |machine: &Self, _: Key, class: Class, holder: Option<TermId>| choose(machine, class, holder);
        chosen.extend(self.chosen_at_first(&before, known.first_reads, is_chosen));
        let (first, count) = (known.cells, chosen.len());
        state.memory = known.memory.clone();
        let first_reads = self.symbols.initial_cells().len();
        // What one way knows to be full another may not, so only bits are left here.
        let left = |machine: &Self, class| Left { bits: machine.world.kept_bits(opaque, class), full: false };
        self.forget_cells(state, site.inst, (chosen, first), left);
        (known.memory, known.cells, known.first_reads) = (state.memory.clone(), first + count, first_reads);
        self.doubt_zeroes(state, (&given, &known.inside), opaque);
    }

    /// Forgets what the callees may have changed: what they can reach by their arguments or by globals, and write to.
    pub(crate) fn forget_modified(&mut self, state: &mut State, site: &Site<'_>) {
        let given: SmallVec<[Option<TermId>; 4]> = site.args.iter().map(|a| self.root(*a)).collect();
        let keys: SmallVec<[Key; 4]> = site.args.iter().map(|a| self.key(*a)).collect();
        let program = self.frame.program;
        let targets = site.targets.clone();
        let is_const = |target: FuncId, index: usize| {
            let declared = program.function(target).declaration;
            declared.params.get(index).is_some_and(|p| p.pointee.is_const || p.flags.read_only)
        };
        let inside = self.reach(state, &given);
        let writers: SmallVec<[Rc<Writers>; 2]> = targets.iter().map(|target| self.writers(&[*target])).collect();
        let fills_structures = self.world.config.rules.is_on(Rule::FilledStructures);
        // A callee that is given a structure as bytes, and writes there, may write any field.
        let is_untyped = |target: FuncId, index: usize| {
            let declared = program.function(target).declaration.params.get(index);
            let is_bytes = declared.is_some_and(|p| p.pointee.target.is_none() && !p.pointee.is_function);
            fills_structures && is_bytes && !is_const(target, index)
        };
        // Cells of one object follow each other.
        let last: Cell<(Option<TermId>, Option<Reached>)> = Cell::new((None, None));
        let choose = |machine: &Self, key: Key, class: Class, holder: Option<TermId>| {
            let Some(root) = holder else { return false };
            if last.get().0 != holder {
                let reached = machine.reached_from(root, &given);
                last.set((holder, reached.or(inside.has(root).then_some((None, false)))));
            }
            let Some((above, is_global)) = last.get().1 else { return false };
            if targets.is_empty() {
                return !is_global;
            }
            targets.iter().zip(&writers).any(|(&target, writers)| {
                if !program.has_body(target) {
                    let is_direct = above.is_some_and(|index| given[index] == Some(root) && !is_const(target, index));
                    return is_direct || (fills_structures && above.is_none() && !is_global && inside.has(root));
                }
                let world = machine.world;
                (matches!(class, Class::Field(..) | Class::Global(_)) && writers.write(world, class))
                    || above.is_some_and(|index| {
                        writers.write(world, Class::Other)
                            && (key == keys[index]
                                || (given[index] == Some(root)
                                    && (!matches!(class, Class::Field(..)) || is_untyped(target, index))))
                    })
                    || (inside.exposed.contains(&key) && writers.write(world, Class::Other))
            })
        };
        let left = |machine: &Self, class: Class| match targets.iter().all(|t| program.has_body(*t)) {
            true => machine.world.left_by(&targets, class),
            false => Left::default(),
        };
        self.forget_but_left(state, site.inst, choose, left);
        for (index, key) in keys.iter().enumerate().filter(|(index, _)| given[*index].is_some()) {
            let fills = |target: &FuncId| match program.has_body(*target) {
                true => is_untyped(*target, index) && self.world.writes(*target, Class::Other),
                false => !is_const(*target, index),
            };
            if targets.iter().any(fills) {
                self.note_filled(*key);
            }
            if targets.iter().any(|target| !program.has_body(*target) && !is_const(*target, index)) {
                self.note_filled_inside(*key);
            }
        }
        if fills_structures && targets.iter().any(|target| !program.has_body(*target)) {
            self.fill_reached(state, &inside);
        }
        let writes_plain = site.targets.iter().any(|t| program.has_body(*t) && self.world.writes(*t, Class::Other));
        for key in inside.exposed.iter().filter(|_| writes_plain) {
            state.memory_mut().forget_zeroes(key.base);
        }
        let writers: SmallVec<[FuncId; 2]> = site.targets.iter().copied().filter(|t| program.has_body(*t)).collect();
        self.doubt_zeroes(state, (&given, &inside), &writers);
        for (index, root) in given.iter().enumerate() {
            let writes = |t: &FuncId| match program.has_body(*t) {
                true => self.world.writes(*t, Class::Other),
                false => !is_const(*t, index),
            };
            if let Some(root) = root
                && (site.targets.is_empty() || site.targets.iter().any(writes))
            {
                state.memory_mut().forget_zeroes(*root);
            }
        }
    }

    /// Follows pointers in the memory of this path from what is given.
    pub(crate) fn reach(&self, state: &State, given: &[Option<TermId>]) -> Inside {
        let mut objects: SmallVec<[TermId; 4]> = given.iter().flatten().copied().collect();
        let (is_led_by, mut exposed) = (objects.len(), SmallVec::new());
        let mut next = 0;
        while let Some(&holder) = objects.get(next) {
            next += 1;
            for (_, content) in state.memory.iter().filter(|(_, c)| c.holder == Some(holder)) {
                let Some(root) = content.points else { continue };
                exposed.push(self.key(content.value));
                if !objects.contains(&root) && objects.len() < is_led_by + BOUNDS.written_objects {
                    objects.push(root);
                }
            }
        }
        objects.drain(..is_led_by);
        Inside { objects, exposed }
    }

    /// The callee has written through an address that it found somewhere: to any place whose address it could find.
    pub(crate) fn forget_exposed(&mut self, state: &mut State, site: &Site<'_>) {
        let given: SmallVec<[Option<TermId>; 4]> = site.args.iter().map(|a| self.root(*a)).collect();
        let inside = self.reach(state, &given);
        self.forget_where(state, site.inst, |_, key, _, _| inside.exposed.contains(&key));
        for key in &inside.exposed {
            state.memory_mut().forget_zeroes(key.base);
        }
    }

    /// Functions may have written to cleared memory that they can reach.
    pub(crate) fn doubt_zeroes(
        &self,
        state: &mut State,
        (given, inside): (&[Option<TermId>], &Inside),
        writers: &[FuncId],
    ) {
        if writers.is_empty() || state.memory.all_zeroes().is_empty() {
            return;
        }
        let is_local = |root: TermId| matches!(self.origin(root), Origin::Local(_)) && !given.contains(&Some(root));
        let is_held = |base: TermId| {
            let holds =
                |content: &Content| content.points == Some(base) && content.holder.is_some_and(|h| !is_local(h));
            state.memory.iter().any(|(_, content)| holds(content))
        };
        let is_reached = |base: TermId| {
            let root = self.root(base).unwrap_or(base);
            let is_kept = || state.ownership(root) == Some(Ownership::Kept);
            inside.has(root) || self.reached_from(root, given).is_some() || is_kept() || is_held(root)
        };
        let reached: Vec<TermId> =
            state.memory.all_zeroes().iter().map(|run| run.base).filter(|base| is_reached(*base)).collect();
        state.memory_mut().doubt_zeroes(writers, |base| reached.contains(&base));
    }

    /// The argument from which loads lead to an object, or that a global leads to it. None: neither.
    pub(crate) fn reached_from(&self, root: TermId, given: &[Option<TermId>]) -> Option<Reached> {
        let line = self.lineage(root);
        let argument = |at: &TermId| given.iter().position(|g| *g == Some(*at));
        match line.above.iter().find_map(argument) {
            Some(index) => Some((Some(index), false)),
            None => line.is_global.then_some((None, true)),
        }
    }

    /// Asked for each cell at each call, so that it is worked out once for each object.
    fn lineage(&self, root: TermId) -> Rc<Lineage> {
        if let Some(Some(known)) = self.lineages.borrow().get(root.index()) {
            return known.clone();
        }
        let line = Rc::new(self.loads_up_from(root));
        let mut lineages = self.lineages.borrow_mut();
        if lineages.len() <= root.index() {
            lineages.resize(root.index() + 1, None);
        }
        lineages[root.index()] = Some(line.clone());
        line
    }

    fn loads_up_from(&self, root: TermId) -> Lineage {
        let mut line = Lineage { above: SmallVec::from_slice(&[root]), is_global: false };
        let mut at = root;
        loop {
            match self.origin(at) {
                Origin::Initial(key) if line.above.len() < BOUNDS.written_loads => match self.root(key.base) {
                    Some(above) => at = above,
                    None => return line,
                },
                Origin::Global(_) => return Lineage { is_global: true, ..line },
                _ => return line,
            }
            line.above.push(at);
        }
    }
}
