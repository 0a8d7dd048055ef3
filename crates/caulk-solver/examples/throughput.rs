//! How many assumptions a second, and what a question to Z3 costs: `cargo run --release -p caulk-solver --example throughput`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::time::Instant;

use caulk_solver::{Answer, Facts, Solver, SolverConfig, TermPool};

const SYMBOLS: u32 = 16;
const ITERATIONS: u32 = 20_000;

fn main() {
    assume_constants();
    fork_and_assume();
    ask_z3();
}

/// Paths of sixteen conditions `x < 10`, each on another symbol, on facts that start empty.
fn assume_constants() {
    let mut pool = TermPool::new(SolverConfig::default());
    let ten = pool.constant(32, 10);
    let symbols: Vec<_> = (0..SYMBOLS).map(|tag| pool.fresh(32, tag)).collect();
    let start = Instant::now();
    for _ in 0..ITERATIONS {
        let mut facts = Facts::new();
        for &symbol in &symbols {
            let condition = pool.slt(symbol, ten);
            facts.assume(&mut pool, condition);
        }
    }
    report("assume x < 10, 16 symbols a path", ITERATIONS * SYMBOLS, start);
}

/// Both ways at each of sixteen branches, asking whether the path is feasible.
fn fork_and_assume() {
    let mut pool = TermPool::new(SolverConfig::default());
    let mut solver = Solver::new();
    let zero = pool.constant(32, 0);
    let symbols: Vec<_> = (0..SYMBOLS).map(|tag| pool.fresh(32, tag)).collect();
    let start = Instant::now();
    for _ in 0..ITERATIONS / 4 {
        let mut facts = Facts::new();
        for &symbol in &symbols {
            let condition = pool.slt(zero, symbol);
            let opposite = pool.not(condition);
            let mut other = facts.clone();
            facts.assume(&mut pool, condition);
            other.assume(&mut pool, opposite);
            assert_eq!(facts.check(&mut pool, &mut solver), Answer::Sat);
            assert_eq!(other.check(&mut pool, &mut solver), Answer::Sat);
        }
    }
    report("fork, assume and check, both ways", ITERATIONS / 4 * SYMBOLS * 2, start);
    println!("    {:?}", pool.stats);
}

/// `x * y == k` with `x < y`: nothing but Z3 can tell.
fn ask_z3() {
    let mut solver = Solver::new();
    for fresh in [false, true] {
        let mut pool = TermPool::new(SolverConfig::default());
        let (x, y) = (pool.fresh(16, 0), pool.fresh(16, 1));
        let product = pool.mul(x, y);
        let start = Instant::now();
        for k in 0..100u64 {
            let mut facts = Facts::new();
            let constant = pool.constant(16, 1001 + k);
            let (equal, less) = (pool.eq(product, constant), pool.ult(x, y));
            facts.assume(&mut pool, equal);
            facts.assume(&mut pool, less);
            facts.check(&mut pool, &mut solver);
            if fresh {
                solver.reset();
            }
        }
        report(if fresh { "Z3, a context each" } else { "Z3, one context" }, 100, start);
        println!("    {:?}", pool.stats);
    }
}

fn report(what: &str, count: u32, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}: {:.0} a second, {:.2} us each", count as f64 / seconds, seconds * 1e6 / count as f64);
}
