//! Conditions that leave their pool: as data, for summaries and caches.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::node::{BinaryOp, Comparison, NoWrap, Node, SymbolId, TermId};
use crate::pool::TermPool;

/// A term as a list of nodes, operands before what is made of them, the last one the whole. Parts used twice stand once.
/// Inputs carry numbers of the client's choosing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Guard {
    nodes: Vec<GuardNode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum GuardNode {
    Const { width: u8, value: u64 },
    Input { width: u8, input: u32 },
    Not(u32),
    Binary(BinaryOp, NoWrap, u32, u32),
    Compare(Comparison, u32, u32),
    ZExt(u8, u32),
    SExt(u8, u32),
    Trunc(u8, u32),
    Ite(u32, u32, u32),
}

/// A guard that no term ever gave, from a damaged file for instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    #[error("a guard has no nodes")]
    Empty,
    #[error("node {0} of a guard refers to a later one")]
    Order(usize),
    #[error("node {0} of a guard has operands of the wrong width")]
    Width(usize),
}

impl Guard {
    /// The condition that always holds.
    pub fn always() -> Guard {
        Guard { nodes: vec![GuardNode::Const { width: 1, value: 1 }] }
    }

    /// How many nodes it has.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The numbers of the inputs, ascending.
    pub fn inputs(&self) -> Vec<u32> {
        let mut inputs: Vec<u32> = self
            .nodes
            .iter()
            .filter_map(|node| match node {
                GuardNode::Input { input, .. } => Some(*input),
                _ => None,
            })
            .collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// A term as data, if every symbol of it has a number as an input.
    pub fn from_term(pool: &TermPool, term: TermId, input: &mut impl FnMut(SymbolId) -> Option<u32>) -> Option<Guard> {
        let mut nodes = Vec::new();
        flatten(pool, term, input, &mut nodes, &mut FxHashMap::default())?;
        Some(Guard { nodes })
    }

    /// The term, with `input` saying what stands for each input of a width. A term of another width is an error.
    pub fn to_term(
        &self,
        pool: &mut TermPool,
        input: &mut impl FnMut(&mut TermPool, u32, u8) -> TermId,
    ) -> Result<TermId, GuardError> {
        let mut terms: Vec<TermId> = Vec::with_capacity(self.nodes.len());
        for (at, &node) in self.nodes.iter().enumerate() {
            let term = build(pool, at, node, &terms, input)?;
            terms.push(term);
        }
        terms.last().copied().ok_or(GuardError::Empty)
    }
}

fn flatten(
    pool: &TermPool,
    term: TermId,
    input: &mut impl FnMut(SymbolId) -> Option<u32>,
    nodes: &mut Vec<GuardNode>,
    memo: &mut FxHashMap<TermId, u32>,
) -> Option<u32> {
    if let Some(&done) = memo.get(&term) {
        return Some(done);
    }
    let mut o = [0; 3];
    for (slot, &operand) in o.iter_mut().zip(&pool.node(term).operands()) {
        *slot = flatten(pool, operand, input, nodes, memo)?;
    }
    let width = pool.width(term);
    let node = match pool.node(term) {
        Node::Const(value) => GuardNode::Const { width, value },
        Node::Symbol(symbol) => GuardNode::Input { width, input: input(symbol)? },
        Node::Not(_) => GuardNode::Not(o[0]),
        Node::Binary(op, no_wrap, ..) => GuardNode::Binary(op, no_wrap, o[0], o[1]),
        Node::Compare(op, ..) => GuardNode::Compare(op, o[0], o[1]),
        Node::ZExt(_) => GuardNode::ZExt(width, o[0]),
        Node::SExt(_) => GuardNode::SExt(width, o[0]),
        Node::Trunc(_) => GuardNode::Trunc(width, o[0]),
        Node::Ite(..) => GuardNode::Ite(o[0], o[1], o[2]),
    };
    let at = nodes.len() as u32;
    nodes.push(node);
    memo.insert(term, at);
    Some(at)
}

fn build(
    pool: &mut TermPool,
    at: usize,
    node: GuardNode,
    terms: &[TermId],
    input: &mut impl FnMut(&mut TermPool, u32, u8) -> TermId,
) -> Result<TermId, GuardError> {
    let get = |index: u32| terms.get(index as usize).copied().ok_or(GuardError::Order(at));
    let fits = |good: bool| if good { Ok(()) } else { Err(GuardError::Width(at)) };
    match node {
        GuardNode::Const { width, value } => {
            fits((1..=64).contains(&width))?;
            Ok(pool.constant(width, value))
        }
        GuardNode::Input { width, input: number } => {
            fits((1..=64).contains(&width))?;
            let term = input(pool, number, width);
            fits(pool.width(term) == width)?;
            Ok(term)
        }
        GuardNode::Not(a) => Ok(pool.not(get(a)?)),
        GuardNode::Binary(op, no_wrap, a, b) => {
            let (a, b) = (get(a)?, get(b)?);
            fits(pool.width(a) == pool.width(b))?;
            Ok(pool.binary(op, no_wrap, a, b))
        }
        GuardNode::Compare(op, a, b) => {
            let (a, b) = (get(a)?, get(b)?);
            fits(pool.width(a) == pool.width(b))?;
            Ok(pool.compare(op, a, b))
        }
        GuardNode::ZExt(width, a) | GuardNode::SExt(width, a) => {
            let a = get(a)?;
            fits(pool.width(a) <= width && width <= 64)?;
            Ok(if matches!(node, GuardNode::ZExt(..)) { pool.zext(a, width) } else { pool.sext(a, width) })
        }
        GuardNode::Trunc(width, a) => {
            let a = get(a)?;
            fits(1 <= width && width <= pool.width(a))?;
            Ok(pool.trunc(a, width))
        }
        GuardNode::Ite(c, a, b) => {
            let (c, a, b) = (get(c)?, get(a)?, get(b)?);
            fits(pool.width(c) == 1 && pool.width(a) == pool.width(b))?;
            Ok(pool.ite(c, a, b))
        }
    }
}
