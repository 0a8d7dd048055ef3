//! Nodes taken out of a list: `*link = node->next`, and who owns the node then.
//!
//! A node that was in the list before has no owner once it is unlinked. Whether the list owned its nodes is not known from
//! one function: where other code frees what it unlinks from there, it did (the design's "Owning slots").

use caulk_ir::{CompareOp, Inst, InstId, Operand, Type, VarId};
use caulk_memory::{Cell, Offset, ValueId, ValueNode};
use caulk_program::{FuncId, GlobalVarId, Program, TypeId};
use caulk_rules::{Rule, Rules};
use caulk_summary::{Destination, Event, Subject};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::alternative::{Alternative, Status};
use crate::candidate::{Candidate, Loss};
use crate::function::View;
use crate::ground::Ground;
use crate::history::NONE;
use crate::listed::{Listed, is_place_in_list};
use crate::propagate::{Propagation, Start};
use crate::schedule::Analysis;
use crate::slots::Slot;
use crate::summarize::{Ownership, Summarizer};

/// A node that a function takes out of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlink {
    pub store: InstId,
    /// The field that links nodes.
    pub link: Slot,
    pub place: PointedBy,
    /// The node says itself what points to it: `*node->before = node->next`, as the macros of `sys/queue.h` have it.
    pub by_itself: bool,
    /// The variable that holds the node.
    pub variable: Option<VarId>,
    pub end: End,
}

/// What pointed to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PointedBy {
    /// The link of the node before, or whatever a pointer that walks along the links points to.
    Link,
    /// A field of another structure: the head of a list, or a position in it.
    Field(Slot),
    Global(GlobalVarId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Freed on some way.
    Freed,
    /// It has no owner when the function is left.
    Left,
}

