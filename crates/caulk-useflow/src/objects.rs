//! Which objects of a function are followed: fresh ones from the calls that make them, and given ones that something is
//! done to.

use caulk_ir::{Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, Cell, Offset, PathRoot, Relation, ValueId, ValueNode};
use caulk_models::FamilyId;
use caulk_program::{FuncId, is_destructor};
use caulk_rules::Rule;
use caulk_summary::birth::{Receiver, hand_out};
use caulk_summary::{Action, AllocId, Destination, Event, Guard, Subject, Summary};
use rustc_hash::FxHashSet;

use crate::alternative::Alternative;
use crate::births::Renewals;
use crate::bounds::BOUNDS;
use crate::cases::start_in_cases;
use crate::dereferenced::is_dereferenced;
use crate::fact_list::learn;
use crate::facts::{Fact, FactList, Key, KeyId};
use crate::function::{Resolved, View};
use crate::history::{History, NONE};
use crate::propagate::{Propagation, variable_at};
use crate::replaced::is_replaced_null;
use crate::summarize::copied_pointer;
use crate::taken_before::is_taken_before;

/// An object that a call makes.
#[derive(Clone, Debug)]
pub(crate) struct Fresh {
    pub call: InstId,
    /// Which block of the call's effect it is.
    pub block: AllocId,
    pub family: FamilyId,
    /// How the result of the call tells that the object exists; None: it always does, or nothing tells.
    pub told: Option<Relation>,
    /// What the result is when it does not exist, where that says more than the opposite.
    pub otherwise: Option<Relation>,
    /// The fact by which one knows that the call made no such object; None when it always does.
    pub failure: Option<Fact>,
    /// Whether it exists is decided by something hidden.
    pub hidden: bool,
    /// Whether it exists is decided by something that the caller cannot see; it is put where only blocks of its kind are.
    pub is_opaque: bool,
    /// Exists only if the function's own caller gave it a null.
    pub is_callers_choice: bool,
    /// Part of another object that the same call makes.
    pub is_part: bool,
    /// What the caller must have left in the very place that the object is put into, by its own names.
    pub filled: Vec<(AccessPath, Relation)>,
    /// The calls from this one down to the allocator.
    pub chain: Vec<(FuncId, u32)>,
    /// How many of these nothing tells the conditions of.
    pub doubt: u8,
    /// Where it is held first, whatever case it is.
    pub first: Alternative,
    /// The same for each case in which the callee hands it out, with what is known then.
    pub starts: Vec<Alternative>,
}

/// All fresh objects, in the order of their calls.
pub(crate) fn fresh(view: &mut View<'_>, history: &mut History) -> Vec<Fresh> {
    let calls: Vec<InstId> = view.calls.iter().filter(|(_, c)| c.is_some()).map(|(inst, _)| inst).collect();
    let mut objects = Vec::new();
    if calls.iter().all(|c| view.calls[*c].as_ref().is_none_or(|e| e.summary.blocks.is_empty())) {
        return objects;
    }
    let facts_at = Propagation::scout(view, history);
    let renewals = Renewals::new(view);
    for call in calls {
        let Some(effect) = view.calls[call].clone() else { continue };
        let before = facts_at.get(&call).cloned().unwrap_or_default();
        view.keys.here = (view.homes[call], call);
        for (id, block) in effect.summary.blocks.iter() {
            if view.config.rules.applies(Rule::RenewedBirths, renewals.contains(call, id)) {
                continue;
            }
            let is_taken = is_taken_before(view, call, &effect.summary, id);
            if view.config.rules.applies(Rule::TakenBefore, is_taken) {
                continue;
            }
            if objects.len() >= view.config.max_objects {
                view.too_many_objects = true;
                return objects;
            }
            let object = fresh_block(view, history, call, id, block, &effect.summary, before.clone());
            objects.extend(object);
        }
    }
    objects
}

