//! Each layer answers what it should, and no dearer one is asked.

use caulk_solver::{Answer, BinaryOp, Consistency, Facts, NoWrap, Solver, SolverConfig, SolverStats, TermId, TermPool};

struct Path {
    pool: TermPool,
    facts: Facts,
    solver: Solver,
}

fn path() -> Path {
    Path { pool: TermPool::new(SolverConfig::default()), facts: Facts::new(), solver: Solver::new() }
}

impl Path {
    fn symbol(&mut self) -> TermId {
        self.pool.fresh(32, 0)
    }

    fn k(&mut self, value: i64) -> TermId {
        self.pool.constant(32, value as u64)
    }

    fn assume(&mut self, term: TermId) -> Consistency {
        self.facts.assume(&mut self.pool, term)
    }

    fn holds(&mut self, term: TermId) {
        assert_eq!(self.assume(term), Consistency::Consistent);
    }

    fn fails(&mut self, term: TermId) {
        assert_eq!(self.assume(term), Consistency::Contradiction);
    }

    fn check(&mut self) -> Answer {
        self.facts.check(&mut self.pool, &mut self.solver)
    }

    fn eq(&mut self, x: TermId, value: i64) -> TermId {
        let value = self.k(value);
        self.pool.eq(x, value)
    }

    fn ne(&mut self, x: TermId, value: i64) -> TermId {
        let equal = self.eq(x, value);
        self.pool.not(equal)
    }
}

#[test]
fn a_condition_and_its_opposite() {
    let mut p = path();
    let (x, y) = (p.symbol(), p.symbol());
    let product = p.pool.mul(x, y);
    let less = p.pool.ult(product, x);
    p.holds(less);
    let at_least = p.pool.uge(product, x);
    p.fails(at_least);
    assert_eq!((p.pool.stats.apparent, p.pool.stats.domains), (1, 0));
    assert_eq!(p.check(), Answer::Unsat);
    assert_eq!(p.pool.stats.z3(), 0);
}

#[test]
fn intervals() {
    let mut p = path();
    let x = p.symbol();
    let (ten, five) = (p.k(10), p.k(5));
    let above = p.pool.sgt(x, ten);
    p.holds(above);
    let also = p.pool.sgt(x, five);
    assert_eq!(p.facts.implied(&p.pool, also), Some(true));
    let below = p.pool.sle(x, five);
    assert_eq!(p.facts.implied(&p.pool, below), Some(false));
    p.fails(below);
    assert_eq!((p.pool.stats.apparent, p.pool.stats.domains), (0, 1));
}

#[test]
fn cases_of_a_switch() {
    let mut p = path();
    let x = p.symbol();
    for value in [1, 2, 3] {
        let other = p.ne(x, value);
        p.holds(other);
    }
    let mut taken = p.facts.clone();
    let two = p.eq(x, 2);
    p.fails(two);
    let (zero, four) = (p.k(0), p.k(4));
    let (low, high) = (p.pool.sgt(x, zero), p.pool.slt(x, four));
    assert_eq!(taken.assume(&mut p.pool, low), Consistency::Consistent);
    assert_eq!(taken.assume(&mut p.pool, high), Consistency::Contradiction);
}

#[test]
fn flags_bit_by_bit() {
    let mut p = path();
    let flags = p.symbol();
    let bit = |p: &mut Path, mask: i64| {
        let mask = p.k(mask);
        let bits = p.pool.and(flags, mask);
        p.pool.nonzero(bits)
    };
    let (four, eight, any) = (bit(&mut p, 4), bit(&mut p, 8), bit(&mut p, 12));
    p.holds(four);
    let no_eight = p.pool.not(eight);
    p.holds(no_eight);
    assert_eq!(p.facts.implied(&p.pool, any), Some(true));
    let five = p.k(5);
    let masked = p.pool.and(flags, five);
    let clear = p.eq(masked, 1);
    p.fails(clear);
}

#[test]
fn equal_terms_share_what_is_known() {
    let mut p = path();
    let (x, y, z) = (p.symbol(), p.symbol(), p.symbol());
    let one = p.k(1);
    let next = p.pool.add(y, one);
    let equal = p.pool.eq(x, next);
    p.holds(equal);
    let same = p.pool.eq(z, y);
    p.holds(same);
    let five = p.eq(z, 5);
    p.holds(five);
    assert_eq!(p.facts.value(&p.pool, x), Some(6));
    let square = p.pool.mul(x, x);
    assert_eq!(p.facts.value(&p.pool, square), Some(36));
    let wrong = p.pool.eq(x, z);
    p.fails(wrong);
}

