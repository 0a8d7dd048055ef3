//! Structures that only a list leads to: nothing else in the program is declared to point to them.

use caulk_program::{FieldInfo, Program, TypeId};
use rustc_hash::FxHashSet;

use crate::schedule::Analysis;
use crate::slots::Slot;

/// Whether a pointer to nodes of a type, in a structure, is a link of the nodes or the head of a list of them: the first node alone, where a
/// node knows the place of the link to it, or with the place of the last link.
fn is_list_of(program: &Program, holder: TypeId, node: TypeId) -> bool {
    let types = program.types();
    let parts = || types.get(node).fields.iter().filter_map(FieldInfo::embedded);
    let has_place = |of: TypeId| types.get(of).fields.iter().any(|f| f.pointee.depth == 2 && f.target == Some(node));
    let is_first_alone = || types.get(holder).fields.len() == 1 && (has_place(node) || parts().any(has_place));
    holder == node || parts().any(|part| part == holder) || has_place(holder) || is_first_alone()
}

/// Whether a field is such a link or head.
pub(crate) fn is_place_in_list(program: &Program, (ty, offset): Slot, node: TypeId) -> bool {
    let spot = program.types().spot(ty, offset);
    let links_itself = |field: &FieldInfo| field.pointee.depth == 1 && field.target == Some(spot.ty);
    is_list_of(program, spot.ty, node) || program.types().field(spot).is_some_and(links_itself)
}

/// Pointers and parts of every type, over the whole program.
pub(crate) struct Listed<'a> {
    program: &'a Program,
    /// Types that something besides their own links and the heads of their lists points to.
    pointed_to: FxHashSet<TypeId>,
    /// Types of variables, and of parts of other structures.
    parts: FxHashSet<TypeId>,
}

impl<'a> Listed<'a> {
    pub(crate) fn new(program: &'a Program, analysis: &Analysis) -> Self {
        let types = program.types();
        let mut pointed_to = FxHashSet::default();
        let mut parts: FxHashSet<TypeId> = types.embedded().collect();
        parts.extend(analysis.reports.values().flat_map(|report| report.slots.by_value.iter().copied()));
        for holder in (0..types.len() as u32).map(TypeId) {
            let targets = types.get(holder).fields.iter().filter(|f| f.pointee.depth == 1).filter_map(|f| f.target);
            pointed_to.extend(targets.filter(|target| !is_list_of(program, holder, *target)));
        }
        for global in program.globals() {
            let info = program.global(global);
            let pointee = info.declaration.pointee;
            if let Some(target) = pointee.target.map(|target| program.resolve_struct(info.unit, target)) {
                if pointee.depth > 0 {
                    pointed_to.insert(target)
                } else {
                    parts.insert(target)
                };
            }
        }
        Self { program, pointed_to, parts }
    }

    /// Whether structures of a type have the links of one list.
    fn is_in_one_list(&self, ty: TypeId) -> bool {
        let types = self.program.types();
        let links_to =
            |of: TypeId, to: TypeId| types.get(of).fields.iter().any(|f| f.pointee.depth == 1 && f.target == Some(to));
        let parts = types.get(ty).fields.iter().filter_map(FieldInfo::embedded);
        let in_parts = parts.filter(|part| links_to(*part, ty) || links_to(*part, *part)).count();
        in_parts + usize::from(links_to(ty, ty)) == 1
    }

    /// Whether nothing but one list may lead to structures of a type that are blocks of their own.
    pub(crate) fn is_led_to_by_one_list(&self, ty: TypeId) -> bool {
        self.is_in_one_list(ty) && !self.pointed_to.contains(&ty)
    }

    /// The same, and all are blocks of their own.
    pub(crate) fn is_only_in_one_list(&self, ty: TypeId) -> bool {
        self.is_led_to_by_one_list(ty) && !self.parts.contains(&ty)
    }
}
