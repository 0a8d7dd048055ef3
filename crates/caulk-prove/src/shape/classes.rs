//! What values are declared to point to.

use caulk_ir::entity::Entity;
use caulk_ir::{AddressStep, EntityVec, Inst, InstId, Operand, Type};
use caulk_program::{Program, TypeId};

use super::Shape;
use crate::regions::{Regions, class_of, field_target};
use crate::target::PointsTo;

impl Shape {
    pub(super) fn find_classes(&mut self, program: &Program, regions: &dyn Regions) -> EntityVec<InstId, PointsTo> {
        let declaration = program.function(self.id).declaration;
        for param in self.params().collect::<Vec<_>>() {
            if let Some(p) = declaration.params.get(param.index()).filter(|p| !p.flags.by_value) {
                self.classes[param] = class_of(program, self.unit, p.pointee);
            }
        }
        let order = self.body.reverse_post_order();
        // The second round sees what the first found out of values that come around a loop.
        for _ in 0..2 {
            for block in &order {
                for inst in self.body.blocks[*block].insts() {
                    self.note_class(program, regions, inst);
                }
            }
        }
        std::mem::take(&mut self.classes)
    }

    fn note_class(&mut self, program: &Program, regions: &dyn Regions, inst: InstId) {
        let (value, class) = match &self.body.insts[inst] {
            Inst::Bind { var, value } => {
                let Operand::Value(value) = *value else { return };
                (value, class_of(program, self.unit, self.body.vars[*var].pointee))
            }
            Inst::Load { ty: Type::Ptr, address, .. } => (inst, self.class_of_content(program, regions, *address)),
            // Whose fields are used is a structure, whatever it is declared as.
            Inst::Address { base: Operand::Value(base), steps } => match (steps.first(), self.classes[*base]) {
                (Some(AddressStep::Field { ty, .. }), PointsTo::Any) => {
                    (*base, PointsTo::To { depth: 1, ty: program.resolve_struct(self.unit, *ty) })
                }
                _ => return,
            },
            Inst::Call(_) | Inst::Invoke { .. } => (inst, self.class_of_result(program, inst)),
            Inst::Phi { ty: Type::Ptr, incoming } => {
                let values = incoming.iter().filter_map(|(_, operand)| operand.value());
                (inst, values.fold(PointsTo::Any, |class, value| class.meet(self.classes[value])))
            }
            _ => return,
        };
        self.classes[value] = self.classes[value].meet(class);
    }

    /// What the pointer at an address points to, by the declaration of the field or variable it is.
    fn class_of_content(&self, program: &Program, regions: &dyn Regions, address: Operand) -> PointsTo {
        let (base, way) = self.way(program, address);
        let local = base.value().map(|v| &self.body.insts[v]);
        if let (Some(Inst::Local { var: Some(var), .. }), None) = (local, way.field) {
            let pointee = self.body.vars[*var].pointee;
            if pointee.depth > 0 {
                return class_of(program, self.unit, pointee);
            }
        }
        let in_structure = |ty: TypeId| regions.content(way.inside(program, ty));
        match (way.field, base.value().and_then(|v| self.local_type(program, v))) {
            (Some((ty, offset)), _) => regions.content(field_target(program, ty, offset)),
            (None, Some(ty)) => in_structure(ty),
            (None, None) => regions.content(self.target(program, address)),
        }
    }

    fn class_of_result(&self, program: &Program, inst: InstId) -> PointsTo {
        let targets = program.call_site(self.id, inst).map_or(&[][..], |site| program.targets(site));
        let Some(target) = targets.first() else { return PointsTo::Any };
        let info = program.function(*target);
        class_of(program, info.unit, info.declaration.ret_pointee)
    }
}