impl Summarizer<'_> {
    /// Follows the nodes that the function takes out of lists.
    pub(crate) fn unlinks(&mut self) -> Vec<Unlink> {
        let body = self.view.body;
        let stores = body.insts.keys().filter_map(|inst| taken(&self.view, inst));
        let rules = &self.view.config.rules;
        let is_cursor = |taken: &Taken| rules.applies(Rule::ListCursors, is_put_back(&self.view, taken));
        let stores: Vec<Taken> = stores.filter(|taken| !is_cursor(taken)).collect();
        // Its neighbours on both sides forget it, one after the other.
        let is_again =
            |at: usize| stores[at + 1..].iter().any(|later| later.by_itself && later.node == stores[at].node);
        let again: Vec<bool> = (0..stores.len()).map(|at| stores[at].by_itself && is_again(at)).collect();
        let stores = stores.into_iter().zip(again).filter(|(_, again)| !again).map(|(taken, _)| taken);
        stores.collect::<Vec<_>>().into_iter().filter_map(|taken| self.follow_taken(&taken)).collect()
    }

    fn follow_taken(&mut self, taken: &Taken) -> Option<Unlink> {
        let mut first = Alternative::new(self.history.add(NONE, taken.store, Event::Given));
        first.own = Some(taken.node);
        let variable = variable_of(&self.view, taken.name);
        if self.is_freed_before(taken) {
            return Some(Unlink { end: End::Freed, ..taken.unlink(variable) });
        }
        first.vars.extend(variable);
        for name in self.names_of(taken) {
            first.add_name(name);
        }
        let flow = Propagation::run(&mut self.view, &mut self.history, Start::After(taken.store), vec![first]);
        let statuses = flow.exits.iter().map(|(_, a)| a.status);
        let is_taken = statuses.clone().any(|s| matches!(s, Status::Kept | Status::Unknown));
        if statuses.clone().any(|s| s == Status::Freed) {
            return Some(Unlink { end: End::Freed, ..taken.unlink(variable) });
        }
        let is_left = !flow.exits.is_empty()
            && flow.exits.iter().all(|exit| matches!(self.ownership(exit, None), Ownership::Leaked));
        let is_held = || taken.by_itself && self.is_held_besides(taken);
        (is_left && !is_taken && !is_held()).then(|| taken.unlink(variable))
    }

    /// Whether something besides the list held a node before it was taken out: the place it was read from, or one that it was stored to.
    fn is_held_besides(&self, taken: &Taken) -> bool {
        let view = &self.view;
        let is_node = |operand: &Operand| view.values.of_operand(*operand).is_some_and(|at| at.base == taken.node);
        let is_stored = view.body.insts.values().any(|inst| match inst {
            Inst::Store { ty: Type::Ptr, value, address, .. } => is_node(value) && !is_node(address),
            _ => false,
        });
        let is_read_elsewhere = match view.values.node(taken.node) {
            ValueNode::Load(base, offset) => {
                let slot = view.values.own_field(Cell { base, offset });
                !slot.is_some_and(|slot| is_place_in_list(view.program, slot, taken.link.0))
            }
            _ => false,
        };
        is_stored || is_read_elsewhere
    }

    /// All values that are the node where it is taken out: it may have been read several times from what pointed to it.
    fn names_of(&self, taken: &Taken) -> Vec<InstId> {
        let view = &self.view;
        let here = view.homes[taken.store];
        let is_before = |inst: InstId| match view.homes[inst] == here {
            true => inst < taken.store,
            false => view.dominators().dominates(view.homes[inst], here),
        };
        let is_node = |inst: InstId| {
            let cell = view.values.of_inst(inst);
            // Links lead into the middle of the structures that they lie in.
            cell.is_some_and(|cell| cell.base == taken.node && (cell.offset == Offset::ZERO || taken.by_itself))
        };
        let is_name = |kind: &Inst| {
            matches!(kind, Inst::Load { .. }) || (taken.by_itself && matches!(kind, Inst::Address { .. }))
        };
        let loads = view.body.insts.iter().filter(|(_, kind)| is_name(kind)).map(|(inst, _)| inst);
        let again = loads.filter(|inst| *inst != taken.name && is_before(*inst) && is_node(*inst));
        // The list was gone through to find it: `while (*link != node) link = &(*link)->next;`.
        let sought = view.body.insts.values().filter_map(|kind| match kind {
            Inst::Compare {
                op: CompareOp::Eq | CompareOp::Ne,
                lhs: Operand::Value(lhs),
                rhs: Operand::Value(rhs),
                ..
            } => match (is_node(*lhs), is_node(*rhs)) {
                (true, false) => Some(*rhs),
                (false, true) => Some(*lhs),
                _ => None,
            },
            _ => None,
        });
        std::iter::once(taken.name).chain(again).chain(sought.filter(|inst| *inst < taken.store)).collect()
    }

    /// `next = list->first->next; free(list->first); list->first = next;`
    fn is_freed_before(&mut self, taken: &Taken) -> bool {
        let body = self.view.body;
        let here = self.view.homes[taken.store];
        let calls: Vec<InstId> = body.blocks[here].insts().take_while(|inst| *inst != taken.store).collect();
        calls.into_iter().any(|call| {
            let Some(effect) = self.view.calls[call].clone() else { return false };
            effect.summary.actions.iter().any(|action| match (&action.subject, &action.to) {
                (Subject::Value(path), Destination::Free { .. }) => {
                    self.view.resolve_value(call, path) == Some(taken.node)
                }
                _ => false,
            })
        })
    }
}

/// The variable that a value is assigned to where it is made; for a phi, the one that all it is chosen from are assigned to.
fn variable_of(view: &View<'_>, name: InstId) -> Option<VarId> {
    let body = view.body;
    let bound = |to: Operand, is_near: bool| {
        body.insts.iter().filter_map(move |(inst, kind)| match kind {
            Inst::Bind { var, value } if *value == to && (!is_near || view.homes[inst] == view.homes[name]) => {
                Some(*var)
            }
            _ => None,
        })
    };
    let own = bound(name.into(), true).next();
    own.or_else(|| match &body.insts[name] {
        Inst::Phi { incoming, .. } => {
            let (first, rest) = incoming.split_first()?;
            bound(first.1, false).find(|var| rest.iter().all(|(_, o)| bound(*o, false).any(|v| v == *var)))
        }
        _ => None,
    })
}

