//! Arguments of variadic functions: whether a function with a body takes what it reads from its list of further arguments.
//!
//! Such arguments have no parameter that could be followed. What is read from the list is followed here, by its values alone: a pointer
//! that is stored, returned, or given to code that takes it counts as given to unknown code. A function that only passes its list on to
//! `vprintf()`, or reads what the pointers lead to, takes nothing.

use caulk_ir::{Body, CallData, Inst, InstId, Operand, Type, UnknownReason};
use caulk_memory::{AccessPath, PathRoot};
use caulk_program::{FuncId, Program, Resolution};
use caulk_summary::{Action, Destination, Guard, Subject, Summary};
use rustc_hash::FxHashMap;

use crate::library::variadic_places;

/// How far a value is from an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// It points to the list itself.
    List,
    /// It points to where arguments lie, or to a copy of them.
    Area,
    /// It is an argument.
    Argument,
}

/// Adds to a summary what a function takes of its further arguments, and of those in lists that it is given. Gives the number of actions.
pub(crate) fn add_taken_arguments<'s>(
    program: &Program,
    function: FuncId,
    body: &Body,
    summary_of: &dyn Fn(FuncId) -> Option<&'s Summary>,
    summary: &mut Summary,
) -> usize {
    let declaration = program.function(function).declaration;
    let mut search = Search { program, function, body, summary_of, levels: FxHashMap::default() };
    let lists: Vec<(u32, InstId)> = search.list_parameters();
    // The list itself lies on the stack, and is no block that a function could take: `va_copy()` keeps nothing.
    let is_list = |path: &AccessPath| lists.iter().any(|(index, _)| path.root == PathRoot::Param(*index));
    summary.actions.retain(|action| !matches!(&action.subject, Subject::Value(path) if is_list(path)));
    let mut taken: Vec<Action> = Vec::new();
    for (index, value) in lists {
        if search.takes(vec![value]) {
            taken.push(give_away(index));
        }
    }
    let own: Vec<InstId> = body.insts.values().filter_map(|inst| started_list(body, inst)).collect();
    if declaration.signature.variadic && !own.is_empty() && search.takes(own) {
        taken.extend(variadic_places(declaration).map(give_away));
    }
    let count = taken.len();
    summary.actions.extend(taken);
    count
}

fn give_away(index: u32) -> Action {
    let subject = Subject::Value(AccessPath::root(PathRoot::Param(index)));
    Action { subject, to: Destination::Unknown, guard: Guard::Always }
}

/// The local variable that `va_start()` is given.
fn started_list(body: &Body, inst: &Inst) -> Option<InstId> {
    let Inst::Unknown { reason: UnknownReason::VarArg, operands, .. } = inst else { return None };
    local_of(body, *operands.first()?)
}

/// The local variable that an address lies in.
fn local_of(body: &Body, mut address: Operand) -> Option<InstId> {
    loop {
        let value = address.value()?;
        address = match &body.insts[value] {
            Inst::Local { .. } => return Some(value),
            Inst::Address { base, .. } => *base,
            Inst::Cast { value, .. } => *value,
            _ => return None,
        };
    }
}

struct Search<'a, 's> {
    program: &'a Program,
    function: FuncId,
    body: &'a Body,
    summary_of: &'a dyn Fn(FuncId) -> Option<&'s Summary>,
    levels: FxHashMap<InstId, Level>,
}

impl Search<'_, '_> {
    /// Parameters that are lists of arguments.
    fn list_parameters(&self) -> Vec<(u32, InstId)> {
        let info = self.program.function(self.function);
        let unit = self.program.unit(info.unit);
        let is_list = |index: u32| {
            let pointee = info.declaration.params.get(index as usize).map(|p| p.pointee);
            let target = pointee.filter(|p| p.depth == 1).and_then(|p| p.target);
            target.is_some_and(|ty| unit.str(unit.structs[ty].name).contains("__va_list"))
        };
        let parameter = |(id, inst): (InstId, &Inst)| match inst {
            Inst::Param { index, .. } if is_list(*index) => Some((*index, id)),
            _ => None,
        };
        self.body.insts.iter().filter_map(parameter).collect()
    }

    /// Whether an argument of one of these lists gets to code that takes it, or to memory that lives on.
    fn takes(&mut self, lists: Vec<InstId>) -> bool {
        self.levels = lists.into_iter().map(|list| (list, Level::List)).collect();
        self.spread();
        self.body.insts.iter().any(|(id, inst)| self.is_taken_by(id, inst))
    }

    fn level(&self, operand: Operand) -> Option<Level> {
        self.levels.get(&operand.value()?).copied()
    }