fn fresh_block(
    view: &mut View<'_>,
    history: &mut History,
    call: InstId,
    id: AllocId,
    block: &caulk_summary::Alloc,
    summary: &caulk_summary::Summary,
    mut before: FactList,
) -> Option<Fresh> {
    let event = history.add(NONE, call, Event::Allocated);
    let mut chain = vec![(view.id, view.line_below(call))];
    chain.extend(block.chain.iter().copied().take(view.config.max_chain - 1));
    let mut object = Fresh {
        call,
        block: id,
        family: block.family,
        told: None,
        otherwise: None,
        failure: None,
        hidden: true,
        is_opaque: false,
        is_callers_choice: false,
        is_part: true,
        filled: Vec::new(),
        chain,
        doubt: doubt_of(view, id, block, summary),
        first: Alternative::new(event),
        starts: Vec::new(),
    };
    for action in &summary.actions {
        if action.subject != Subject::Alloc(id) {
            continue;
        }
        let Destination::Store(to) = &action.to else { continue };
        if !place(view, call, to, &mut object) {
            continue;
        }
        if !hand_out(&mut Handed { view, object: &mut object, summary }, &mut before, action) {
            return None;
        }
    }
    let own = object.first.has_name(call).then(|| view.values.of_inst(call)).flatten();
    object.first.own = own.map(|c| c.base);
    if object.first.names.is_empty() && object.first.cells.is_empty() {
        return None;
    }
    if let Some(relation) = object.told {
        let key = view.keys.of_operand(view.body, &view.values, call.into())?;
        object.first.facts.push((key, relation));
        object.failure = object.otherwise.or(relation.negate()).map(|not| (key, not));
    }
    start_in_cases(view, &block.cases, before, &mut object);
    (!object.starts.is_empty()).then_some(object)
}

/// Stage one, as it is handed the object from the call that makes it.
struct Handed<'v, 'a> {
    view: &'v mut View<'a>,
    object: &'v mut Fresh,
    summary: &'v Summary,
}

impl Handed<'_, '_> {
    /// The object is followed as if it were there.
    fn follow(&mut self, rule: Rule) {
        self.object.hidden = false;
        self.object.is_opaque = true;
        self.view.config.rules.note(rule, 1);
    }
}

impl Receiver for Handed<'_, '_> {
    type Path = FactList;

    fn told(&mut self, _: &mut FactList, relation: Relation, otherwise: Option<Relation>) -> bool {
        self.object.hidden = false;
        self.object.told = Some(relation);
        self.object.otherwise = otherwise;
        true
    }

    fn given(&mut self, before: &mut FactList, value: &AccessPath, relation: Relation) -> bool {
        let Some(facts) = given(self.view, self.object.call, value, relation) else { return false };
        self.object.hidden = false;
        self.object.is_callers_choice = rests_on_null_parameter(self.view, &facts, before);
        self.object.failure = facts.first().and_then(|f| Some((f.0, f.1.negate()?)));
        facts.into_iter().all(|fact| learn(before, fact, self.view.config.max_facts))
    }

    fn is_excluded(&mut self, _: &FactList, value: &AccessPath, relation: Relation) -> bool {
        let Some(Resolved::Operand(operand)) = self.view.resolve(self.object.call, value) else { return false };
        self.view.evident(operand).is_some_and(|known| known.contradicts(relation))
    }

    fn is_there(&mut self) {
        self.object.hidden = false;
    }

    /// It may be (the design's "two directions of doubt"). Not so where a bound kept the callee from being understood (an out-pointer is
    /// understood well enough), or where a result may be of several kinds.
    fn may_be_there(&mut self, action: &Action) {
        let Destination::Store(to) = &action.to else { return };
        // The further away what surely allocates, the less is left of the conditions on the way to it.
        let config = self.view.config;
        let is_near = usize::from(self.object.doubt) <= config.max_opaque_chain;
        if action.guard == Guard::Unsure || !is_near || !config.rules.is_on(Rule::OpaqueBlocks) {
            return;
        }
        let is_cut = self.summary.cut;
        // A result that is sometimes a block of the caller's own, where nothing else ever holds that block; or an element of such an array.
        let is_sole = || {
            config.rules.is_on(Rule::SoleResults)
                && (is_element_of_result(to) || is_only_returned(self.summary, self.object.block))
        };
        if is_callers_memory(to) && (!is_cut || is_out_pointer(to)) {
            self.follow(Rule::OpaqueBlocks);
        } else if action.guard == Guard::Opaque && !is_cut && is_sole() {
            self.follow(Rule::SoleResults);
        }
    }
}

/// How many calls are on the way to what surely allocates, this one included if nothing tells whether it hands the block out.
fn doubt_of(view: &View<'_>, id: AllocId, block: &caulk_summary::Alloc, summary: &Summary) -> u8 {
    let is_told = |action: &caulk_summary::Action| action.subject == Subject::Alloc(id) && !action.guard.is_hidden();
    if summary.actions.iter().any(is_told) {
        return 0;
    }
    // Beyond the bound it does not matter how far it is: summaries of functions that call each other must settle.
    let most = u8::try_from(view.config.max_opaque_chain).unwrap_or(u8::MAX - 1) + 1;
    block.doubt.saturating_add(1).min(most)
}

