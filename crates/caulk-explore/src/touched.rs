//! Which instructions of a function may free, keep or move an object, found without executing them: what a path passes by
//! matters to a reader if the object could have been freed there.

use caulk_ir::{Body, Constant, EntityVec, Inst, InstId, Operand, Type};
use caulk_memory::PathRoot;
use caulk_program::GlobalVarId;
use caulk_summary::{Destination, Subject};
use rustc_hash::FxHashSet;

use crate::frame::Frame;
use crate::machine::Machine;

/// Values that may lead to one object: its address, what was made from that, and memory of the function that holds it.
pub(crate) struct Touched {
    leads: EntityVec<InstId, bool>,
    globals: FxHashSet<GlobalVarId>,
    /// The object is a descriptor, so numbers lead to it.
    is_number: bool,
}

impl Touched {
    /// Starts at the call that makes the object: at its result, if that names the object, or at what it was given to put the object into.
    pub(crate) fn new(frame: &Frame<'_>, allocation: InstId, is_result: bool) -> Self {
        let body = frame.body;
        let is_number = is_result && !is_wide(body.insts[allocation].result_type());
        let leads = vec![false; body.insts.len()].into();
        let mut touched = Self { leads, globals: FxHashSet::default(), is_number };
        match body.insts[allocation].call() {
            Some(call) if !is_result => {
                for arg in call.args.iter().filter(|arg| body.operand_type(**arg) == Type::Ptr) {
                    touched.mark_holder(frame, *arg);
                }
            }
            _ => touched.leads[allocation] = true,
        }
        // Each pass marks at least one value more, and few are needed: loops carry values around once or twice.
        while touched.pass(frame) {}
        touched
    }

    fn pass(&mut self, frame: &Frame<'_>) -> bool {
        let mut is_changed = false;
        for (id, inst) in frame.body.insts.iter() {
            match inst {
                Inst::Store { value, address, .. } if self.leads_to(frame, *value) => {
                    is_changed |= self.mark_holder(frame, *address);
                }
                Inst::Copy { dst, src, .. } if self.leads_to(frame, *src) => {
                    is_changed |= self.mark_holder(frame, *dst);
                }
                Inst::Load { .. }
                | Inst::Address { .. }
                | Inst::Cast { .. }
                | Inst::Phi { .. }
                | Inst::Select { .. }
                | Inst::Insert { .. }
                | Inst::Extract { .. }
                    if !self.leads[id] && (is_wide(inst.result_type()) || self.is_number) =>
                {
                    let mut is_any = false;
                    inst.for_each_operand(|operand| is_any |= self.leads_to(frame, *operand));
                    self.leads[id] = is_any;
                    is_changed |= is_any;
                }
                _ => {}
            }
        }
        is_changed
    }

    fn leads_to(&self, frame: &Frame<'_>, operand: Operand) -> bool {
        match operand {
            Operand::Value(v) => self.leads[v],
            Operand::Const(_) => global_of(frame, operand).is_some_and(|global| self.globals.contains(&global)),
        }
    }

    /// The memory at an address holds the object. Whether that is new.
    fn mark_holder(&mut self, frame: &Frame<'_>, address: Operand) -> bool {
        let mut at = address;
        loop {
            match at {
                Operand::Const(_) => return global_of(frame, at).is_some_and(|global| self.globals.insert(global)),
                Operand::Value(v) => match &frame.body.insts[v] {
                    Inst::Address { base, .. } | Inst::Cast { value: base, .. } => at = *base,
                    _ => return !std::mem::replace(&mut self.leads[v], true),
                },
            }
        }
    }

    /// Whether an instruction may end the function's care for the object: it is freed, kept or stored elsewhere.
    pub(crate) fn is_taken_at(&self, machine: &mut Machine<'_>, inst: InstId) -> bool {
        let frame = machine.frame;
        match &frame.body.insts[inst] {
            Inst::Store { value, address, .. } => self.leads_to(frame, *value) && !is_local(frame.body, *address),
            Inst::Call(call) | Inst::Invoke { call, .. } => {
                let given = |index: &u32| call.args.get(*index as usize).is_some_and(|arg| self.leads_to(frame, *arg));
                if !(0..call.args.len() as u32).any(|index| given(&index)) {
                    return false;
                }
                let Some(effect) = machine.effect(inst) else { return false };
                effect.unknown
                    || effect.summary.actions.iter().any(|action| match &action.subject {
                        Subject::Value(path) => {
                            let is_renewed = action.to == Destination::Renew;
                            !is_renewed && matches!(path.root, PathRoot::Param(index) if given(&index))
                        }
                        Subject::Alloc(_) => false,
                    })
            }
            _ => false,
        }
    }
}

fn is_wide(ty: Type) -> bool {
    !matches!(ty, Type::Int(bits) if bits < 64)
}

fn global_of(frame: &Frame<'_>, operand: Operand) -> Option<GlobalVarId> {
    match frame.body.constant(operand)? {
        Constant::Global { global, .. } => frame.program.resolve_global(frame.unit, global).first().copied(),
        _ => None,
    }
}

fn is_local(body: &Body, address: Operand) -> bool {
    let mut at = address;
    while let Operand::Value(v) = at {
        match &body.insts[v] {
            Inst::Local { .. } => return true,
            Inst::Address { base, .. } | Inst::Cast { value: base, .. } => at = *base,
            _ => return false,
        }
    }
    false
}
