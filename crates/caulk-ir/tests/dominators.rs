//! The dominator tree, on graphs with a known answer, and against the definition on any graph.

use caulk_ir::text::parse_unit;
use caulk_ir::{Block, BlockId, Body, DominatorTree, FunctionId, Inst, InstId};
use proptest::prelude::*;

fn body(lines: &str) -> Body {
    let mut unit = parse_unit(&format!("define @f(c: i1) {{\n{lines}\n}}")).unwrap_or_else(|e| panic!("{e}"));
    unit.functions[FunctionId(0)].body.take().unwrap()
}

fn idoms(lines: &str) -> Vec<Option<u32>> {
    let body = body(lines);
    let tree = DominatorTree::new(&body);
    body.blocks.keys().map(|b| tree.idom(b).map(|d| d.0)).collect()
}

#[test]
fn branches_meet_at_their_fork() {
    assert_eq!(idoms("branch %c, a, b\na: jump d\nb: jump d\nd: return"), [None, Some(0), Some(0), Some(0)]);
}

#[test]
fn loops_hang_below_their_head() {
    assert_eq!(idoms("jump h\nh: branch %c, b, x\nb: jump h\nx: return"), [None, Some(0), Some(1), Some(1)]);
}

#[test]
fn loops_with_two_ways_in_hang_below_the_fork() {
    assert_eq!(idoms("branch %c, a, b\na: jump b\nb: branch %c, a, x\nx: return"), [None, Some(0), Some(0), Some(2)]);
}

#[test]
fn unreachable_blocks_are_outside() {
    let body = body("jump a\na: return\nb: jump a");
    let tree = DominatorTree::new(&body);
    let (a, b) = (BlockId(1), BlockId(2));
    assert!(!tree.is_reachable(b) && tree.idom(b).is_none());
    assert!(!tree.dominates(b, a) && !tree.dominates(a, b) && !tree.dominates(b, b));
    assert!(tree.dominates(a, a) && !tree.dominates(a, Body::ENTRY));
    assert_eq!(tree.reverse_post_order(), [Body::ENTRY, a]);
    assert_eq!(tree.post_order().collect::<Vec<_>>(), [a, Body::ENTRY]);
}

/// Which blocks can be reached without going through `without`.
fn reachable(edges: &[Vec<u32>], without: Option<usize>) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut stack = if without == Some(0) { vec![] } else { vec![0usize] };
    while let Some(block) = stack.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            stack.extend(edges[block].iter().map(|b| *b as usize).filter(|b| Some(*b) != without));
        }
    }
    seen
}

proptest! {
    /// `a` dominates `b` when without `a` there is no way to `b`.
    #[test]
    fn the_tree_agrees_with_the_definition(edges in (1usize..12).prop_flat_map(|n| {
        prop::collection::vec(prop::collection::vec(0..n as u32, 0..3), n)
    })) {
        let mut body = Body::default();
        for (i, targets) in edges.iter().enumerate() {
            let null = caulk_ir::Operand::Value(InstId(0));
            let targets = targets.iter().map(|t| BlockId(*t)).collect();
            body.insts.push(Inst::IndirectJump { address: null, targets });
            body.blocks.push(Block { first: InstId(i as u32), end: InstId(i as u32 + 1) });
        }
        let tree = DominatorTree::new(&body);
        let all = reachable(&edges, None);
        for a in 0..edges.len() {
            let rest = reachable(&edges, Some(a));
            for b in 0..edges.len() {
                let expected = all[a] && all[b] && !rest[b];
                prop_assert_eq!(tree.dominates(BlockId(a as u32), BlockId(b as u32)), expected, "{} {}", a, b);
            }
        }
    }
}
