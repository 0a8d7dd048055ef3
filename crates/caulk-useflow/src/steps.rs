//! Which instructions can matter to any object: the vertices of SMOKE's sparse graph. The rest is passed over.

use caulk_ir::{BlockId, Body, Entity, Inst, InstId, Operand, Type};

/// An instruction that matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub inst: InstId,
    /// Matters to facts too, and so to objects that are freed or kept already. The others only name or hold an object.
    pub changes_facts: bool,
}

/// The steps of each block, in order.
#[derive(Debug)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    /// Where the steps of each block begin; one more at the end.
    starts: Vec<u32>,
}

impl Steps {
    pub(crate) fn new(body: &Body) -> Self {
        let mut steps = Vec::with_capacity(body.insts.len() / 2);
        let mut starts = Vec::with_capacity(body.blocks.len() + 1);
        for block in body.blocks.values() {
            starts.push(steps.len() as u32);
            steps.extend(block.insts().filter_map(|inst| step(body, inst)));
        }
        starts.push(steps.len() as u32);
        Self { steps, starts }
    }

    /// The steps of a block from an instruction on.
    pub(crate) fn range(&self, block: BlockId, from: InstId) -> std::ops::Range<usize> {
        let (start, end) = (self.starts[block.index()] as usize, self.starts[block.index() + 1] as usize);
        let skipped = self.steps[start..end].partition_point(|step| step.inst < from);
        start + skipped..end
    }

    pub(crate) fn get(&self, index: usize) -> Step {
        self.steps[index]
    }
}

/// Whether a variable may get a descriptor: it holds it until its scope ends, as a pointer does.
fn may_be_descriptor(body: &Body, value: Operand) -> bool {
    let Operand::Value(by) = value else { return false };
    let inst = &body.insts[by];
    inst.result_type() == Type::Int(32) && (inst.call().is_some() || matches!(inst, Inst::Phi { .. }))
}

fn step(body: &Body, inst: InstId) -> Option<Step> {
    let kind = &body.insts[inst];
    let may_point = |ty: Type| matches!(ty, Type::Ptr | Type::Int(64..) | Type::Aggregate(_) | Type::Vector(_));
    let matters = match kind {
        Inst::Param { .. } | Inst::Local { .. } | Inst::Phi { .. } | Inst::Compare { .. } | Inst::LandingPad { .. } => {
            false
        }
        Inst::Load { ty, .. } => may_point(*ty),
        Inst::Binary { .. } | Inst::Cast { .. } | Inst::Select { .. } | Inst::Insert { .. } | Inst::Extract { .. } => {
            may_point(kind.result_type())
        }
        Inst::Bind { value, .. } => may_point(body.operand_type(*value)) || may_be_descriptor(body, *value),
        _ => true,
    };
    let changes_facts = kind.is_terminator()
        || kind.call().is_some()
        || matches!(kind, Inst::Store { .. } | Inst::Copy { .. } | Inst::Fill { .. });
    matters.then_some(Step { inst, changes_facts })
}
