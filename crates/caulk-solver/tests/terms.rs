//! Building, printing, replacing: what each condition that C code is full of becomes.

use caulk_solver::{BinaryOp, NoWrap, SolverConfig, SymbolId, TermId, TermPool};
use rustc_hash::FxHashMap;

struct Bench {
    pool: TermPool,
    n: TermId,
    m: TermId,
    flags: TermId,
    p: TermId,
    q: TermId,
    c: TermId,
    ok: TermId,
}

fn bench() -> Bench {
    let mut pool = TermPool::new(SolverConfig::default());
    let widths = [32, 32, 32, 64, 64, 8, 1];
    let [n, m, flags, p, q, c, ok] = std::array::from_fn(|at| pool.fresh(widths[at], at as u32));
    Bench { pool, n, m, flags, p, q, c, ok }
}

fn name(symbol: SymbolId) -> String {
    ["n", "m", "flags", "p", "q", "c", "ok"][symbol.index()].to_string()
}

impl Bench {
    fn k(&mut self, value: i64) -> TermId {
        self.pool.constant(32, value as u64)
    }

    fn shows(&self, term: TermId, expected: &str) {
        assert_eq!(self.pool.display(term, &name), expected);
    }

    fn sum(&mut self, a: TermId, value: i64, no_wrap: NoWrap) -> TermId {
        let value = self.pool.constant(self.pool.width(a), value as u64);
        self.pool.binary(BinaryOp::Add, no_wrap, a, value)
    }
}

#[test]
fn a_widened_boolean_tested_against_zero_is_the_boolean() {
    let mut b = bench();
    let zero = b.k(0);
    let less = b.pool.slt(b.n, b.m);
    let wide = b.pool.zext(less, 32);
    assert_eq!(b.pool.ne(wide, zero), less);
    let not = b.pool.eq(wide, zero);
    assert_eq!(b.pool.not(not), less);
    // !!x, as a byte, and back
    let byte = b.pool.zext(less, 8);
    let bit = b.pool.trunc(byte, 1);
    assert_eq!(bit, less);
    let one = b.k(1);
    let choice = b.pool.ite(less, one, zero);
    assert_eq!(b.pool.ne(choice, zero), less);
    let minus = b.k(-1);
    let status = b.pool.ite(less, minus, zero);
    assert_eq!(b.pool.slt(status, zero), less);
}

#[test]
fn comparisons_have_one_form() {
    let mut b = bench();
    let (zero, one) = (b.k(0), b.k(1));
    let above = b.pool.sgt(b.n, zero);
    assert_eq!(b.pool.sge(b.n, one), above);
    let below = b.pool.sle(b.n, zero);
    assert_eq!(b.pool.not(below), above);
    let equal = b.pool.ult(b.n, one);
    assert_eq!(b.pool.eq(b.n, zero), equal);
    assert_eq!(b.pool.eq(zero, b.n), equal);
    let le = b.pool.ule(b.n, b.m);
    let gt = b.pool.ugt(b.n, b.m);
    assert_eq!(b.pool.not(gt), le);
}

#[test]
fn promises_of_no_wrap_are_used() {
    let mut b = bench();
    let next = b.sum(b.n, 1, NoWrap::SIGNED);
    assert_eq!(b.pool.slt(b.n, next), TermPool::TRUE);
    let wrapping = b.sum(b.n, 1, NoWrap::NONE);
    assert_ne!(b.pool.slt(b.n, wrapping), TermPool::TRUE);
    let (ten, nine) = (b.k(10), b.k(9));
    let moved = b.pool.slt(next, ten);
    assert_eq!(moved, b.pool.slt(b.n, nine));
    let difference = b.pool.binary(BinaryOp::Sub, NoWrap::SIGNED, b.n, b.m);
    let zero = b.k(0);
    let negative = b.pool.slt(difference, zero);
    assert_eq!(negative, b.pool.slt(b.n, b.m));
    // A field of an object is not at null.
    let field = b.pool.offset(b.p, 16, true);
    let null = b.pool.constant(64, 0);
    assert_eq!(b.pool.eq(field, null), TermPool::FALSE);
}

#[test]
fn pointers_with_one_base_compare_by_offset() {
    let mut b = bench();
    let (first, second) = (b.pool.offset(b.p, 8, false), b.pool.offset(b.p, 16, false));
    assert_eq!(b.pool.eq(first, second), TermPool::FALSE);
    let back = b.pool.offset(second, -8, false);
    assert_eq!(back, first);
    let other = b.pool.offset(b.q, 8, false);
    let same = b.pool.eq(first, other);
    assert_eq!(same, b.pool.eq(b.q, b.p));
    let distance = b.pool.sub(second, first);
    assert_eq!(b.pool.as_const(distance), Some(8));
}