/// Whether a block has no other way out of a function than as its result.
pub(crate) fn is_only_returned(summary: &Summary, block: AllocId) -> bool {
    let is_result = |to: &Destination| matches!(to, Destination::Store(path) if path.root == PathRoot::Return && path.steps.is_empty());
    summary.actions.iter().filter(|a| a.subject == Subject::Alloc(block)).all(|a| is_result(&a.to))
}

/// Whether a path is an element of the array that the function returns.
fn is_element_of_result(path: &AccessPath) -> bool {
    let is_element = |step: &caulk_memory::PathStep| step.offset == Offset::Any && step.field.is_none();
    path.root == PathRoot::Return && matches!(path.steps.as_slice(), [only] if is_element(only))
}

/// Whether a path is in memory that the caller gives.
fn is_callers_memory(path: &AccessPath) -> bool {
    matches!(path.root, PathRoot::Param(_)) && !path.steps.is_empty()
}

/// Whether a path is the variable that the caller gives the address of: `*error`.
pub(crate) fn is_out_pointer(path: &AccessPath) -> bool {
    matches!(path.steps.as_slice(), [only] if only.field.is_none() && only.offset == Offset::ZERO)
}

/// Puts a fresh object where the callee put it. False when that place cannot be named here.
fn place(view: &mut View<'_>, call: InstId, to: &AccessPath, object: &mut Fresh) -> bool {
    match view.resolve(call, to) {
        Some(Resolved::Operand(Operand::Value(value))) => {
            object.first.add_name(value);
            object.is_part = false;
        }
        Some(Resolved::Cell(cell)) if !matches!(view.values.node(cell.base), ValueNode::Nothing) => {
            for place in view.choices(cell) {
                object.first.add_cell(place);
                object.first.last_variable = variable_at(view, place);
            }
            // What hangs on the result of the same call is a part of it.
            if view.values.root(cell.base) != ValueNode::Opaque(call) {
                object.is_part = false;
            }
        }
        _ => return false,
    }
    true
}

/// A block that is made only for a null that the function would have to be given itself: whether one is given is for its
/// callers to know (`getcwd(buf, size)` in a wrapper).
pub(crate) fn rests_on_null_parameter(view: &View<'_>, needed: &[Fact], known: &FactList) -> bool {
    needed.iter().any(|(key, relation)| {
        let is_parameter = matches!(view.keys.get(*key), Key::Inst(i) if matches!(view.body.insts[i], Inst::Param { ty: Type::Ptr, .. }));
        is_parameter && *relation == Relation::ZERO && !known.iter().any(|f| f.0 == *key && f.1.implies(*relation))
    })
}

/// The fact an argument guard amounts to here: an empty list when it surely holds, None when it surely does not.
pub(crate) fn given(view: &mut View<'_>, call: InstId, path: &AccessPath, relation: Relation) -> Option<Vec<Fact>> {
    match view.resolve(call, path) {
        Some(Resolved::Operand(operand)) => match view.evident(operand) {
            Some(known) if known.contradicts(relation) => None,
            _ if relation == Relation::ZERO && is_dereferenced(view, call, operand) => None,
            _ if relation == Relation::ZERO && is_replaced_null(view, operand) => None,
            Some(known) if known.implies(relation) => Some(Vec::new()),
            _ => {
                if let Some(fact) = view.keys.of_truth(view.body, &view.values, operand, relation) {
                    return Some(vec![fact]);
                }
                let key = view.keys.of_operand(view.body, &view.values, operand);
                Some(key.map(|k| (k, relation)).into_iter().collect())
            }
        },
        Some(Resolved::Cell(cell)) => {
            let key = view.keys.of_cell(cell);
            Some(vec![(key, relation)])
        }
        None => Some(Vec::new()),
    }
}

