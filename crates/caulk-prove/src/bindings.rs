//! How long variables of the source hold on to values.
//!
//! A variable that is still in scope refers to what it was assigned, used or not. So a value is held until every variable
//! bound to it is assigned again or goes out of scope.

use caulk_ir::entity::Entity;
use caulk_ir::{BlockId, Constant, EntityVec, Inst, InstId, Operand, VarId};

use crate::shape::Shape;

/// What a variable holds at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// It is not in scope, or was never assigned.
    Nothing,
    This(Operand),
    /// Different things, depending on the way here.
    Unknown,
}

/// Where variables let go of values.
#[derive(Debug, Default)]
pub struct Bindings {
    /// Values that a variable holds up to this instruction.
    until: EntityVec<InstId, Vec<InstId>>,
    /// Values that a variable holds at the end of a block and no more at the beginning of the next.
    to_end: EntityVec<BlockId, Vec<(BlockId, InstId)>>,
}

impl Bindings {
    /// None if there are more blocks times variables than `max_cells`, or if it takes more than `max_iterations` to find out.
    pub fn new(shape: &Shape, max_cells: usize, max_iterations: usize) -> Option<Self> {
        let body = &shape.body;
        let blocks = body.blocks.len();
        if blocks * body.vars.len() > max_cells {
            return None;
        }
        let nothing = vec![Held::Nothing; body.vars.len()];
        let mut found =
            Self { until: vec![Vec::new(); body.insts.len()].into(), to_end: vec![Vec::new(); blocks].into() };
        let mut out: EntityVec<BlockId, Option<Vec<Held>>> = vec![None; blocks].into();
        let order = body.reverse_post_order();
        let mut changed = true;
        for iteration in 0.. {
            if !changed {
                break;
            }
            if iteration >= max_iterations {
                return None;
            }
            changed = false;
            for block in &order {
                let mut held = found.enter(shape, *block, &out).unwrap_or_else(|| nothing.clone());
                body.blocks[*block].insts().for_each(|inst| step(shape, inst, &mut held, |_| {}));
                // Once unknown, always unknown: so this comes to an end.
                let held = settle(out[*block].as_ref(), held);
                changed |= out[*block].as_ref() != Some(&held);
                out[*block] = Some(held);
            }
        }
        for block in &order {
            let mut held = found.enter(shape, *block, &out).unwrap_or_else(|| nothing.clone());
            found.note_edges(shape, *block, &held, &out);
            for inst in body.blocks[*block].insts() {
                let mut gone = Vec::new();
                step(shape, inst, &mut held, |operand| gone.extend(shape.holder(operand)));
                found.until[inst] = gone;
            }
        }
        Some(found)
    }

    pub fn until(&self, inst: InstId) -> &[InstId] {
        self.until.get(inst).map_or(&[], Vec::as_slice)
    }

    pub fn to_end(&self, from: BlockId, to: BlockId) -> impl Iterator<Item = InstId> + '_ {
        let all = self.to_end.get(from).into_iter().flatten();
        all.filter(move |(next, _)| *next == to).map(|(_, value)| *value)
    }

    /// What variables hold where a block begins; None for the entry.
    fn enter(&self, shape: &Shape, block: BlockId, out: &EntityVec<BlockId, Option<Vec<Held>>>) -> Option<Vec<Held>> {
        let before: Vec<(BlockId, &Vec<Held>)> =
            shape.predecessors[block].iter().filter_map(|p| Some((*p, out[*p].as_ref()?))).collect();
        let vars = before.first()?.1.len();
        Some((0..vars).map(|var| merge(shape, block, &before, var)).collect())
    }

    fn note_edges(
        &mut self,
        shape: &Shape,
        block: BlockId,
        held: &[Held],
        out: &EntityVec<BlockId, Option<Vec<Held>>>,
    ) {
        for from in &shape.predecessors[block] {
            let Some(before) = &out[*from] else { continue };
            for (then, now) in before.iter().zip(held) {
                let Held::This(operand) = then else { continue };
                if let Some(value) = shape.holder(*operand).filter(|_| then != now) {
                    self.to_end[*from].push((block, value));
                }
            }
        }
    }
}

/// A block's result may only become less known from round to round.
fn settle(before: Option<&Vec<Held>>, now: Vec<Held>) -> Vec<Held> {
    let Some(before) = before else { return now };
    // What changes from round to round is not known either.
    let settled = |(then, now): (&Held, Held)| if *then == now { now } else { Held::Unknown };
    before.iter().zip(now).map(settled).collect()
}

fn step(shape: &Shape, inst: InstId, held: &mut [Held], mut gone: impl FnMut(Operand)) {
    let mut let_go = |var: VarId, now: Held| {
        if let Held::This(operand) = std::mem::replace(&mut held[var.index()], now) {
            gone(operand);
        }
    };
    match &shape.body.insts[inst] {
        Inst::Bind { var, value } => let_go(*var, Held::This(*value)),
        Inst::Unbind { var } => let_go(*var, Held::Nothing),
        Inst::Return { .. } | Inst::Resume { .. } => {
            shape.body.vars.keys().for_each(|var| let_go(var, Held::Nothing));
        }
        _ => {}
    }
}

fn merge(shape: &Shape, block: BlockId, before: &[(BlockId, &Vec<Held>)], var: usize) -> Held {
    let first = before[0].1[var];
    // Where a loop begins that was not gone through yet, a variable assigned in it will be a phi.
    let is_complete = before.len() == shape.predecessors[block].len();
    let bound_values = shape.bound_values(VarId::from_index(var));
    let is_settled = is_complete || bound_values.len() < 2;
    if is_settled && before.iter().all(|(_, held)| held[var] == first) {
        return first;
    }
    // The phi that stands for the variable takes from each side what the variable held there.
    for inst in shape.body.blocks[block].insts() {
        let Inst::Phi { incoming, .. } = &shape.body.insts[inst] else { break };
        let takes = |(from, held): &(BlockId, &Vec<Held>)| {
            shape.taken(inst, *from).is_some_and(|operand| is_same(shape, held[var], operand))
        };
        let seen = |from: BlockId| before.binary_search_by_key(&from, |(b, _)| *b).is_ok();
        let is_likely = |operand: Operand| {
            let is_phi = operand.value().is_some_and(|v| matches!(shape.body.insts[v], Inst::Phi { .. }));
            is_phi || bound_values.contains(&operand)
        };
        let rest_fits = || incoming.iter().filter(|(from, _)| !seen(*from)).all(|(_, operand)| is_likely(*operand));
        if before.iter().all(takes) && rest_fits() {
            return Held::This(inst.into());
        }
    }
    if before.iter().all(|(_, held)| held[var] == first) { first } else { Held::Unknown }
}

fn is_same(shape: &Shape, held: Held, operand: Operand) -> bool {
    let is_null =
        |operand: Operand| shape.body.constant(operand).is_some_and(|c| c.is_zero() || matches!(c, Constant::Undef(_)));
    match held {
        Held::This(this) => this == operand || (is_null(this) && is_null(operand)),
        // Never assigned.
        Held::Nothing => is_null(operand),
        Held::Unknown => false,
    }
}