#[test]
fn equal_arguments_of_equal_operators() {
    let mut p = path();
    let (x, y, z) = (p.symbol(), p.symbol(), p.symbol());
    let (a, b) = (p.pool.mul(x, z), p.pool.mul(y, z));
    let same = p.pool.eq(x, y);
    p.holds(same);
    let equal = p.pool.eq(a, b);
    assert_eq!(p.facts.implied(&p.pool, equal), Some(true));
}

#[test]
fn a_fact_is_looked_at_again_when_more_is_known() {
    let mut p = path();
    let (x, y) = (p.symbol(), p.symbol());
    let product = p.pool.mul(x, y);
    let fact = p.eq(product, 26);
    p.holds(fact);
    let five = p.eq(x, 5);
    p.holds(five);
    let four = p.eq(y, 4);
    p.fails(four);
    assert_eq!(p.pool.stats.z3(), 0);
}

#[test]
fn a_disjunction_with_one_way_left_takes_it() {
    let mut p = path();
    let (x, y) = (p.symbol(), p.symbol());
    let (a, b) = (p.eq(x, 1), p.eq(y, 2));
    let either = p.pool.or(a, b);
    p.holds(either);
    let not_a = p.pool.not(a);
    p.holds(not_a);
    assert_eq!(p.facts.value(&p.pool, y), Some(2));
}

#[test]
fn a_status_tells_which_way_a_callee_went() {
    let mut p = path();
    let (x, zero, minus) = (p.symbol(), p.k(0), p.k(-1));
    let failed = p.pool.slt(x, zero);
    let other = p.symbol();
    let status = p.pool.ite(failed, minus, other);
    let fine = p.pool.sge(other, zero);
    p.holds(fine);
    let bad = p.pool.slt(status, zero);
    p.holds(bad);
    assert_eq!(p.facts.implied(&p.pool, failed), Some(true));
}

#[test]
fn promises_narrow_operands() {
    let mut p = path();
    let (i, n) = (p.symbol(), p.symbol());
    let one = p.k(1);
    let next = p.pool.binary(BinaryOp::Add, NoWrap::SIGNED, i, one);
    let less = p.pool.slt(next, n);
    p.holds(less);
    let ten = p.k(10);
    let small = p.pool.sle(n, ten);
    p.holds(small);
    assert_eq!(p.facts.known(&p.pool, i).signed_high, 8);
}

#[test]
fn an_example_saves_asking_z3() {
    let mut p = path();
    let null = p.pool.constant(64, 0);
    let pointers: Vec<TermId> = (0..6).map(|tag| p.pool.fresh(64, tag)).collect();
    for (at, &a) in pointers.iter().enumerate() {
        let some = p.pool.ne(a, null);
        p.holds(some);
        for &b in &pointers[..at] {
            let apart = p.pool.ne(a, b);
            p.holds(apart);
        }
    }
    assert_eq!(p.check(), Answer::Sat);
    assert_eq!(p.check(), Answer::Sat);
    assert_eq!((p.pool.stats.check_repaired, p.pool.stats.check_reused, p.pool.stats.z3()), (1, 1, 0));
}

#[test]
fn chains_of_comparisons() {
    let mut p = path();
    let (i, n, m, k) = (p.symbol(), p.symbol(), p.symbol(), p.symbol());
    let facts = [p.pool.slt(i, n), p.pool.sle(n, m), p.pool.eq(m, k)];
    for fact in facts {
        p.holds(fact);
    }
    let less = p.pool.slt(i, k);
    assert_eq!(p.facts.implied(&p.pool, less), Some(true));
    let back = p.pool.sle(k, i);
    p.fails(back);
}

#[test]
fn z3_gets_what_is_left_and_only_once() {
    let mut p = path();
    let (x, y, unrelated) = (p.symbol(), p.symbol(), p.symbol());
    let seven = p.eq(unrelated, 7);
    p.holds(seven);
    let (mask, both) = (p.pool.and(x, y), p.pool.or(x, y));
    let above = p.pool.ugt(mask, both);
    p.holds(above);
    let mut again = p.facts.clone();
    assert_eq!(p.check(), Answer::Unsat);
    assert_eq!(p.pool.stats.z3_unsat, 1);
    assert_eq!(again.check(&mut p.pool, &mut p.solver), Answer::Unsat);
    assert_eq!((p.pool.stats.z3_unsat, p.pool.stats.check_cached), (1, 1));
}

