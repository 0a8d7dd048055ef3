//! Blocks that hang on an object and point back to it: the nodes of a list, whose last one leads to the head again.
//!
//! Such a block holds nothing. It lasts as long as the object does, so a reference in it keeps nothing alive.

use caulk_ir::{Inst, InstId, Operand};
use caulk_memory::{AccessPath, Cell, PathRoot, ValueId, ValueNode};
use caulk_rules::Rule;
use caulk_summary::{Action, Destination, Subject};
use rustc_hash::FxHashMap;

use crate::bounds::BOUNDS;
use crate::function::{Resolved, View};

/// Where a block goes, as far as one instruction tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    Nowhere,
    /// Below the object.
    Down,
    Elsewhere,
}

impl View<'_> {
    /// Whether a block that the function made is to be found below `own` and nowhere else.
    pub(crate) fn hangs_on(&mut self, block: ValueId, own: ValueId) -> bool {
        if let Some(known) = self.hanging.get(&(block, own)) {
            return *known;
        }
        let hangs = self.config.rules.is_on(Rule::BackLinks) && self.goes_down_only(block, own);
        self.config.rules.note(Rule::BackLinks, usize::from(hangs));
        self.hanging.insert((block, own), hangs);
        hangs
    }

    /// Whether the function puts a pointer to something into a field of the object.
    pub(crate) fn leads_to_part(&self, own: ValueId, part: ValueId) -> bool {
        let is_at = |operand: Operand, base: ValueId| self.values.of_operand(operand).is_some_and(|c| c.base == base);
        own != part
            && self.body.insts.values().any(|inst| match inst {
                Inst::Store { value, address, .. } => is_at(*value, part) && is_at(*address, own),
                _ => false,
            })
    }

    fn goes_down_only(&self, block: ValueId, own: ValueId) -> bool {
        let ValueNode::Opaque(made) = self.values.node(block) else { return false };
        if block == own || self.calls[made].is_none() {
            return false;
        }
        let mut names = vec![block];
        let mut is_linked = false;
        let mut next = 0;
        while let Some(&name) = names.get(next) {
            next += 1;
            for (inst, kind) in self.body.insts.iter() {
                if let Inst::Phi { incoming, .. } = kind {
                    let is_chosen = incoming.iter().any(|(_, value)| self.is_into(*value, name));
                    let choice = self.values.of_inst(inst).map(|cell| cell.base).filter(|_| is_chosen);
                    names.extend(choice.filter(|c| !names.contains(c)));
                }
                match self.goes(inst, name, own, &names) {
                    Goes::Nowhere => {}
                    Goes::Down => is_linked = true,
                    Goes::Elsewhere => return false,
                }
            }
            if names.len() > BOUNDS.names_of_block {
                return false;
            }
        }
        is_linked
    }

    /// Whether a block that the function made is surely put where others find it, by a store or a callee that is known to keep it.
    pub(crate) fn is_put_elsewhere(&self, block: ValueId, own: ValueId) -> bool {
        let names = [block];
        let is_known = |inst: InstId| self.calls[inst].as_ref().is_none_or(|effect| !effect.unknown);
        let is_plain = |inst: InstId| !matches!(self.body.insts[inst], Inst::Return { .. });
        let is_local = |inst: InstId| match &self.body.insts[inst] {
            Inst::Store { address, .. } => {
                let cell = self.values.of_operand(*address);
                cell.is_none_or(|c| matches!(self.values.root(c.base), ValueNode::Local(_)))
            }
            _ => false,
        };
        let mentions = self.mentions.get_or_init(|| self.mentions());
        let mut mentioned = mentions.get(&block).into_iter().flatten().copied();
        mentioned.any(|inst| {
            let counts = is_plain(inst) && is_known(inst) && !is_local(inst);
            counts && self.goes(inst, block, own, &names) == Goes::Elsewhere
        })
    }

    /// The stores, returns and calls that are given a value. Large functions are asked about thousands of values, so that no question
    /// may go through all instructions.
    fn mentions(&self) -> FxHashMap<ValueId, Vec<InstId>> {
        let mut mentions: FxHashMap<ValueId, Vec<InstId>> = FxHashMap::default();
        let mut note = |inst: InstId, operand: Operand| {
            if let Some(cell) = self.values.of_operand(operand) {
                mentions.entry(cell.base).or_default().push(inst);
            }
        };
        for (inst, kind) in self.body.insts.iter() {
            match kind {
                Inst::Store { value, .. } | Inst::Return { value: Some(value) } => note(inst, *value),
                kind => kind.call().into_iter().flat_map(|call| &call.args).for_each(|arg| note(inst, *arg)),
            }
        }
        mentions
    }

    /// Whether what a field of the object leads to, and which leads back to the object, is put where others find it. A callee has
    /// made it, put it into that field, and returned it.
    pub(crate) fn is_part_put_elsewhere(&mut self, part: ValueId, own: ValueId) -> bool {
        if let Some(known) = self.put_elsewhere.get(&(part, own)) {
            return *known;
        }
        let is_put = self.finds_part_elsewhere(part, own);
        self.put_elsewhere.insert((part, own), is_put);
        is_put
    }

    fn finds_part_elsewhere(&mut self, part: ValueId, own: ValueId) -> bool {
        let ValueNode::Load(base, offset) = self.values.node(part) else { return false };
        if base != own {
            return false;
        }
        let body = self.body;
        let calls: Vec<InstId> = body.insts.keys().filter(|inst| self.calls[*inst].is_some()).collect();
        calls.into_iter().any(|inst| {
            let Some(made) = self.values.of_inst(inst).map(|cell| cell.base) else { return false };
            self.fills_and_returns(inst, Cell { base, offset }) && self.is_put_elsewhere(made, own)
        })
    }

    /// Whether a call returns the block that it has put into a cell.
    fn fills_and_returns(&mut self, inst: InstId, cell: Cell) -> bool {
        let Some(effect) = self.calls[inst].clone() else { return false };
        let actions = &effect.summary.actions;
        let is_returned = |subject: &Subject| {
            let to_return = Destination::Store(AccessPath::root(PathRoot::Return));
            actions.iter().any(|a| a.subject == *subject && a.to == to_return)
        };
        actions.iter().any(|action| match (&action.subject, &action.to) {
            (subject @ Subject::Alloc(_), Destination::Store(to)) if !to.steps.is_empty() && is_returned(subject) => {
                matches!(self.resolve(inst, to), Some(Resolved::Cell(filled)) if filled == cell)
            }
            _ => false,
        })
    }

    fn is_into(&self, operand: Operand, block: ValueId) -> bool {
        self.values.of_operand(operand).is_some_and(|cell| cell.base == block)
    }

    fn goes(&self, inst: InstId, block: ValueId, own: ValueId, names: &[ValueId]) -> Goes {
        match &self.body.insts[inst] {
            Inst::Store { value, address, .. } if self.is_into(*value, block) => self.place_of(*address, own, names),
            Inst::Return { value: Some(value) } if self.is_into(*value, block) => Goes::Elsewhere,
            kind => match kind.call() {
                Some(call) => {
                    let given = call.args.iter().enumerate().filter(|(_, arg)| self.is_into(**arg, block));
                    given.map(|(index, _)| self.given(inst, index as u32, own, names)).fold(Goes::Nowhere, worse)
                }
                None => Goes::Nowhere,
            },
        }
    }

    fn place_of(&self, address: Operand, own: ValueId, names: &[ValueId]) -> Goes {
        match self.values.of_operand(address) {
            Some(cell) if self.values.is_reached_from(cell.base, own) => Goes::Down,
            Some(cell) if names.iter().any(|name| self.values.is_reached_from(cell.base, *name)) => Goes::Nowhere,
            _ => Goes::Elsewhere,
        }
    }

    /// The outcome of a block that a call is given.
    fn given(&self, inst: InstId, index: u32, own: ValueId, names: &[ValueId]) -> Goes {
        let Some(effect) = &self.calls[inst] else { return Goes::Nowhere };
        if effect.unknown {
            return Goes::Elsewhere;
        }
        let is_of_param = |a: &&Action| matches!(&a.subject, Subject::Value(path) if path.root == PathRoot::Param(index) && path.steps.is_empty());
        let goes = |action: &Action| match &action.to {
            Destination::Free { .. } | Destination::Renew => Goes::Nowhere,
            Destination::Keep | Destination::Unknown => Goes::Elsewhere,
            Destination::Store(to) => match to.root {
                PathRoot::Param(other) => match self.body.insts[inst].call().and_then(|c| c.args.get(other as usize)) {
                    Some(holder) => self.place_of(*holder, own, names),
                    None => Goes::Elsewhere,
                },
                PathRoot::Return | PathRoot::Global(_) => Goes::Elsewhere,
            },
        };
        effect.summary.actions.iter().filter(is_of_param).map(goes).fold(Goes::Nowhere, worse)
    }
}

fn worse(one: Goes, other: Goes) -> Goes {
    match (one, other) {
        (Goes::Elsewhere, _) | (_, Goes::Elsewhere) => Goes::Elsewhere,
        (Goes::Down, _) | (_, Goes::Down) => Goes::Down,
        _ => Goes::Nowhere,
    }
}
