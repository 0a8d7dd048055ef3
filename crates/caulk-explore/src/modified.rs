//! Which memory a call may write to: for every function the fields, globals and parameters it writes through, its callees
//! included.
//!
//! Fields are told apart by structure type and offset, not by object; whoever asks adds what the callee can reach.

use caulk_ir::{Body, CastOp, Constant, Inst, InstId, Operand};
use caulk_program::{FuncId, Program};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::frame::{Class, class_at};

/// What one function writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Writes {
    /// One bit for each class of the table.
    classes: Vec<u64>,
    /// One bit for each parameter that is written through without a field.
    params: u64,
}

/// What every function of a program may write.
#[derive(Debug, Default)]
pub struct Modified {
    numbers: FxHashMap<Class, u32>,
    writes: Vec<Writes>,
}

/// Writes and calls of one body, before callees are known.
struct Direct {
    classes: Vec<Class>,
    params: u64,
    /// For each call: the function, and for each argument what it points into.
    calls: Vec<(InstId, Vec<Target>)>,
}

#[derive(Clone, Copy)]
enum Target {
    Param(u32),
    Class(Class),
    Nothing,
}

impl Modified {
    pub fn new(program: &Program) -> Self {
        let functions: Vec<FuncId> = program.functions().collect();
        let direct: Vec<Option<Direct>> =
            functions.par_iter().map(|f| program.body(*f).map(|body| direct_writes(program, *f, &body))).collect();
        let mut modified = Modified { numbers: FxHashMap::default(), writes: vec![Writes::default(); functions.len()] };
        for class in direct.iter().flatten().flat_map(|d| {
            let given = d.calls.iter().flat_map(|(_, args)| args.iter());
            d.classes.iter().copied().chain(given.filter_map(|t| match t {
                Target::Class(class) => Some(*class),
                _ => None,
            }))
        }) {
            let next = modified.numbers.len() as u32;
            modified.numbers.entry(class).or_insert(next);
        }
        for component in program.sccs() {
            modified.add_component(program, component, &direct);
        }
        modified
    }

    /// All functions of a cycle, until nothing is added.
    fn add_component(&mut self, program: &Program, component: &[FuncId], direct: &[Option<Direct>]) {
        /// A fact needs as many rounds as it has calls to pass; beyond this it is lost.
        const MAX_ROUNDS: usize = 6;
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for &function in component {
                let Some(own) = &direct[function.0 as usize] else { continue };
                let new = self.writes_of(program, function, own);
                changed |= new != self.writes[function.0 as usize];
                self.writes[function.0 as usize] = new;
            }
            if !changed || component.len() == 1 {
                return;
            }
        }
    }

    fn writes_of(&self, program: &Program, function: FuncId, own: &Direct) -> Writes {
        let mut result = Writes { classes: vec![0; self.numbers.len().div_ceil(64)], params: own.params };
        own.classes.iter().for_each(|class| result.set(self.numbers[class]));
        for (inst, args) in &own.calls {
            let Some(site) = program.call_site(function, *inst) else { continue };
            for target in program.targets(site) {
                let below = &self.writes[target.0 as usize];
                for (word, bits) in result.classes.iter_mut().zip(&below.classes) {
                    *word |= bits;
                }
                for (index, arg) in args.iter().enumerate().take(64) {
                    if below.params & (1 << index) == 0 {
                        continue;
                    }
                    match arg {
                        Target::Param(own) if *own < 64 => result.params |= 1 << own,
                        Target::Class(class) => result.set(self.numbers[class]),
                        _ => {}
                    }
                }
            }
        }
        result
    }

    /// Whether a function may write to cells of a class, wherever they are.
    pub fn writes_class(&self, function: FuncId, class: Class) -> bool {
        let Some(&number) = self.numbers.get(&class) else { return false };
        let words = &self.writes[function.0 as usize].classes;
        words.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// Whether a function may write through a parameter to something that is no field.
    pub fn writes_through(&self, function: FuncId, index: usize) -> bool {
        index < 64 && self.writes[function.0 as usize].params & (1 << index) != 0
    }
}

impl Writes {
    fn set(&mut self, number: u32) {
        self.classes[number as usize / 64] |= 1 << (number % 64);
    }
}

fn direct_writes(program: &Program, function: FuncId, body: &Body) -> Direct {
    let mut direct = Direct { classes: Vec::new(), params: 0, calls: Vec::new() };
    let target = |address: Operand| target_of(program, function, body, address);
    for (inst, kind) in body.insts.iter() {
        match kind {
            Inst::Store { address, .. } | Inst::Copy { dst: address, .. } | Inst::Fill { dst: address, .. } => {
                match target(*address) {
                    Target::Class(class) => direct.classes.push(class),
                    Target::Param(index) if index < 64 => direct.params |= 1 << index,
                    _ => {}
                }
            }
            Inst::Call(call) | Inst::Invoke { call, .. } => {
                direct.calls.push((inst, call.args.iter().map(|a| target(*a)).collect()));
            }
            _ => {}
        }
    }
    direct.classes.sort_unstable();
    direct.classes.dedup();
    direct
}

/// What an address points into, as a caller can tell.
fn target_of(program: &Program, function: FuncId, body: &Body, address: Operand) -> Target {
    match class_at(program, program.function(function).unit, body, address) {
        Class::Local(_) => Target::Nothing,
        Class::Other => match root_of(body, address) {
            Some(Inst::Param { index, .. }) => Target::Param(*index),
            _ => Target::Nothing,
        },
        class => Target::Class(class),
    }
}

fn root_of(body: &Body, mut at: Operand) -> Option<&Inst> {
    loop {
        let value = match at {
            Operand::Value(v) => v,
            Operand::Const(c) => {
                debug_assert!(!matches!(body.consts[c], Constant::Global { .. }), "globals have a class");
                return None;
            }
        };
        match &body.insts[value] {
            Inst::Address { base, .. } => at = *base,
            Inst::Cast { op: CastOp::Bits | CastOp::PtrToInt | CastOp::IntToPtr, value, .. } => at = *value,
            root => return Some(root),
        }
    }
}
