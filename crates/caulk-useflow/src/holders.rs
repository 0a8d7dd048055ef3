//! Whether a structure that a function is given was there before, or has just been made by a caller.

use caulk_ir::{Body, Inst, InstId, Operand};
use caulk_memory::{Cell, ValueId, ValueNode};
use caulk_program::{FuncId, Program, TypeId};
use caulk_rules::{Rule, Rules};
use rustc_hash::FxHashMap;

use crate::bounds::BOUNDS;
use crate::function::View;
use crate::schedule::Analysis;
use crate::sisters::getter;
use crate::slots::Slot;

/// Whose structure a function works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A parameter's.
    Given(u32),
    /// Found in memory.
    Existing,
    /// Found in a field.
    Behind(Slot),
    /// A static variable.
    Static,
}

/// Answers for the whole program, kept as they are found.
pub(crate) struct Holders<'a> {
    program: &'a Program,
    analysis: &'a Analysis,
    rules: &'a Rules,
    known: FxHashMap<(FuncId, u32, TypeId), bool>,
    /// Which functions set a field to which of their parameters.
    borrowed: FxHashMap<Slot, Vec<(FuncId, u32)>>,
}

impl<'a> Holders<'a> {
    pub(crate) fn new(program: &'a Program, analysis: &'a Analysis, rules: &'a Rules) -> Self {
        let mut borrowed: FxHashMap<Slot, Vec<(FuncId, u32)>> = FxHashMap::default();
        for (function, report) in analysis.reports.iter() {
            for (slot, index) in &report.slots.traffic.borrowed {
                borrowed.entry(*slot).or_default().push((function, *index));
            }
        }
        Self { program, analysis, rules, known: FxHashMap::default(), borrowed }
    }

    /// Whether a structure of a type surely was in use before. Static variables are most often filled once, when a program starts. A
    /// function that makes such structures itself may have just made this one, whatever place it reads it from.
    pub(crate) fn existed(&mut self, function: FuncId, holder: Holder, ty: TypeId) -> bool {
        match holder {
            Holder::Existing => !self.makes(function, ty),
            Holder::Behind(field) => !self.makes(function, ty) && !self.may_be_behind_new(field, ty),
            Holder::Static => false,
            Holder::Given(index) => self.all_give_existing(function, index, ty, BOUNDS.callers_up),
        }
    }

    /// Whether what a field leads to may have just been made by who set the field to it.
    fn may_be_behind_new(&mut self, field: Slot, ty: TypeId) -> bool {
        let setters = self.borrowed.get(&field).cloned().unwrap_or_default();
        let may_be_new = setters.into_iter().any(|(f, index)| !self.all_give_existing(f, index, ty, BOUNDS.callers_up));
        self.rules.applies(Rule::BorrowedHolders, may_be_new)
    }

    /// Whether some caller gives a structure that it has found in memory.
    pub(crate) fn some_existed(&mut self, function: FuncId, holder: Holder, ty: TypeId) -> bool {
        match holder {
            Holder::Existing => !self.makes(function, ty),
            Holder::Behind(field) => !self.makes(function, ty) && !self.may_be_behind_new(field, ty),
            Holder::Static => false,
            Holder::Given(index) => {
                // A function that walks down a tree gives itself what it finds there, whatever state that is in.
                let callers: Vec<FuncId> = self.program.callers(function).filter(|c| *c != function).collect();
                callers.into_iter().any(|caller| self.gives_existing(caller, (function, index), ty, BOUNDS.callers_up))
            }
        }
    }

    /// Whether nothing says that a structure is new: the function does not make such structures, and some caller has found one in
    /// memory, or the function is called through a pointer.
    pub(crate) fn may_have_existed(&mut self, function: FuncId, holder: Holder, ty: TypeId) -> bool {
        let is_called_by_pointer = self.program.callers(function).next().is_none();
        match holder {
            Holder::Given(_) if is_called_by_pointer => !self.makes(function, ty),
            Holder::Static => true,
            _ => !self.makes(function, ty) && self.some_existed(function, holder, ty),
        }
    }

    /// Whether a function is given a structure that its callers have just made, all of them, or those that they have it from.
    pub(crate) fn is_given_new(&self, function: FuncId, holder: Holder, ty: TypeId) -> bool {
        matches!(holder, Holder::Given(_)) && self.is_made_above(function, ty, BOUNDS.callers_up)
    }

    fn is_made_above(&self, function: FuncId, ty: TypeId, depth: u32) -> bool {
        let mut callers = self.program.callers(function).filter(|caller| *caller != function).peekable();
        let is_made = |caller: FuncId| self.makes(caller, ty) || self.is_made_above(caller, ty, depth - 1);
        depth > 0 && callers.peek().is_some() && callers.all(is_made)
    }

