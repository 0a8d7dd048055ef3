//! Wide values, where all cannot be tried: conditions made true by chosen values are never refuted, and those values always
//! lie within what is known.

use caulk_solver::{
    Answer, BinaryOp, Comparison, Consistency, Facts, NoWrap, Solver, SolverConfig, TermId, TermPool, bits,
};
use proptest::prelude::*;

/// Values where arithmetic goes wrong, if anywhere.
fn interesting() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => prop::sample::select(vec![0u64, 1, 2, 3, 7, 8, 255, 256, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 31]),
        2 => (0u32..64, 0u64..3).prop_map(|(shift, less)| (1u64 << shift).wrapping_sub(less)),
        1 => any::<u64>(),
    ]
}

#[derive(Clone, Debug)]
struct Condition {
    first: (BinaryOp, NoWrap, usize, u64),
    second: (BinaryOp, usize, bool),
    comparison: Comparison,
    against: Result<u64, usize>,
}

fn condition() -> impl Strategy<Value = Condition> {
    use BinaryOp::*;
    let op = || prop::sample::select(vec![Add, Sub, Mul, UDiv, SDiv, URem, SRem, Shl, LShr, AShr, And, Or, Xor]);
    let no_wrap = prop::sample::select(vec![NoWrap::NONE, NoWrap::SIGNED, NoWrap::UNSIGNED, NoWrap::BOTH]);
    let comparison = prop::sample::select(vec![Comparison::Eq, Comparison::Ult, Comparison::Slt]);
    let against = prop_oneof![interesting().prop_map(Ok), (0usize..3).prop_map(Err)];
    ((op(), no_wrap, 0usize..3, interesting()), (op(), 0usize..3, any::<bool>()), comparison, against)
        .prop_map(|(first, second, comparison, against)| Condition { first, second, comparison, against })
}

fn build(pool: &mut TermPool, width: u8, symbols: &[TermId; 3], c: &Condition) -> TermId {
    let (op, no_wrap, symbol, constant) = c.first;
    let constant = pool.constant(width, constant);
    let mut left = pool.binary(op, no_wrap, symbols[symbol], constant);
    let (op, symbol, used) = c.second;
    if used {
        left = pool.binary(op, NoWrap::NONE, left, symbols[symbol]);
    }
    let right = match c.against {
        Ok(value) => pool.constant(width, value),
        Err(symbol) => symbols[symbol],
    };
    pool.compare(c.comparison, left, right)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn what_holds_is_never_refuted(
        width in prop::sample::select(vec![2u8, 8, 31, 32, 33, 63, 64]),
        values in prop::array::uniform3(interesting()),
        conditions in prop::collection::vec(condition(), 1..8),
    ) {
        let config = SolverConfig { z3_rlimit: 20_000, ..SolverConfig::default() };
        let mut pool = TermPool::new(config);
        let symbols: [TermId; 3] = std::array::from_fn(|tag| pool.fresh(width, tag as u32));
        let values = values.map(|value| value & bits::mask(width));
        let mut facts = Facts::new();
        for condition in &conditions {
            let term = build(&mut pool, width, &symbols, condition);
            let Some(value) = pool.evaluate(term, &|symbol| values[symbol.index()]) else { continue };
            let term = if value == 1 { term } else { pool.not(term) };
            prop_assert_ne!(facts.implied(&pool, term), Some(false));
            prop_assert_eq!(facts.assume(&mut pool, term), Consistency::Consistent);
        }
        for (symbol, value) in symbols.into_iter().zip(values) {
            let known = facts.known(&pool, symbol);
            prop_assert!(known.contains(value), "{} not in {:?}", value, known);
        }
        prop_assert_ne!(facts.check(&mut pool, &mut Solver::new()), Answer::Unsat);
    }
}