#[test]
fn characters_are_compared_as_characters() {
    let mut b = bench();
    let wide = b.pool.sext(b.c, 32);
    let letter = b.k('x' as i64);
    let narrow = b.pool.constant(8, 'x' as u64);
    assert_eq!(b.pool.eq(wide, letter), b.pool.eq(b.c, narrow));
    let out_of_range = b.k(300);
    assert_eq!(b.pool.eq(wide, out_of_range), TermPool::FALSE);
    assert_eq!(b.pool.slt(wide, out_of_range), TermPool::TRUE);
    let one = b.k(1);
    let next = b.pool.add(wide, one);
    let cut = b.pool.trunc(next, 8);
    assert_eq!(cut, b.sum(b.c, 1, NoWrap::NONE));
}

#[test]
fn conditions_print_as_c() {
    let mut b = bench();
    let (zero, four, ten) = (b.k(0), b.k(4), b.k(10));
    let positive = b.pool.sgt(b.n, zero);
    let bit = b.pool.and(b.flags, four);
    let set = b.pool.ne(bit, zero);
    let both = b.pool.and(positive, set);
    b.shows(both, "n > 0 && (flags & 4) != 0");
    let neither = b.pool.not(both);
    b.shows(neither, "n <= 0 || (flags & 4) == 0");
    let nested = b.pool.and(neither, b.ok);
    b.shows(nested, "ok && (n <= 0 || (flags & 4) == 0)");
    let not_ok = b.pool.not(b.ok);
    b.shows(not_ok, "!ok");
    let product = b.pool.mul(b.n, b.m);
    let sum = b.sum(product, -3, NoWrap::NONE);
    let less = b.pool.slt(sum, ten);
    b.shows(less, "n * m - 3 < 10");
    let minus = b.k(-1);
    let failed = b.pool.eq(b.n, minus);
    b.shows(failed, "n == -1");
    let difference = b.pool.sub(b.n, b.m);
    let scaled = b.pool.mul(difference, ten);
    b.shows(scaled, "(n - m) * 10");
    let choice = b.pool.ite(b.ok, b.n, b.m);
    let chosen = b.pool.slt(choice, ten);
    b.shows(chosen, "(ok ? n : m) < 10");
    let null = b.pool.constant(64, 0);
    let no_pointer = b.pool.eq(b.p, null);
    b.shows(no_pointer, "p == 0");
}

#[test]
fn a_term_that_grows_too_large_becomes_one_opaque_symbol() {
    let mut pool = TermPool::new(SolverConfig { max_term_size: 20, ..SolverConfig::default() });
    let (x, y) = (pool.fresh(32, 0), pool.fresh(32, 1));
    let build = |pool: &mut TermPool| {
        (0..10).fold(x, |sum, _| {
            let product = pool.mul(sum, y);
            pool.xor(product, x)
        })
    };
    let first = build(&mut pool);
    assert_eq!(first, build(&mut pool));
    assert!(pool.stats.opaque > 0);
    assert!(pool.size(first) <= 20);
    let opaque = pool.symbols(first).into_iter().filter(|&symbol| pool.symbol_tag(symbol).is_none()).count();
    assert!(opaque > 0);
}

#[test]
fn a_guard_over_parameters_is_instantiated_at_a_call() {
    let mut b = bench();
    let (zero, four) = (b.k(0), b.k(4));
    let positive = b.pool.sgt(b.n, zero);
    let bit = b.pool.and(b.flags, four);
    let set = b.pool.ne(bit, zero);
    let guard = b.pool.or(positive, set);
    let n = b.pool.as_symbol(b.n).unwrap();
    let minus = b.k(-5);
    let map = FxHashMap::from_iter([(n, minus)]);
    let instance = b.pool.substitute(guard, &map, &mut FxHashMap::default());
    assert_eq!(instance, set);
    let five = b.k(5);
    let map = FxHashMap::from_iter([(n, five)]);
    assert_eq!(b.pool.substitute(guard, &map, &mut FxHashMap::default()), TermPool::TRUE);
}

#[test]
fn a_term_moves_to_another_pool() {
    let mut b = bench();
    let sum = b.pool.add(b.n, b.m);
    let ten = b.k(10);
    let less = b.pool.slt(sum, ten);
    let mut other = TermPool::new(SolverConfig::default());
    let (x, y) = (other.fresh(32, 7), other.fresh(32, 8));
    let (n, m) = (b.pool.as_symbol(b.n).unwrap(), b.pool.as_symbol(b.m).unwrap());
    let mut symbol = |_: &mut TermPool, s: SymbolId| if s == n { Some(x) } else { (s == m).then_some(y) };
    let copied = other.copy_term(&b.pool, less, &mut symbol, &mut FxHashMap::default()).unwrap();
    assert_eq!(other.display(copied, &|s| ["x", "y"][s.index()].to_string()), "x + y < 10");
    let unknown = b.pool.eq(b.p, b.q);
    assert_eq!(other.copy_term(&b.pool, unknown, &mut symbol, &mut FxHashMap::default()), None);
}
