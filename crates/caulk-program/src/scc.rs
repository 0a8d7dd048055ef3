//! Strongly connected components, without recursion: a call chain may be longer than the machine's stack.

/// A graph over `0..len` in compressed rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    /// `edges` in any order, with repeats; each row comes out sorted, each target once.
    pub(crate) fn new(len: usize, mut edges: Vec<(u32, u32)>) -> Self {
        edges.sort_unstable();
        edges.dedup();
        let mut starts = vec![0u32; len + 1];
        for &(from, _) in &edges {
            starts[from as usize + 1] += 1;
        }
        for i in 0..len {
            starts[i + 1] += starts[i];
        }
        Self { starts, targets: edges.into_iter().map(|e| e.1).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub(crate) fn row(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// The components in bottom-up order: what a component reaches comes before it. Members are sorted. Tarjan's algorithm
/// with an explicit stack; roots in rising order, so the result depends on the graph alone.
pub(crate) fn components(graph: &Graph) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    for_each_component(graph, |members| found.push(members.to_vec()));
    found
}

/// As [`components`], without keeping them.
pub(crate) fn for_each_component(graph: &Graph, mut visit: impl FnMut(&[u32])) {
    const UNSEEN: u32 = u32::MAX;
    let len = graph.len();
    let mut order = vec![UNSEEN; len];
    let mut low = vec![0u32; len];
    let mut open = vec![false; len];
    let mut stack: Vec<u32> = Vec::new();
    let mut calls: Vec<(u32, u32)> = Vec::new();
    let mut next_order = 0u32;
    for root in 0..len as u32 {
        if order[root as usize] != UNSEEN {
            continue;
        }
        calls.push((root, 0));
        while let Some(&mut (node, ref mut edge)) = calls.last_mut() {
            let n = node as usize;
            if *edge == 0 && order[n] == UNSEEN {
                order[n] = next_order;
                low[n] = next_order;
                next_order += 1;
                open[n] = true;
                stack.push(node);
            }
            if let Some(&target) = graph.row(node).get(*edge as usize) {
                *edge += 1;
                let t = target as usize;
                if order[t] == UNSEEN {
                    calls.push((target, 0));
                } else if open[t] {
                    low[n] = low[n].min(order[t]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent as usize] = low[parent as usize].min(low[n]);
            }
            if low[n] == order[n] {
                let start = stack.iter().rposition(|&m| m == node).expect("an open node is on the stack");
                stack[start..].iter().for_each(|&m| open[m as usize] = false);
                stack[start..].sort_unstable();
                visit(&stack[start..]);
                stack.truncate(start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_come_before_callers_and_cycles_stay_together() {
        let graph = Graph::new(6, vec![(0, 1), (1, 2), (2, 1), (2, 3), (4, 0), (5, 5), (0, 1)]);
        assert_eq!(components(&graph), vec![vec![3], vec![1, 2], vec![0], vec![4], vec![5]]);
        assert_eq!(graph.row(0), [1]);
    }

    #[test]
    fn a_long_chain_does_not_use_the_machine_stack() {
        let len = 1_000_000u32;
        let graph = Graph::new(len as usize, (1..len).map(|i| (i - 1, i)).collect());
        let found = components(&graph);
        assert_eq!(found.len(), len as usize);
        assert_eq!(found[0], vec![len - 1]);
    }

    #[test]
    fn a_long_cycle_is_one_component() {
        let len = 200_000u32;
        let graph = Graph::new(len as usize, (0..len).map(|i| (i, (i + 1) % len)).collect());
        assert_eq!(components(&graph).len(), 1);
    }
}
