//! All small heaps for a function whose pointer parameters lead to one type of structure.

use std::collections::BTreeSet;

use caulk_ir::Type;
use caulk_program::{FuncId, Program, TypeId};

use super::generator::Random;
use super::interpreter::{Machine, NULL, Object, Value};

/// Cells of the largest heap.
const MAX_CELLS: usize = 4;

/// A cell's layout: offsets of pointers to cells of the same type, and of numbers.
struct Layout {
    pointers: Vec<i64>,
    numbers: Vec<i64>,
}

/// Whether some run of a function on a small heap ends with a cell that nothing refers to any more. `own`: arguments may
/// be the last references; otherwise the caller holds them.
pub(crate) fn can_leak(program: &Program, function: FuncId, own: bool, runs: usize, random: &mut Random) -> bool {
    let mut machine = Machine::new(program);
    (0..runs).any(|run| leaks(&mut machine, program, function, own, run, random))
}

/// The lines at which runs on small heaps lose cells for good.
pub(crate) fn losing_lines(program: &Program, function: FuncId, runs: usize, random: &mut Random) -> BTreeSet<u32> {
    let mut machine = Machine::new(program);
    machine.watches = true;
    let mut lines = BTreeSet::new();
    for run in 0..runs {
        if leaks(&mut machine, program, function, true, run, random) {
            lines.extend(machine.lost.values());
        }
    }
    lines
}

/// Runs a function once on a randomly generated heap.
fn leaks(
    machine: &mut Machine<'_>,
    program: &Program,
    function: FuncId,
    own: bool,
    run: usize,
    random: &mut Random,
) -> bool {
    let info = program.function(function);
    let pointee = info.declaration.params.iter().find_map(|p| p.pointee.target.filter(|_| p.pointee.depth == 1));
    let layout = match pointee.map(|ty| program.resolve_struct(info.unit, ty)) {
        Some(ty) => layout(program, ty),
        None => Layout { pointers: Vec::new(), numbers: Vec::new() },
    };
    let types = &info.declaration.signature.params;
    let cells = if layout.pointers.is_empty() { 0 } else { 1 + run % MAX_CELLS };
    let heap: Vec<Object> = (0..cells).map(|_| cell(&layout, cells, random)).collect();
    let args: Vec<Value> = types.iter().map(|ty| argument(*ty, cells, random)).collect();
    let globals: Vec<Value> = program.globals().map(|_| pointer(cells, random)).collect();
    machine.reset(&heap, |at| globals[at]);
    let lost_before = machine.unreferenced(&args);
    if !own {
        machine.held.clone_from(&args);
    }
    let Ok(result) = machine.call(function, &args) else { return false };
    let mut held = vec![result];
    held.extend(&machine.held);
    let lost = machine.unreferenced(&held);
    machine.lost.retain(|cell, _| lost.contains(cell) && !lost_before.contains(cell));
    lost.iter().any(|at| !lost_before.contains(at))
}

fn layout(program: &Program, ty: TypeId) -> Layout {
    let info = program.type_info(ty);
    let offsets = |pointers: bool| {
        let fields = info.fields.iter().filter(move |f| (f.pointee.depth > 0) == pointers);
        fields.map(|f| f.offset as i64).collect()
    };
    Layout { pointers: offsets(true), numbers: offsets(false) }
}

fn cell(layout: &Layout, cells: usize, random: &mut Random) -> Object {
    let mut object = Object { is_heap: true, ..Object::default() };
    for offset in &layout.pointers {
        object.contents.insert(*offset, pointer(cells, random));
    }
    for offset in &layout.numbers {
        object.contents.insert(*offset, Value::Number(random.below(4) as u64));
    }
    object
}

fn argument(ty: Type, cells: usize, random: &mut Random) -> Value {
    match ty {
        Type::Ptr => pointer(cells, random),
        _ => Value::Number(random.below(4) as u64),
    }
}

fn pointer(cells: usize, random: &mut Random) -> Value {
    match random.below(cells + 1) {
        0 => NULL,
        at => Value::Pointer { object: at - 1, offset: 0 },
    }
}
