//! Fields of the caller's structures that a function writes over as a whole, by copying or filling: what they held is not
//! there any more (`memset(s, 0, sizeof *s)`, `*s = (struct buffer) { 0 }`, `s->data = NULL`).

use caulk_ir::{Body, Constant, EntitySet, Inst, InstId, Operand, Type};
use caulk_memory::{AccessPath, Offset, PathRoot, ValueNode};
use caulk_program::{Program, TypeId};

use super::Summarizer;
use crate::bounds::BOUNDS;
use crate::facts::number_of;
use crate::function::Resolved;

impl Summarizer<'_> {
    /// Fields that are written over on every way through the function, here or in a callee.
    pub(super) fn resets(&mut self) -> Vec<AccessPath> {
        let insts: Vec<InstId> = self.view.body.insts.keys().collect();
        let mut reset = Vec::new();
        for inst in insts {
            let found = match self.view.body.insts[inst] {
                Inst::Copy { dst, len, .. } | Inst::Fill { dst, len, .. } => self.written_over(dst, len),
                Inst::Call(_) | Inst::Invoke { .. } => self.reset_by_callee(inst),
                Inst::Store { ty: Type::Ptr, value, address, .. } => self.emptied(value, address),
                _ => continue,
            };
            if !found.is_empty() && self.is_always_run(inst) {
                reset.extend(found);
            }
        }
        reset
    }

    fn written_over(&self, dst: Operand, len: Operand) -> Vec<AccessPath> {
        let view = &self.view;
        let length = view.body.constant(len).and_then(number_of);
        let (Some(cell), Some(length)) = (view.values.of_operand(dst), length) else { return Vec::new() };
        let (ValueNode::Param(index), Offset::Known(start)) = (view.values.node(cell.base), cell.offset) else {
            return Vec::new();
        };
        let info = view.program.function(view.id);
        let pointee = info.declaration.params.get(index as usize).map(|p| p.pointee);
        let Some(ty) = pointee.filter(|p| p.depth == 1).and_then(|p| p.target) else { return Vec::new() };
        let ty = view.program.resolve_struct(info.unit, ty);
        let root = AccessPath::root(PathRoot::Param(index));
        pointers_in(view.program, ty)
            .into_iter()
            .filter(|(at, _)| (start..start.saturating_add(length)).contains(&(*at as i64)))
            .map(|(at, field)| root.clone().then(Offset::Known(at as i64), Some(field)))
            .collect()
    }

    /// A field that is set to null: `void dismiss() { pointer = nullptr; }`.
    fn emptied(&self, value: Operand, address: Operand) -> Vec<AccessPath> {
        let values = &self.view.values;
        let is_null = self.view.body.constant(value) == Some(Constant::Null);
        let cell = values.of_operand(address).filter(|cell| {
            let is_given = matches!(values.node(cell.base), ValueNode::Param(_));
            is_null && is_given && values.own_field(*cell).is_some()
        });
        cell.and_then(|cell| values.cell_path(cell)).into_iter().collect()
    }

    fn reset_by_callee(&mut self, call: InstId) -> Vec<AccessPath> {
        let Some(effect) = self.view.calls[call].clone() else { return Vec::new() };
        let mut reset = Vec::new();
        for path in &effect.summary.overwritten {
            let Some(Resolved::Cell(cell)) = self.view.resolve(call, path) else { continue };
            let path = self.view.values.cell_path(cell);
            let is_near = |p: &AccessPath| matches!(p.root, PathRoot::Param(_)) && p.steps.len() <= BOUNDS.reset_steps;
            reset.extend(path.filter(is_near));
        }
        reset
    }

    /// Whether every way to a return goes through an instruction.
    fn is_always_run(&self, inst: InstId) -> bool {
        let body = self.view.body;
        let home = self.view.homes[inst];
        let mut seen = EntitySet::with_capacity(body.blocks.len());
        let mut work = vec![Body::ENTRY];
        while let Some(block) = work.pop() {
            if block == home || !seen.insert(block) {
                continue;
            }
            match body.terminator(block) {
                Inst::Return { .. } => return false,
                other => work.extend(other.successors()),
            }
        }
        true
    }
}

/// The pointers in a structure, those of embedded ones included: offset, and the field that it is.
fn pointers_in(program: &Program, ty: TypeId) -> Vec<(u64, (TypeId, u64))> {
    let mut pointers = Vec::new();
    let mut work = vec![(ty, 0)];
    while let Some((ty, start)) = work.pop() {
        for field in &program.type_info(ty).fields {
            match field.embedded() {
                Some(inner) if inner != ty => work.push((inner, start + field.offset)),
                _ if field.pointee.depth > 0 => pointers.push((start + field.offset, (ty, field.offset))),
                _ => {}
            }
            if pointers.len() >= BOUNDS.reset_pointers {
                return pointers;
            }
        }
    }
    pointers
}