/// Values the function was given (by parameter or global) that something is done to, sorted: those to follow, and those that are too
/// many.
pub(crate) fn given_values(view: &mut View<'_>) -> (Vec<ValueId>, Vec<ValueId>) {
    let mut values: Vec<ValueId> = Vec::new();
    let ends_object = is_destructor(view.program.function(view.id).symbol);
    let insts: Vec<InstId> = view.body.insts.keys().collect();
    for inst in insts {
        match &view.body.insts[inst] {
            Inst::Store { value, .. } | Inst::Return { value: Some(value) } => {
                values.extend(view.values.of_operand(*value).map(|c| c.base));
            }
            Inst::Copy { src, len, .. } => {
                let (src, len) = (*src, *len);
                values.extend(copied_pointer(view, src, len));
            }
            Inst::Unknown { operands, .. } => {
                values.extend(operands.iter().filter_map(|o| view.values.of_operand(*o)).map(|c| c.base));
            }
            Inst::Call(call) | Inst::Invoke { call, .. } => {
                let Some(effect) = view.calls[inst].clone() else { continue };
                if effect.unknown {
                    values.extend(call.args.iter().filter_map(|a| view.values.of_operand(*a)).map(|c| c.base));
                }
                let thrown = effect.summary.taken_by_throws.iter().filter_map(|index| call.args.get(*index as usize));
                values.extend(thrown.filter_map(|a| view.values.of_operand(*a)).map(|c| c.base));
                for action in &effect.summary.actions {
                    // What a callee may do to a part of what it is given is not worth following, unless it frees or renews it. A destructor
                    // is asked the outcome for the parts: smart pointers give theirs to one of many deleters.
                    // What it renews, who calls this function owns in the same place afterwards.
                    let sees_to = matches!(action.to, Destination::Free { .. } | Destination::Renew);
                    let near = usize::from(ends_object || sees_to);
                    // What it may have moved is not lost where it empties the place as well.
                    let is_emptied = |path: &AccessPath| {
                        path.steps.len() == 1 && effect.summary.overwritten.iter().any(|p| p.same_place(path))
                    };
                    let is_far =
                        |path: &AccessPath| action.guard.is_hidden() && path.steps.len() > near && !is_emptied(path);
                    if let Subject::Value(path) = &action.subject
                        && !is_far(path)
                    {
                        values.extend(view.resolve_value(inst, path));
                    }
                }
            }
            _ => {}
        }
    }
    look_through_choices(view, &mut values);
    values.sort();
    values.dedup();
    values.retain(|v| is_given(view, *v));
    view.too_many_objects |= values.len() > view.config.max_objects;
    let rest = values.split_off(values.len().min(view.config.max_objects));
    (values, rest)
}

/// Adds what a phi or select may be: `bar ? bar : default_bar()` is given too.
fn look_through_choices(view: &View<'_>, values: &mut Vec<ValueId>) {
    let mut seen: FxHashSet<ValueId> = values.iter().copied().collect();
    let mut next = 0;
    while let Some(&value) = values.get(next) {
        next += 1;
        let ValueNode::Opaque(inst) = view.values.node(value) else { continue };
        if !matches!(view.body.insts[inst], Inst::Phi { .. } | Inst::Select { .. }) {
            continue;
        }
        view.body.insts[inst].for_each_operand(|operand| {
            if let Some(cell) = view.values.of_operand(*operand)
                && seen.insert(cell.base)
            {
                values.push(cell.base);
            }
        });
    }
}

/// A pointer parameter, or something loaded from one, not too far away to matter to a caller. What globals hold is theirs,
/// and no caller follows it, unless they only pass it down.
pub(crate) fn is_given(view: &View<'_>, value: ValueId) -> bool {
    match view.values.node(value) {
        ValueNode::Param(_) => true,
        ValueNode::Load(..) => {
            let is_root_given = match view.values.root(value) {
                ValueNode::Param(_) => true,
                ValueNode::Global(global) => view.program.only_passes_down(global),
                _ => false,
            };
            is_root_given && view.values.depth(value) <= BOUNDS.given_loads
        }
        _ => false,
    }
}

/// The first alternative of a given value: it exists, so the pointer is not null.
pub(crate) fn given_start(view: &mut View<'_>, history: &mut History, value: ValueId) -> Alternative {
    let mut first = Alternative::new(history.add(NONE, InstId(0), Event::Given));
    first.own = Some(value);
    match view.values.node(value) {
        ValueNode::Param(index) => {
            let inst = InstId(index);
            first.add_name(inst);
            if let Some(key) = view.keys.of_operand(view.body, &view.values, inst.into()) {
                first.facts.push((key, Relation::NONZERO));
            }
        }
        ValueNode::Load(base, offset) => {
            let cell = caulk_memory::Cell { base, offset };
            first.add_cell(cell);
            let key = view.keys.of_cell(cell);
            first.facts.push((key, Relation::NONZERO));
            first.facts.extend(view.needed_to_reach(base).into_iter().map(|key| (key, Relation::NONZERO)));
        }
        _ => {}
    }
    first
}

impl View<'_> {
    /// The pointers that lead to a value: where one of them is null there is nothing to be found behind it.
    fn needed_to_reach(&mut self, mut value: ValueId) -> Vec<KeyId> {
        let mut keys = Vec::new();
        loop {
            match self.values.node(value) {
                ValueNode::Param(index) => {
                    keys.extend(self.keys.of_operand(self.body, &self.values, InstId(index).into()));
                    return keys;
                }
                ValueNode::Load(base, offset) => {
                    keys.push(self.keys.of_cell(Cell { base, offset }));
                    value = base;
                }
                _ => return keys,
            }
        }
    }
}
