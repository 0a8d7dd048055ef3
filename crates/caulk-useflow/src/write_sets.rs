//! A set of numbers for each function. In a large program there are as many fields as functions, and a table of bits for all of both would
//! grow with the square of the program. So a set holds only the words of bits in which there is something, and sets that are equal are one:
//! what calls the same code writes the same.

use std::sync::Arc;

use caulk_ir::EntityVec;
use caulk_program::FuncId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Words that are not zero, with their places. Sorted.
type Words = Arc<[(u32, u64)]>;

#[derive(Debug, Default)]
pub(crate) struct WriteSets {
    sets: EntityVec<FuncId, Words>,
}

/// A set that is being put together.
struct Sum {
    words: Vec<u64>,
    /// Places of words that are not zero.
    touched: Vec<u32>,
}

impl Sum {
    fn add(&mut self, words: &[(u32, u64)]) {
        for (place, bits) in words {
            let word = &mut self.words[*place as usize];
            if *word == 0 {
                self.touched.push(*place);
            }
            *word |= bits;
        }
    }

    /// What was added, and nothing is left of it.
    fn take(&mut self) -> Vec<(u32, u64)> {
        self.touched.sort_unstable();
        let words = &mut self.words;
        self.touched.drain(..).map(|place| (place, std::mem::take(&mut words[place as usize]))).collect()
    }
}

impl WriteSets {
    /// What functions write by themselves, as numbers below `numbers`; and for each component of the call graph, bottom-up, its members.
    /// Through a cycle of calls sets are followed `max_depth` calls deep.
    pub(crate) fn new<'c, C: Iterator<Item = FuncId>>(
        direct: impl ExactSizeIterator<Item = Vec<usize>>,
        numbers: usize,
        components: impl Iterator<Item = &'c Vec<FuncId>>,
        callees: impl Fn(FuncId) -> C,
        max_depth: usize,
    ) -> Self {
        let mut sum = Sum { words: vec![0; numbers.div_ceil(64)], touched: Vec::new() };
        let mut known: FxHashSet<Words> = FxHashSet::default();
        let mut shared = |words: Vec<(u32, u64)>| match known.get(words.as_slice()) {
            Some(same) => Arc::clone(same),
            None => {
                let words: Words = words.into();
                known.insert(Arc::clone(&words));
                words
            }
        };
        let own = |numbers: Vec<usize>| {
            numbers.iter().for_each(|number| sum.add(&[((number / 64) as u32, 1 << (number % 64))]));
            shared(sum.take())
        };
        let mut sets: EntityVec<FuncId, Words> = direct.map(own).collect::<Vec<_>>().into();
        // Bottom-up, so that the sets of callees outside of a component are complete.
        for component in components {
            let inside: FxHashSet<FuncId> = component.iter().copied().collect();
            for function in component {
                sum.add(&sets[*function]);
                callees(*function).filter(|callee| !inside.contains(callee)).for_each(|callee| sum.add(&sets[callee]));
                sets[*function] = shared(sum.take());
            }
            let depth = if component.len() > 1 { max_depth } else { 0 };
            for _ in 0..depth {
                let before: FxHashMap<FuncId, Words> = component.iter().map(|f| (*f, Arc::clone(&sets[*f]))).collect();
                for function in component {
                    sum.add(&sets[*function]);
                    callees(*function).filter_map(|callee| before.get(&callee)).for_each(|set| sum.add(set));
                    sets[*function] = shared(sum.take());
                }
            }
        }
        Self { sets }
    }

    pub(crate) fn contains(&self, function: FuncId, number: usize) -> bool {
        let words = &self.sets[function];
        let place = (number / 64) as u32;
        words.binary_search_by_key(&place, |word| word.0).is_ok_and(|at| words[at].1 & (1 << (number % 64)) != 0)
    }

    /// The numbers in the set of a function. Ascending.
    pub(crate) fn iter(&self, function: FuncId) -> impl Iterator<Item = usize> + '_ {
        let bits = |(place, word): &(u32, u64)| {
            let (place, word) = (*place as usize, *word);
            (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| place * 64 + bit)
        };
        self.sets[function].iter().flat_map(bits)
    }
}

#[cfg(test)]
mod tests {
    use caulk_ir::Entity;

    use super::*;

    #[test]
    fn callers_have_what_callees_have_and_equal_sets_are_one() {
        let functions = [0, 1, 2, 3, 4].map(FuncId::from_index);
        // 0 and 1 call each other; 1 calls 2; 3 and 4 call 0.
        let calls: [&[usize]; 5] = [&[1], &[0, 2], &[], &[0], &[0]];
        let direct = vec![vec![70], vec![], vec![3, 200], vec![], vec![]];
        let components = [vec![functions[2]], vec![functions[0], functions[1]], vec![functions[3]], vec![functions[4]]];
        let callees = |f: FuncId| calls[f.index()].iter().map(|callee| FuncId::from_index(*callee));
        let sets = WriteSets::new(direct.into_iter(), 201, components.iter(), callees, 3);
        assert_eq!(sets.iter(functions[2]).collect::<Vec<_>>(), [3, 200]);
        for caller in [functions[0], functions[1], functions[3], functions[4]] {
            assert_eq!(sets.iter(caller).collect::<Vec<_>>(), [3, 70, 200]);
        }
        assert!(Arc::ptr_eq(&sets.sets[functions[3]], &sets.sets[functions[4]]));
        assert!(sets.contains(functions[3], 70) && !sets.contains(functions[2], 70) && !sets.contains(functions[2], 2));
    }
}