/// A store that takes a node out of a list.
struct Taken {
    store: InstId,
    node: ValueId,
    /// The instruction whose value is the node.
    name: InstId,
    link: Slot,
    place: PointedBy,
    by_itself: bool,
}

impl Taken {
    fn unlink(&self, variable: Option<VarId>) -> Unlink {
        let (by_itself, end) = (self.by_itself, End::Left);
        Unlink { store: self.store, link: self.link, place: self.place, by_itself, variable, end }
    }
}

/// `C = N->next`, where C held N and `next` links structures of one type.
fn taken(view: &View<'_>, store: InstId) -> Option<Taken> {
    let Inst::Store { ty: Type::Ptr, value: Operand::Value(next), address, .. } = view.body.insts[store] else {
        return None;
    };
    let Inst::Load { address: Operand::Value(at), .. } = view.body.insts[next] else { return None };
    let from = view.values.of_inst(at)?;
    let link = view.values.own_field(from).filter(|slot| is_link(view, *slot))?;
    let name = node_of(view, at)?;
    let cell = view.values.of_operand(address)?;
    let holds_node = view.values.node(from.base) == ValueNode::Load(cell.base, cell.offset);
    let by_itself = !holds_node && view.config.rules.applies(Rule::OwnLinks, unlinks_itself(view, cell, from, link));
    if !(holds_node || by_itself || is_step_behind(view, cell, from)) {
        return None;
    }
    let place = if by_itself { PointedBy::Link } else { place_of(view, cell, link)? };
    Some(Taken { store, node: from.base, name, link, place, by_itself })
}

/// Whether a cell is what a node says to point to it: `*node->before`, of the link that leads on from the node, or `node->before->next`.
fn unlinks_itself(view: &View<'_>, cell: Cell, from: Cell, link: Slot) -> bool {
    let ValueNode::Load(node, Offset::Known(back)) = view.values.node(cell.base) else { return false };
    let Offset::Known(next) = from.offset else { return false };
    let Ok(back) = u64::try_from(back - next + link.1 as i64) else { return false };
    let types = view.program.types();
    let (forward, backward) = (types.spot(link.0, link.1), types.spot(link.0, back));
    let (Some(on), Some(before)) = (types.field(forward), types.field(backward)) else { return false };
    node == from.base
        && forward.ty == backward.ty
        && on.target == before.target
        && match before.pointee.depth {
            2 => cell.offset == Offset::ZERO,
            1 => {
                before.offset != on.offset
                    && (cell.offset == from.offset || cell.offset == Offset::Known(forward.offset as i64))
            }
            _ => false,
        }
}

/// Whether what held the node is a cursor for a while: it gets back what it held before the loop that the node is taken out in.
fn is_put_back(view: &View<'_>, taken: &Taken) -> bool {
    let Inst::Store { address, .. } = view.body.insts[taken.store] else { return false };
    let cell = view.values.of_operand(address);
    let home = view.homes[taken.store];
    let is_same = |address: Operand| cell.is_some() && view.values.of_operand(address) == cell;
    let is_older = |value: InstId| {
        let Inst::Load { address, .. } = view.body.insts[value] else { return false };
        let before = view.homes[value];
        is_same(address) && before != home && view.dominators().dominates(before, home)
    };
    view.body.insts.values().any(|inst| match inst {
        Inst::Store { ty: Type::Ptr, value: Operand::Value(value), address, .. } => {
            is_same(*address) && is_older(*value)
        }
        _ => false,
    })
}

/// A field by which structures of one type are linked to each other, be it in a part of them; or parts of one type that lie in them.
fn is_link(view: &View<'_>, slot: Slot) -> bool {
    let types = view.program.types();
    let spot = types.spot(slot.0, slot.1);
    let is_own = |target| target == slot.0 || target == spot.ty;
    types.field(spot).is_some_and(|field| field.pointee.depth == 1 && field.target.is_some_and(is_own))
}

/// The pointer to a structure that the address of a field is computed from.
fn node_of(view: &View<'_>, mut at: InstId) -> Option<InstId> {
    while let Inst::Address { base: Operand::Value(base), .. } = view.body.insts[at] {
        at = base;
    }
    matches!(view.body.insts[at], Inst::Load { .. } | Inst::Phi { .. }).then_some(at)
}