    /// Finds all values that come from the lists. A value keeps the first level that is found for it.
    fn spread(&mut self) {
        loop {
            let before = self.levels.len();
            for (id, inst) in self.body.insts.iter() {
                if let Some((value, level)) = self.derived(id, inst) {
                    self.levels.entry(value).or_insert(level);
                }
            }
            if self.levels.len() == before {
                return;
            }
        }
    }

    /// What an instruction makes of values of the lists: a value of its own, or a local variable that it fills.
    fn derived(&self, id: InstId, inst: &Inst) -> Option<(InstId, Level)> {
        match inst {
            Inst::Load { address, ty: Type::Ptr, .. } => match self.level(*address)? {
                Level::List => Some((id, Level::Area)),
                Level::Area => Some((id, Level::Argument)),
                Level::Argument => None,
            },
            Inst::Address { base: same, .. } | Inst::Cast { value: same, .. } => Some((id, self.level(*same)?)),
            Inst::Extract { aggregate: same, .. } => Some((id, self.level(*same)?)),
            Inst::Insert { aggregate, value, .. } => Some((id, self.level(*value).or(self.level(*aggregate))?)),
            Inst::Phi { incoming, .. } => incoming.iter().find_map(|(_, o)| self.level(*o)).map(|level| (id, level)),
            Inst::Select { then, other, .. } => Some((id, self.level(*then).or(self.level(*other))?)),
            Inst::Copy { dst, src, .. } if self.level(*src) == Some(Level::Area) => {
                Some((local_of(self.body, *dst)?, Level::Area))
            }
            Inst::Store { value, address, .. } if self.level(*value) == Some(Level::Argument) => {
                Some((local_of(self.body, *address)?, Level::Area))
            }
            Inst::Unknown { reason: UnknownReason::VarArg, operands, .. } => match operands.as_slice() {
                // A copy of a list is one as well.
                [copy, list] => Some((local_of(self.body, *copy)?, self.level(*list)?)),
                _ => None,
            },
            _ => None,
        }
    }

    fn is_taken_by(&self, id: InstId, inst: &Inst) -> bool {
        let is_argument = |operand: Operand| self.level(operand) == Some(Level::Argument);
        let is_elsewhere = |address: Operand| {
            local_of(self.body, address).is_none() && self.level(address).is_none_or(|l| l == Level::Argument)
        };
        match inst {
            Inst::Store { value, address, .. } => is_argument(*value) && is_elsewhere(*address),
            Inst::Copy { dst, src, .. } => self.level(*src) == Some(Level::Area) && is_elsewhere(*dst),
            Inst::Return { value: Some(value) } => is_argument(*value),
            inst => inst.call().is_some_and(|call| self.is_taken_by_call(id, call)),
        }
    }

    fn is_taken_by_call(&self, id: InstId, call: &CallData) -> bool {
        call.args.iter().enumerate().any(|(index, argument)| match self.level(*argument) {
            Some(level) => self.gives_away(id, call, index, level),
            None => false,
        })
    }

    /// Whether some function that a call may reach takes an argument, or what it leads to.
    fn gives_away(&self, id: InstId, call: &CallData, index: usize, level: Level) -> bool {
        let Some(site) = self.program.call_site(self.function, id) else { return false };
        let targets = self.program.targets(site);
        let root = PathRoot::Param(index as u32);
        let is_of_root = |path: &AccessPath| path.root == root && (level != Level::Argument || path.steps.is_empty());
        // What is only given back is not taken by that.
        let is_result = |a: &Action| matches!(&a.to, Destination::Store(to) if to.root == PathRoot::Return);
        let is_taking = |a: &Action| matches!(&a.subject, Subject::Value(path) if is_of_root(path)) && !is_result(a);
        let takes = |summary: &Summary| summary.actions.iter().any(is_taking);
        // Who prints by a format keeps nothing of what is printed, however large the function is that does it.
        let is_format = level == Level::List && self.follows_format(call, index);
        let is_unknown = targets.is_empty() || site.outcome != Resolution::Resolved;
        let is_taken = |target: &FuncId| (self.summary_of)(*target).is_some_and(takes);
        !is_format && (is_unknown || targets.iter().any(is_taken))
    }

    /// Whether a list is given behind a text that is not changed: `vfprintf(stream, format, list)`, or a function like it.
    fn follows_format(&self, call: &CallData, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|before| call.args[before].value());
        let Some(Inst::Param { index, .. }) = before.map(|value| &self.body.insts[value]) else { return false };
        let parameter = self.program.function(self.function).declaration.params.get(*index as usize);
        parameter.is_some_and(|p| p.pointee.depth == 1 && p.pointee.is_const && p.pointee.target.is_none())
    }
}