#[test]
fn a_budget_that_runs_out_is_unknown() {
    let mut p = path();
    p.pool = TermPool::new(SolverConfig { z3_rlimit: 500, ..SolverConfig::default() });
    let (x, y) = (p.symbol(), p.symbol());
    let (one, product) = (p.k(1), p.pool.mul(x, y));
    let prime = p.eq(product, 0x7fff_ffed);
    p.holds(prime);
    let (more, less) = (p.pool.ugt(x, one), p.pool.ugt(y, x));
    p.holds(more);
    p.holds(less);
    let large = p.k(0x10000);
    let bounded = p.pool.ult(y, large);
    p.holds(bounded);
    assert_eq!(p.check(), Answer::Unknown);
    assert_eq!(p.pool.stats.z3_unknown, 1);
}

#[test]
fn examples_make_the_facts_true() {
    let mut p = path();
    let (x, y) = (p.symbol(), p.symbol());
    let sum = p.pool.add(x, y);
    let facts = [p.eq(sum, 100), p.pool.slt(x, y), p.ne(x, 0)];
    for fact in facts {
        p.holds(fact);
    }
    let symbols = [p.pool.as_symbol(x).unwrap(), p.pool.as_symbol(y).unwrap()];
    let values = p.solver.model(&mut p.pool, &mut p.facts, &symbols).unwrap();
    assert_eq!((values[0] + values[1]) & 0xffff_ffff, 100);
}

#[test]
fn a_join_keeps_what_both_know() {
    let mut p = path();
    let (x, y) = (p.symbol(), p.symbol());
    let zero = p.k(0);
    let shared = p.pool.sgt(y, zero);
    p.holds(shared);
    let mut other = p.facts.clone();
    let (three, five) = (p.eq(x, 3), p.eq(x, 5));
    p.holds(three);
    other.assume(&mut p.pool, five);
    let joined = p.facts.join(&other, &mut p.pool);
    assert_eq!(joined.implied(&p.pool, shared), Some(true));
    let known = joined.known(&p.pool, x);
    assert_eq!((known.low, known.high), (3, 5));
    assert_eq!(joined.implied(&p.pool, three), None);
}

#[test]
fn forgetting_a_symbol_keeps_what_followed_through_it() {
    let mut p = path();
    let (x, y, z) = (p.symbol(), p.symbol(), p.symbol());
    let three = p.k(3);
    let facts = [p.pool.eq(x, y), p.pool.eq(y, z), p.pool.sgt(y, three)];
    for fact in facts {
        p.holds(fact);
    }
    let gone = p.pool.as_symbol(y).unwrap();
    let rest = p.facts.retain_symbols(&mut p.pool, |symbol| symbol != gone);
    assert!(rest.literals().iter().all(|&literal| !p.pool.symbols(literal).contains(&gone)));
    let (equal, above) = (p.pool.eq(x, z), p.pool.sgt(x, three));
    assert_eq!(rest.implied(&p.pool, equal), Some(true));
    assert_eq!(rest.implied(&p.pool, above), Some(true));
}

#[test]
fn counters_add_up() {
    let mut p = path();
    let x = p.symbol();
    let three = p.eq(x, 3);
    p.holds(three);
    p.holds(three);
    let mut total = SolverStats::default();
    total += p.pool.stats;
    total += p.pool.stats;
    assert_eq!((total.assumed, total.implied), (4, 2));
    total.reset();
    assert_eq!(total, SolverStats::default());
}

/// The same work, alone and after other work on the same solver, in two threads.
#[test]
fn answers_do_not_depend_on_what_was_asked_before() {
    fn work(solver: &mut Solver, seed: u64) -> (Vec<Answer>, Vec<Option<Vec<u64>>>, SolverStats) {
        let mut pool = TermPool::new(SolverConfig { z3_rlimit: 20_000, ..SolverConfig::default() });
        let (x, y) = (pool.fresh(16, 0), pool.fresh(16, 1));
        let symbols = [pool.as_symbol(x).unwrap(), pool.as_symbol(y).unwrap()];
        let product = pool.mul(x, y);
        let (mut answers, mut models) = (Vec::new(), Vec::new());
        for iteration in 0..8u64 {
            let mut facts = Facts::new();
            let value = pool.constant(16, seed * 977 + iteration * 31);
            let (equal, less) = (pool.eq(product, value), pool.ult(x, y));
            facts.assume(&mut pool, equal);
            facts.assume(&mut pool, less);
            answers.push(facts.check(&mut pool, solver));
            models.push(solver.model(&mut pool, &mut facts, &symbols));
        }
        (answers, models, pool.stats)
    }
    let alone = work(&mut Solver::new(), 3);
    let after = std::thread::spawn(|| {
        let mut solver = Solver::new();
        work(&mut solver, 1);
        work(&mut solver, 2);
        work(&mut solver, 3)
    });
    assert_eq!(after.join().unwrap(), alone);
}
