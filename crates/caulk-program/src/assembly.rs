//! Puts the constraints of all bodies and of all initialisers together, with one number for each node.

use caulk_ir::Constant;
use caulk_ir::entity::Entity;
use rustc_hash::FxHashMap;

use crate::config::ProgramConfig;
use crate::facts::{Facts, Key, Value, World};
use crate::ids::GlobalVarId;
use crate::pointers::Problem;

/// The problem under construction. Once made, no new fields or variables may be numbered.
pub(crate) struct Assembly<'a> {
    world: &'a World<'a>,
    /// The number of each field and variable; the rest is numbered by position.
    slots: FxHashMap<Key, u32>,
    /// In the order of their numbers.
    slot_keys: Vec<Key>,
    first_slot: u32,
    /// Where the locals of each chunk begin.
    chunk_starts: Vec<u32>,
    escaped: Vec<bool>,
    pub problem: Problem,
}

impl<'a> Assembly<'a> {
    pub(crate) fn new(world: &'a World<'a>, facts: &[Facts], config: &ProgramConfig) -> Self {
        let mut next = world.frames.len();
        let mut chunk_starts = Vec::with_capacity(facts.len());
        for chunk in facts {
            chunk_starts.push(next);
            next += chunk.locals;
        }
        let problem = Problem {
            functions: world.linked.functions.len() as u32,
            max_values: config.max_values,
            ..Problem::default()
        };
        let escaped = vec![false; world.globals.len()];
        let mut this = Self {
            world,
            slots: FxHashMap::default(),
            slot_keys: Vec::new(),
            first_slot: next,
            chunk_starts,
            escaped,
            problem,
        };
        for (chunk, facts) in facts.iter().enumerate() {
            this.chunk(chunk, facts);
            this.number_sites(chunk, facts);
        }
        this.globals();
        this.problem.nodes = this.first_slot + this.slot_keys.len() as u32;
        this
    }

    /// Calls may go through fields that nothing is ever stored to; they need numbers as well.
    fn number_sites(&mut self, chunk: usize, facts: &Facts) {
        for site in &facts.sites {
            self.node(chunk, site.callee);
            site.args.iter().for_each(|&(_, key)| {
                self.node(chunk, key);
            });
            site.ret.iter().for_each(|&key| {
                self.node(chunk, key);
            });
        }
    }

    pub(crate) fn node(&mut self, chunk: usize, key: Key) -> u32 {
        match key {
            Key::Frame(node) => node,
            Key::Local(local) => self.chunk_starts[chunk] + local,
            Key::Field(..) | Key::Global(..) => {
                let next = self.first_slot + self.slot_keys.len() as u32;
                let node = *self.slots.entry(key).or_insert(next);
                if node == next {
                    self.slot_keys.push(key);
                }
                node
            }
        }
    }

    fn value(&mut self, chunk: usize, value: Value) -> u32 {
        match value {
            Value::Function(function) => function.0,
            Value::Address(key) => self.problem.functions + self.node(chunk, key),
        }
    }

    fn chunk(&mut self, chunk: usize, facts: &Facts) {
        facts.escaped.iter().for_each(|g| self.escaped[g.index()] = true);
        for &(from, to) in &facts.edges {
            let edge = (self.node(chunk, from), self.node(chunk, to));
            self.problem.edges.push(edge);
        }
        for &(node, value) in &facts.values {
            let pair = (self.node(chunk, node), self.value(chunk, value));
            self.problem.values.push(pair);
        }
        for &(pointer, to) in &facts.loads {
            let load = (self.node(chunk, pointer), self.node(chunk, to));
            self.problem.loads.push(load);
        }
        for &(from, pointer) in &facts.stores {
            let store = (self.node(chunk, from), self.node(chunk, pointer));
            self.problem.stores.push(store);
        }
    }

    /// Initialisers, and the ties between variables and the fields of their types.
    fn globals(&mut self) {
        let world = self.world;
        for id in world.globals.keys() {
            let map = world.map(world.linked.globals[id].unit);
            let shape = world.globals[id];
            if shape.is_vtable {
                continue;
            }
            world.for_each_item(id, |offset, value| {
                let key = Key::Global(id, self.part(id, offset));
                match value {
                    Constant::Function(function) => {
                        let node = self.node(0, key);
                        self.problem.values.extend(map.functions.get(function).iter().map(|t| (node, t.0)));
                    }
                    Constant::Global { global, .. } => {
                        let target = map.globals.first(global);
                        self.escaped[target.index()] = true;
                        if world.globals[target].carries {
                            let node = self.node(0, key);
                            let value = self.value(0, Value::Address(Key::Global(target, 0)));
                            self.problem.values.push((node, value));
                        }
                    }
                    _ => {}
                }
            });
        }
        self.tie_to_fields();
        self.tie_programs();
    }

    /// The offset that stands for a part of a variable.
    fn part(&self, id: GlobalVarId, offset: u64) -> u32 {
        match self.world.globals[id].ty.filter(|&t| self.world.types.get(t).size > 0) {
            Some(ty) => self.world.types.spot(ty, offset).outer as u32,
            None => 0,
        }
    }

    /// A variable whose address went somewhere is read, and unless constant also written, through pointers to its
    /// type.
    fn tie_to_fields(&mut self) {
        for index in 0..self.slot_keys.len() {
            let Key::Global(id, offset) = self.slot_keys[index] else { continue };
            let shape = self.world.globals[id];
            let Some(ty) = shape.ty.filter(|_| self.escaped[id.index()]) else { continue };
            let spot = self.world.types.spot(ty, u64::from(offset));
            let global = self.first_slot + index as u32;
            for spot in self.world.types.overlapping(spot) {
                let field = self.node(0, Key::Field(spot.ty, spot.offset as u32));
                self.problem.edges.push((global, field));
                if !shape.is_const {
                    self.problem.edges.push((field, global));
                }
            }
        }
    }

    /// A reference that means different variables in different programs: what is known of one holds for all. Bodies
    /// refer to the first.
    fn tie_programs(&mut self) {
        let several: Vec<Vec<GlobalVarId>> =
            self.world.linked.units.iter().flat_map(|u| u.globals.several()).map(<[_]>::to_vec).collect();
        if several.is_empty() {
            return;
        }
        let mut parts: FxHashMap<GlobalVarId, Vec<u32>> = FxHashMap::default();
        for key in &self.slot_keys {
            if let Key::Global(id, offset) = *key {
                parts.entry(id).or_default().push(offset);
            }
        }
        for group in several {
            let mut offsets: Vec<u32> = group.iter().filter_map(|id| parts.get(id)).flatten().copied().collect();
            offsets.sort_unstable();
            offsets.dedup();
            for offset in offsets {
                let nodes: Vec<u32> = group.iter().map(|&id| self.node(0, Key::Global(id, offset))).collect();
                for &node in &nodes[1..] {
                    self.problem.edges.extend([(nodes[0], node), (node, nodes[0])]);
                }
            }
        }
    }
}
