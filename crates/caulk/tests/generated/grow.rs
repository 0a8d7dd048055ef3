//! Generates random functions from a seed, and keeps those that make no mistake but to leak.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config as Proptest, RngAlgorithm, TestRng, TestRunner};

use crate::config::Config;
use crate::run::{is_valid, leaks};
use crate::shape::{Compare, Condition, Function, Iteration, Number, Sink, Source, Statement, Told};

/// Endless but for bad luck: this many are tried for each that is wanted.
const TRIES: usize = 100;

/// The first functions of a seed that never free twice and do something with memory; every other one leaks.
pub(crate) fn functions(config: &Config) -> Vec<Function> {
    let mut seed = [7u8; 32];
    seed[..8].copy_from_slice(&config.seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Proptest::default(), random);
    let strategy = function(config);
    let mut found: Vec<Function> = Vec::new();
    for _ in 0..config.functions * TRIES {
        if found.len() == config.functions {
            break;
        }
        let grown = strategy.new_tree(&mut runner).expect("nothing is filtered").current();
        let is_wanted = is_valid(&grown) && leaks(&grown) == (found.len() % 2 == 0);
        if allocates(&grown.body) && is_wanted && !found.contains(&grown) {
            found.push(grown);
        }
    }
    found
}

fn allocates(block: &[Statement]) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Obtain(_) | Statement::Loop(..) => true,
        Statement::If(_, then, other) => allocates(then) || allocates(other),
        Statement::Offer(_, refused) => allocates(refused),
        _ => false,
    })
}

fn function(config: &Config) -> BoxedStrategy<Function> {
    let body = block(config.max_depth, config.max_statements, true);
    (plain_condition(), source(), body)
        .prop_map(|(flag, first, mut body)| {
            body.insert(0, Statement::Obtain(first));
            Function { flag, body }
        })
        .boxed()
}

fn block(depth: u32, max: usize, is_outer: bool) -> BoxedStrategy<Vec<Statement>> {
    let least = usize::from(is_outer);
    prop::collection::vec(statement(depth, max), least..=max).boxed()
}

fn statement(depth: u32, max: usize) -> BoxedStrategy<Statement> {
    let flat = prop_oneof![
        2 => source().prop_map(Statement::Obtain),
        8 => sink().prop_map(Statement::Give),
        2 => (1..4u8, iteration()).prop_map(|(iterations, iteration)| Statement::Loop(iterations, iteration)),
        1 => Just(Statement::Noise),
        1 => Just(Statement::Return),
    ];
    if depth == 0 {
        return flat.boxed();
    }
    let inner = || block(depth - 1, max.div_ceil(2), false);
    prop_oneof![
        5 => flat,
        4 => (condition(), inner(), inner()).prop_map(|(c, then, other)| Statement::If(c, then, other)),
        2 => (told(), inner()).prop_map(|(told, refused)| Statement::Offer(told, refused)),
    ]
    .boxed()
}

fn number() -> impl Strategy<Value = Number> {
    prop::sample::select(vec![Number::A, Number::B, Number::Flag])
}

fn compare() -> impl Strategy<Value = Compare> {
    prop::sample::select(vec![Compare::Equal, Compare::Unequal, Compare::Less, Compare::Greater])
}

/// A condition that does not look at the pointer.
fn plain_condition() -> BoxedStrategy<Condition> {
    let given = prop::sample::select(vec![Number::A, Number::B]);
    prop_oneof![
        4 => (given, compare(), 0..3).prop_map(|(n, c, k)| Condition::Is(n, c, k)),
        1 => compare().prop_map(Condition::Pair),
    ]
    .boxed()
}

fn condition() -> BoxedStrategy<Condition> {
    prop_oneof![
        4 => plain_condition(),
        2 => prop::sample::select(vec![Compare::Equal, Compare::Unequal]).prop_map(|c| Condition::Is(Number::Flag, c, 0)),
        1 => Just(Condition::HasPointer),
    ]
    .boxed()
}

fn source() -> BoxedStrategy<Source> {
    prop_oneof![
        3 => Just(Source::Plain),
        2 => (0..6u8).prop_map(Source::Wrapper),
        2 => number().prop_map(Source::Status),
    ]
    .boxed()
}

fn sink() -> BoxedStrategy<Sink> {
    prop_oneof![
        6 => Just(Sink::Free),
        2 => (0..6u8).prop_map(Sink::Wrapper),
        2 => number().prop_map(Sink::Given),
        1 => Just(Sink::Box),
        1 => Just(Sink::Global),
        1 => Just(Sink::Nowhere),
    ]
    .boxed()
}

fn told() -> BoxedStrategy<Told> {
    prop_oneof![number().prop_map(Told::Frees), number().prop_map(Told::Stores)].boxed()
}

fn iteration() -> BoxedStrategy<Iteration> {
    prop_oneof![
        4 => Just(Iteration::Frees),
        1 => Just(Iteration::Forgets),
        1 => plain_condition().prop_map(Iteration::FreesIf),
        1 => plain_condition().prop_map(Iteration::Leaves),
    ]
    .boxed()
}
