//! Functions that are registered under a name: `keyword("path", path_handler)`, or `{"path", path_handler}` in a table.
//!
//! They are called when some input names them, so one of them may be called twice without another in between. A name with several
//! functions (`{"tcp", open, close}`) is a kind of thing, and says nothing about how often each is called.

use caulk_ir::{Body, Constant, InitItem, Initialiser, Operand, Unit};
use caulk_program::{FuncId, GlobalVarId, Program};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds::BOUNDS;
use crate::keywords::is_text;
use crate::survey::Survey;

pub(crate) struct Registered {
    all: FxHashSet<FuncId>,
    /// Those of tables. What a call registers may be told of events, each of which is of another object.
    in_tables: FxHashSet<FuncId>,
}

impl Registered {
    pub(crate) fn new(program: &Program, survey: &Survey) -> Self {
        let mut groups: FxHashMap<Registry, Vec<FuncId>> = FxHashMap::default();
        for global in program.globals() {
            let info = program.global(global);
            if let Initialiser::Items { items, .. } = &info.declaration.init {
                let unit = program.unit(info.unit);
                let handlers = lone_functions(unit, items).filter_map(|f| only(program.resolve_function(info.unit, f)));
                groups.entry(Registry::Table(global)).or_default().extend(handlers);
            }
        }
        for (function, _) in survey.given.iter().filter(|(_, given)| !given.is_empty()) {
            if let Some(body) = program.body(function) {
                given_with_text(program, function, &body, &mut groups);
            }
        }
        groups.retain(|_, handlers| handlers.len() >= BOUNDS.handlers);
        let tables = groups.iter().filter(|(place, _)| matches!(place, Registry::Table(_)));
        Self {
            in_tables: tables.flat_map(|(_, handlers)| handlers.iter().copied()).collect(),
            all: groups.into_values().flatten().collect(),
        }
    }

    pub(crate) fn contains(&self, function: FuncId) -> bool {
        self.all.contains(&function)
    }

    pub(crate) fn is_in_table(&self, function: FuncId) -> bool {
        self.in_tables.contains(&function)
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Registry {
    Table(GlobalVarId),
    /// The function that registers them.
    By(FuncId),
}

/// The functions of a table that each stand alone behind a text.
fn lone_functions<'a>(unit: &'a Unit, items: &'a [InitItem]) -> impl Iterator<Item = caulk_ir::FunctionId> + 'a {
    let texts: Vec<usize> = (0..items.len()).filter(|at| is_text(unit, items[*at].value)).collect();
    let ends = texts.iter().skip(1).copied().chain([items.len()]);
    let entries: Vec<(usize, usize)> = texts.iter().copied().zip(ends).collect();
    entries.into_iter().filter_map(move |(from, to)| {
        let mut functions = items[from..to].iter().filter_map(|item| match item.value {
            Constant::Function(function) => Some(function),
            _ => None,
        });
        functions.next().filter(|_| functions.next().is_none())
    })
}

/// Functions that calls are given together with a text.
fn given_with_text(program: &Program, function: FuncId, body: &Body, groups: &mut FxHashMap<Registry, Vec<FuncId>>) {
    let home = program.function(function).unit;
    let unit = program.unit(home);
    for (inst, call) in body.insts.iter().filter_map(|(inst, kind)| Some((inst, kind.call()?))) {
        let constant = |operand: &Operand| body.constant(*operand);
        let mut functions = call.args.iter().filter_map(constant).filter_map(|constant| match constant {
            Constant::Function(function) => only(program.resolve_function(home, function)),
            _ => None,
        });
        let Some(handler) = functions.next().filter(|_| functions.next().is_none()) else { continue };
        if !call.args.iter().filter_map(constant).any(|constant| is_text(unit, constant)) {
            continue;
        }
        let target = program.call_site(function, inst).and_then(|site| only(program.targets(site)));
        if let Some(target) = target {
            groups.entry(Registry::By(target)).or_default().push(handler);
        }
    }
}

fn only(functions: &[FuncId]) -> Option<FuncId> {
    match functions {
        [only] => Some(*only),
        _ => None,
    }
}