    /// Whether there are callers, and all of them give a structure that they have found in memory.
    fn all_give_existing(&mut self, function: FuncId, index: u32, ty: TypeId, depth: u32) -> bool {
        if let Some(&known) = self.known.get(&(function, index, ty)) {
            return known;
        }
        // A cycle of callers says nothing.
        self.known.insert((function, index, ty), false);
        let callers: Vec<FuncId> = self.program.callers(function).collect();
        let all = depth > 0
            && !callers.is_empty()
            && callers.iter().all(|c| self.gives_existing(*c, (function, index), ty, depth));
        self.known.insert((function, index, ty), all);
        all
    }

    fn gives_existing(&mut self, caller: FuncId, (function, index): (FuncId, u32), ty: TypeId, depth: u32) -> bool {
        let Some(body) = self.program.body(caller).filter(|_| !self.makes(caller, ty)) else { return false };
        let sites = self.program.call_sites(caller).iter().filter(|s| self.program.targets(s).contains(&function));
        let calls: Vec<InstId> = sites.map(|site| site.inst).collect();
        calls.into_iter().all(|call| {
            let argument = body.insts[call].call().and_then(|c| c.args.get(index as usize)).copied();
            argument.is_some_and(|argument| self.is_existing(caller, &body, argument, ty, depth))
        })
    }

    fn is_existing(&mut self, caller: FuncId, body: &Body, argument: Operand, ty: TypeId, depth: u32) -> bool {
        let mut seen: Vec<InstId> = Vec::new();
        let mut work = vec![argument];
        while let Some(operand) = work.pop() {
            let Operand::Value(value) = operand else { return false };
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
            match &body.insts[value] {
                Inst::Address { base, .. } => work.push(*base),
                Inst::Cast { value, .. } => work.push(*value),
                Inst::Phi { incoming, .. } => work.extend(incoming.iter().map(|(_, o)| *o)),
                Inst::Select { then, other, .. } => work.extend([*then, *other]),
                // What a local variable holds, or a smart pointer that is one, may have just been made.
                Inst::Load { address, .. } if !is_in_local(body, *address) => {}
                Inst::Param { index, .. } if self.all_give_existing(caller, *index, ty, depth - 1) => {}
                Inst::Call(_) | Inst::Invoke { .. } if self.is_lookup(caller, body, value) => {}
                _ => return false,
            }
        }
        true
    }

    /// A call that gives back what was there before.
    fn is_lookup(&self, caller: FuncId, body: &Body, call: InstId) -> bool {
        let first = body.insts[call].call().and_then(|data| data.args.first());
        if first.is_some_and(|first| is_in_local(body, *first)) {
            return false;
        }
        let Some(site) = self.program.call_site(caller, call) else { return false };
        let targets = self.program.targets(site);
        let makes_nothing = |f: &FuncId| self.program.has_body(*f) && !self.analysis.summary(*f).allocates();
        !targets.is_empty() && targets.iter().all(makes_nothing)
    }

    fn makes(&self, function: FuncId, ty: TypeId) -> bool {
        self.analysis.reports[function].slots.made.iter().any(|(made, _)| *made == ty)
    }
}

/// Whether an address is that of a local variable, or of a part of one.
pub(crate) fn is_in_local(body: &Body, mut address: Operand) -> bool {
    while let Operand::Value(value) = address {
        address = match &body.insts[value] {
            Inst::Address { base, .. } => *base,
            Inst::Cast { value, .. } => *value,
            inst => return matches!(inst, Inst::Local { .. }),
        };
    }
    false
}

/// Whose structure a value leads to. None: the function's own, which it has just made.
pub(crate) fn holder_of(view: &View<'_>, base: ValueId) -> Option<Holder> {
    match (view.values.node(base), view.values.root(base)) {
        (ValueNode::Param(index), _) => Some(Holder::Given(index)),
        (ValueNode::Global(_), _) => Some(Holder::Static),
        (_, ValueNode::Local(_) | ValueNode::Nothing) => None,
        (_, ValueNode::Opaque(inst)) => {
            let is_made = match view.calls[inst].as_ref() {
                Some(effect) => effect.unknown || effect.summary.allocates(),
                None => !is_lookup(view, inst),
            };
            let is_made = is_made && getter(view, inst).is_none();
            // What a smart pointer that is a local variable leads to may have just been made.
            let first = view.argument(inst, 0);
            let is_held_here = first.is_some_and(|first| is_in_local(view.body, first));
            (!is_made && !is_held_here).then_some(Holder::Existing)
        }
        (ValueNode::Load(from, offset), _) => {
            Some(view.values.own_field(Cell { base: from, offset }).map_or(Holder::Existing, Holder::Behind))
        }
        _ => Some(Holder::Existing),
    }
}

/// Whether a call does nothing to memory that its caller can see: what it gives back was there before.
fn is_lookup(view: &View<'_>, call: InstId) -> bool {
    let targets = view.program.call_site(view.id, call).map(|site| view.program.targets(site)).unwrap_or_default();
    !targets.is_empty() && targets.iter().all(|f| view.program.has_body(*f))
}