/// `before->next = node->next` in a loop where `before` is always the node of the round before.
fn is_step_behind(view: &View<'_>, cell: Cell, from: Cell) -> bool {
    let (ValueNode::Opaque(before), ValueNode::Opaque(node)) =
        (view.values.node(cell.base), view.values.node(from.base))
    else {
        return false;
    };
    let Inst::Phi { incoming, .. } = &view.body.insts[before] else { return false };
    let is_same_block = view.homes[before] == view.homes[node];
    cell.offset == from.offset && is_same_block && incoming.iter().any(|(_, o)| *o == Operand::Value(node))
}

/// What a cell is that pointed to a node. None: a variable of the function, or something that cannot be told.
fn place_of(view: &View<'_>, cell: Cell, link: Slot) -> Option<PointedBy> {
    match (view.values.own_field(cell), view.values.node(cell.base)) {
        (Some(slot), _) if slot == link => Some(PointedBy::Link),
        (_, ValueNode::Local(_)) => None,
        (Some(slot), _) => Some(PointedBy::Field(slot)),
        (None, ValueNode::Global(global)) => Some(PointedBy::Global(global)),
        (None, ValueNode::Opaque(phi)) => walks_links(view, phi, link).then_some(PointedBy::Link),
        _ => None,
    }
}

/// Whether a pointer goes from link to link: `link = &node->next`.
fn walks_links(view: &View<'_>, phi: InstId, link: Slot) -> bool {
    let mut choices = vec![phi];
    let mut next = 0;
    while let Some(&choice) = choices.get(next) {
        next += 1;
        let Inst::Phi { incoming, .. } = &view.body.insts[choice] else { continue };
        for (_, operand) in incoming {
            if view.values.of_operand(*operand).and_then(|cell| view.values.own_field(cell)) == Some(link) {
                return true;
            }
            choices.extend(operand.value().filter(|v| !choices.contains(v)));
        }
    }
    false
}

/// Candidates of nodes that are unlinked and left, where other code frees what it unlinks there.
pub(crate) fn left_nodes(program: &Program, rules: &Rules, analysis: &Analysis) -> Vec<Candidate> {
    let mut freed: FxHashSet<(Slot, PointedBy)> = FxHashSet::default();
    let mut made: FxHashMap<TypeId, (FuncId, u32)> = FxHashMap::default();
    for (function, report) in analysis.reports.iter() {
        freed.extend(report.unlinks.iter().filter(|u| u.end == End::Freed).map(|u| (u.link, u.place)));
        for (ty, line) in &report.slots.made {
            made.entry(*ty).or_insert((function, *line));
        }
    }
    let listed = Listed::new(program, analysis);
    let is_freed_elsewhere = |u: &Unlink| match u.place {
        PointedBy::Link if u.by_itself && !listed.is_led_to_by_one_list(u.link.0) => false,
        // The position of a node in the list does not matter for its outcome.
        PointedBy::Link => freed.iter().any(|(link, _)| *link == u.link),
        place => freed.contains(&(u.link, place)),
    };
    let mut candidates = Vec::new();
    for (function, report) in analysis.reports.iter() {
        for unlink in report.unlinks.iter().filter(|u| u.end == End::Left) {
            let Some(origin) = made.get(&unlink.link.0) else { continue };
            let is_only_listed = || unlink.by_itself && listed.is_only_in_one_list(unlink.link.0);
            let ground = match is_freed_elsewhere(unlink) {
                true => Ground::Unlinked,
                false if rules.is_on(Rule::OnlyListed) && rules.applies(Rule::OnlyListed, is_only_listed()) => {
                    Ground::OnlyListed
                }
                false => continue,
            };
            let is_counted = analysis.survey.counted.contains_key(&unlink.link.0);
            let ground = (!is_counted).then_some(ground);
            let loss = Loss::Unlinked(unlink.link);
            let found = Candidate::of_structure(function, unlink.store, loss, *origin, ground);
            candidates.push(Candidate { variable: unlink.variable, ..found });
        }
    }
    candidates
}
