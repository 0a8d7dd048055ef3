//! Every layer against the definition: small widths, all values tried.

use caulk_solver::{
    Answer, BinaryOp, Comparison, Consistency, Facts, NoWrap, Solver, SolverConfig, SymbolId, TermId, TermPool,
};
use proptest::prelude::*;

/// A term as it was written, before any simplification.
#[derive(Clone, Debug)]
enum Written {
    Const(u64),
    Symbol(usize),
    Binary(BinaryOp, NoWrap, Box<Written>, Box<Written>),
    Compare(Comparison, Box<Written>, Box<Written>),
    Not(Box<Written>),
    /// To another width and back, in one of four ways.
    Resize(u8, u8, Box<Written>),
    Widen(bool, Box<Written>),
    Ite(Box<Written>, Box<Written>, Box<Written>),
}

const WIDTH: u8 = 4;
const SYMBOLS: usize = 3;

fn operator() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::*;
    prop::sample::select(vec![Add, Add, Sub, Sub, Mul, UDiv, SDiv, URem, SRem, Shl, LShr, AShr, And, And, Or, Xor])
}

fn no_wrap() -> impl Strategy<Value = NoWrap> {
    prop::sample::select(vec![NoWrap::NONE, NoWrap::NONE, NoWrap::SIGNED, NoWrap::UNSIGNED, NoWrap::BOTH])
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop::sample::select(vec![Comparison::Eq, Comparison::Ult, Comparison::Slt])
}

/// Terms of `WIDTH` bits, with conditions inside.
fn value(depth: u32) -> BoxedStrategy<Written> {
    let leaf = prop_oneof![(0..16u64).prop_map(Written::Const), (0..SYMBOLS).prop_map(Written::Symbol)];
    if depth == 0 {
        return leaf.boxed();
    }
    let v = || value(depth - 1).prop_map(Box::new);
    let c = || condition(depth - 1).prop_map(Box::new);
    prop_oneof![
        2 => leaf,
        6 => (operator(), no_wrap(), v(), v()).prop_map(|(o, n, a, b)| Written::Binary(o, n, a, b)),
        1 => (1u8..8, 0u8..4, v()).prop_map(|(w, k, a)| Written::Resize(w, k, a)),
        1 => (any::<bool>(), c()).prop_map(|(s, a)| Written::Widen(s, a)),
        1 => (c(), v(), v()).prop_map(|(c, a, b)| Written::Ite(c, a, b)),
    ]
    .boxed()
}

/// Terms of one bit.
fn condition(depth: u32) -> BoxedStrategy<Written> {
    let v = || value(depth.saturating_sub(1)).prop_map(Box::new);
    let leaf = (comparison(), v(), v()).prop_map(|(o, a, b)| Written::Compare(o, a, b));
    if depth == 0 {
        return leaf.boxed();
    }
    let c = || condition(depth - 1).prop_map(Box::new);
    let logic = prop::sample::select(vec![BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::Sub, BinaryOp::Mul]);
    prop_oneof![
        5 => leaf,
        2 => c().prop_map(Written::Not),
        3 => (logic, c(), c()).prop_map(|(o, a, b)| Written::Binary(o, NoWrap::NONE, a, b)),
        1 => (comparison(), c(), c()).prop_map(|(o, a, b)| Written::Compare(o, a, b)),
        1 => (c(), c(), c()).prop_map(|(c, a, b)| Written::Ite(c, a, b)),
    ]
    .boxed()
}

/// The facts that programs are full of: a symbol, perhaps moved or masked, against a constant or another.
fn simple_condition() -> impl Strategy<Value = Written> {
    let side = prop_oneof![
        4 => (0..SYMBOLS).prop_map(Written::Symbol),
        1 => (0..SYMBOLS, 0..16u64, no_wrap()).prop_map(|(s, c, n)| {
            Written::Binary(BinaryOp::Add, n, Box::new(Written::Symbol(s)), Box::new(Written::Const(c)))
        }),
        1 => (0..SYMBOLS, 0..16u64).prop_map(|(s, c)| {
            Written::Binary(BinaryOp::And, NoWrap::NONE, Box::new(Written::Symbol(s)), Box::new(Written::Const(c)))
        }),
    ];
    let other = prop_oneof![2 => (0..16u64).prop_map(Written::Const), 1 => (0..SYMBOLS).prop_map(Written::Symbol)];
    (comparison(), side, other, any::<bool>()).prop_map(|(op, a, b, negated)| {
        let compared = Written::Compare(op, Box::new(a), Box::new(b));
        if negated { Written::Not(Box::new(compared)) } else { compared }
    })
}

impl Written {
    fn is_boolean(&self) -> bool {
        match self {
            Written::Compare(..) | Written::Not(_) => true,
            Written::Binary(_, _, a, _) | Written::Ite(_, a, _) => a.is_boolean(),
            _ => false,
        }
    }

    fn build(&self, pool: &mut TermPool, symbols: &[TermId]) -> TermId {
        match self {
            Written::Const(value) => pool.constant(WIDTH, *value),
            Written::Symbol(at) => symbols[*at],
            Written::Binary(op, no_wrap, a, b) => {
                let (a, b) = (a.build(pool, symbols), b.build(pool, symbols));
                pool.binary(*op, *no_wrap, a, b)
            }
            Written::Compare(op, a, b) => {
                let (a, b) = (a.build(pool, symbols), b.build(pool, symbols));
                pool.compare(*op, a, b)
            }
            Written::Not(a) => {
                let a = a.build(pool, symbols);
                pool.not(a)
            }
            Written::Resize(width, kind, a) => {
                let a = a.build(pool, symbols);
                if *width < WIDTH {
                    let cut = pool.trunc(a, *width);
                    if kind & 1 == 0 { pool.zext(cut, WIDTH) } else { pool.sext(cut, WIDTH) }
                } else {
                    let wide = if kind & 1 == 0 { pool.zext(a, *width) } else { pool.sext(a, *width) };
                    let one = pool.constant(*width, 1);
                    let wide = if kind & 2 == 0 { pool.add(wide, one) } else { wide };
                    pool.trunc(wide, WIDTH)
                }
            }
            Written::Widen(is_signed, c) => {
                let c = c.build(pool, symbols);
                if *is_signed { pool.sext(c, WIDTH) } else { pool.zext(c, WIDTH) }
            }
            Written::Ite(c, a, b) => {
                let (c, a, b) = (c.build(pool, symbols), a.build(pool, symbols), b.build(pool, symbols));
                pool.ite(c, a, b)
            }
        }
    }

    /// The meaning, written a second time on plain integers.
    fn meaning(&self, values: &[u64]) -> Option<u64> {
        match self {
            Written::Const(value) => Some(*value),
            Written::Symbol(at) => Some(values[*at]),
            Written::Binary(op, no_wrap, a, b) => {
                let (x, y) = (a.meaning(values), b.meaning(values));
                if self.is_boolean() {
                    return match (op, x, y) {
                        (BinaryOp::And | BinaryOp::Mul, Some(0), _) | (BinaryOp::And | BinaryOp::Mul, _, Some(0)) => {
                            Some(0)
                        }
                        (BinaryOp::Or, Some(1), _) | (BinaryOp::Or, _, Some(1)) => Some(1),
                        (BinaryOp::And | BinaryOp::Mul, x, y) => Some(x? & y?),
                        (BinaryOp::Or, x, y) => Some(x? | y?),
                        (_, x, y) => Some(x? ^ y?),
                    };
                }
                arithmetic(*op, *no_wrap, x? as i64, y? as i64)
            }
            Written::Compare(op, a, b) => {
                let (x, y) = (a.meaning(values)?, b.meaning(values)?);
                let width = if a.is_boolean() { 1 } else { WIDTH };
                Some(match op {
                    Comparison::Eq => x == y,
                    Comparison::Ult => x < y,
                    Comparison::Slt => signed(x as i64, width) < signed(y as i64, width),
                } as u64)
            }
            Written::Not(a) => Some(1 - a.meaning(values)?),
            Written::Resize(width, kind, a) => {
                let x = a.meaning(values)? as i64;
                Some(if *width < WIDTH {
                    let cut = x & ((1 << width) - 1);
                    (if kind & 1 == 0 { cut } else { signed(cut, *width) }) as u64 & 15
                } else {
                    let wide = if kind & 1 == 0 { x } else { signed(x, WIDTH) };
                    (wide + if kind & 2 == 0 { 1 } else { 0 }) as u64 & 15
                })
            }
            Written::Widen(is_signed, c) => Some(c.meaning(values)? * if *is_signed { 15 } else { 1 }),
            Written::Ite(c, a, b) => {
                if c.meaning(values)? != 0 {
                    a.meaning(values)
                } else {
                    b.meaning(values)
                }
            }
        }
    }
}

fn signed(value: i64, width: u8) -> i64 {
    if value >= 1 << (width - 1) { value - (1 << width) } else { value }
}

fn arithmetic(op: BinaryOp, no_wrap: NoWrap, x: i64, y: i64) -> Option<u64> {
    let (sx, sy) = (signed(x, WIDTH), signed(y, WIDTH));
    let checked = |s: i64, u: i64| {
        let wrong = (no_wrap.signed && !(-8..8).contains(&s)) || (no_wrap.unsigned && !(0..16).contains(&u));
        (!wrong).then_some((u & 15) as u64)
    };
    match op {
        BinaryOp::Add => checked(sx + sy, x + y),
        BinaryOp::Sub => checked(sx - sy, x - y),
        BinaryOp::Mul => checked(sx * sy, x * y),
        BinaryOp::UDiv => (y != 0).then(|| (x / y) as u64),
        BinaryOp::URem => (y != 0).then(|| (x % y) as u64),
        BinaryOp::SDiv => (y != 0 && !(sx == -8 && sy == -1)).then(|| (sx / sy) as u64 & 15),
        BinaryOp::SRem => (y != 0 && !(sx == -8 && sy == -1)).then(|| (sx % sy) as u64 & 15),
        // No-wrap promises of shifts are optional to use; without them more is defined.
        BinaryOp::Shl => (y < 4).then(|| (x << y) as u64 & 15),
        BinaryOp::LShr => (y < 4).then(|| (x >> y) as u64),
        BinaryOp::AShr => (y < 4).then(|| (sx >> y) as u64 & 15),
        BinaryOp::And => Some((x & y) as u64),
        BinaryOp::Or => Some((x | y) as u64),
        BinaryOp::Xor => Some((x ^ y) as u64),
    }
}

fn pool() -> (TermPool, Vec<TermId>, Vec<SymbolId>) {
    let mut pool = TermPool::new(SolverConfig::default());
    let terms: Vec<TermId> = (0..SYMBOLS as u32).map(|tag| pool.fresh(WIDTH, tag)).collect();
    let symbols = terms.iter().map(|&term| pool.as_symbol(term).unwrap()).collect();
    (pool, terms, symbols)
}

fn assignments() -> impl Iterator<Item = [u64; SYMBOLS]> {
    (0..1u64 << (WIDTH as usize * SYMBOLS)).map(|n| [n & 15, n >> 4 & 15, n >> 8 & 15])
}

fn lookup(values: [u64; SYMBOLS], symbols: &[SymbolId]) -> impl Fn(SymbolId) -> u64 + '_ {
    move |symbol| symbols.iter().position(|&s| s == symbol).map_or(0, |at| values[at])
}

/// Shift left keeps its promises when it becomes a multiplication; the reference ignores them.
fn without_shift_promises(written: Written) -> Written {
    let each = |a: Box<Written>| Box::new(without_shift_promises(*a));
    match written {
        Written::Binary(op, n, a, b) => {
            let n = if op == BinaryOp::Shl { NoWrap::NONE } else { n };
            Written::Binary(op, n, each(a), each(b))
        }
        Written::Compare(op, a, b) => Written::Compare(op, each(a), each(b)),
        Written::Not(a) => Written::Not(each(a)),
        Written::Resize(w, k, a) => Written::Resize(w, k, each(a)),
        Written::Widen(s, a) => Written::Widen(s, each(a)),
        Written::Ite(c, a, b) => Written::Ite(each(c), each(a), each(b)),
        leaf => leaf,
    }
}

/// The values under which all conditions hold.
fn solutions(conditions: &[Written]) -> Vec<[u64; SYMBOLS]> {
    assignments().filter(|values| conditions.iter().all(|c| c.meaning(values) == Some(1))).collect()
}

fn check_simplifier(written: Written) {
    let written = without_shift_promises(written);
    let (mut pool, terms, symbols) = pool();
    let term = written.build(&mut pool, &terms);
    for values in assignments() {
        if let Some(expected) = written.meaning(&values) {
            let found = pool.evaluate(term, &lookup(values, &symbols));
            assert_eq!(found, Some(expected), "{values:?} {written:?} became {}", pool.display(term, &name));
        }
    }
}

fn name(symbol: SymbolId) -> String {
    ["x", "y", "z"].get(symbol.index()).map_or("?".to_string(), |name| name.to_string())
}

fn check_facts(conditions: Vec<Written>, with_z3: bool) {
    let conditions: Vec<Written> = conditions.into_iter().map(without_shift_promises).collect();
    let (mut pool, terms, symbols) = pool();
    let mut facts = Facts::new();
    let built: Vec<TermId> = conditions.iter().map(|c| c.build(&mut pool, &terms)).collect();
    let mut verdict = Consistency::Consistent;
    for &term in &built {
        verdict = facts.assume(&mut pool, term);
    }
    let solutions = solutions(&conditions);
    if let Some(values) = solutions.first() {
        assert_eq!(verdict, Consistency::Consistent, "{values:?} satisfies {conditions:?}");
    }
    for &term in &terms {
        let known = facts.known(&pool, term);
        for values in &solutions {
            let value = lookup(*values, &symbols)(pool.as_symbol(term).unwrap());
            assert!(known.contains(value), "{value} not in {known:?} for {conditions:?}");
        }
    }
    if !with_z3 {
        return;
    }
    let answer = facts.check(&mut pool, &mut Solver::new());
    assert_ne!(answer, Answer::Unknown);
    if !solutions.is_empty() {
        assert_eq!(answer, Answer::Sat, "{:?} satisfies {conditions:?}", solutions[0]);
    }
    if answer == Answer::Sat {
        // Z3 does not follow lost values into arms that do not matter, and simplification may give a lost value one.
        let wrapping = |values: [u64; SYMBOLS]| {
            facts.literals().iter().all(|&l| matches!(pool.evaluate(l, &lookup(values, &symbols)), Some(1) | None))
        };
        assert!(assignments().any(wrapping), "no solution for {conditions:?}");
    }
    if let Some(model) = facts.model() {
        for &term in &built {
            assert!(
                answer != Answer::Sat
                    || model.satisfies(&pool, term)
                    || pool.evaluate(term, &|s| model.value(s)).is_none()
            );
        }
    }
}

/// Without promises and partial operations every value exists, and answers must be exact.
fn strip_partial(written: Written) -> Written {
    let each = |a: Box<Written>| Box::new(strip_partial(*a));
    match written {
        Written::Binary(op, _, a, b) => {
            let op = match op {
                BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::Shl => BinaryOp::Add,
                BinaryOp::URem | BinaryOp::SRem | BinaryOp::LShr | BinaryOp::AShr => BinaryOp::Xor,
                op => op,
            };
            Written::Binary(op, NoWrap::NONE, each(a), each(b))
        }
        Written::Compare(op, a, b) => Written::Compare(op, each(a), each(b)),
        Written::Not(a) => Written::Not(each(a)),
        Written::Resize(w, k, a) => Written::Resize(w, k, each(a)),
        Written::Widen(s, a) => Written::Widen(s, each(a)),
        Written::Ite(c, a, b) => Written::Ite(each(c), each(a), each(b)),
        leaf => leaf,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_simplified_value_is_the_value(written in value(3)) {
        check_simplifier(written);
    }

    #[test]
    fn a_simplified_condition_is_the_condition(written in condition(3)) {
        check_simplifier(written);
    }

    #[test]
    fn facts_of_programs_are_never_refuted_wrongly(conditions in prop::collection::vec(simple_condition(), 1..7)) {
        check_facts(conditions, true);
    }

    #[test]
    fn strange_facts_are_never_refuted_wrongly(conditions in prop::collection::vec(condition(2), 1..5)) {
        check_facts(conditions, true);
    }

    #[test]
    fn answers_are_exact_where_every_value_exists(conditions in prop::collection::vec(condition(2), 1..5)) {
        let conditions: Vec<Written> = conditions.into_iter().map(strip_partial).collect();
        let (mut pool, terms, _) = pool();
        let mut facts = Facts::new();
        for condition in &conditions {
            let term = condition.build(&mut pool, &terms);
            facts.assume(&mut pool, term);
        }
        let expected = if solutions(&conditions).is_empty() { Answer::Unsat } else { Answer::Sat };
        prop_assert_eq!(facts.check(&mut pool, &mut Solver::new()), expected);
    }

    #[test]
    fn what_is_implied_holds(
        conditions in prop::collection::vec(simple_condition(), 1..5),
        asked in condition(2),
    ) {
        let asked = without_shift_promises(asked);
        let (mut pool, terms, _) = pool();
        let mut facts = Facts::new();
        for condition in &conditions {
            let term = condition.build(&mut pool, &terms);
            facts.assume(&mut pool, term);
        }
        let term = asked.build(&mut pool, &terms);
        if let Some(implied) = facts.implied(&pool, term) {
            for values in solutions(&conditions) {
                if let Some(value) = asked.meaning(&values) {
                    prop_assert_eq!(value != 0, implied);
                }
            }
        }
    }

    #[test]
    fn a_join_holds_on_both_paths(
        common in prop::collection::vec(simple_condition(), 0..3),
        one in prop::collection::vec(simple_condition(), 1..4),
        other in prop::collection::vec(simple_condition(), 1..4),
    ) {
        let (mut pool, terms, symbols) = pool();
        let mut paths = Vec::new();
        let mut all = Vec::new();
        for own in [one, other] {
            let conditions: Vec<Written> = common.iter().cloned().chain(own).collect();
            let mut facts = Facts::new();
            for condition in &conditions {
                let term = condition.build(&mut pool, &terms);
                facts.assume(&mut pool, term);
            }
            all.extend(solutions(&conditions));
            paths.push(facts);
        }
        let joined = paths[0].join(&paths[1], &mut pool);
        prop_assert!(all.is_empty() || !joined.is_contradiction());
        let forgotten = paths[0].retain_symbols(&mut pool, |symbol| symbol != symbols[0]);
        for literal in forgotten.literals() {
            prop_assert!(!pool.symbols(*literal).contains(&symbols[0]));
        }
        for values in all {
            for &literal in joined.literals() {
                prop_assert_eq!(pool.evaluate(literal, &lookup(values, &symbols)), Some(1));
            }
        }
    }

    #[test]
    fn paths_that_parted_join_like_paths_that_never_met(
        common in prop::collection::vec(simple_condition(), 0..4),
        one in prop::collection::vec(simple_condition(), 0..4),
        other in prop::collection::vec(simple_condition(), 0..4),
    ) {
        let (mut pool, terms, symbols) = pool();
        let [common, one, other] = [common, one, other]
            .map(|list| list.iter().map(|c| c.build(&mut pool, &terms)).collect::<Vec<TermId>>());
        let after = |pool: &mut TermPool, mut facts: Facts, terms: &[TermId]| {
            for term in terms {
                facts.assume(pool, *term);
            }
            facts
        };
        let start = after(&mut pool, Facts::new(), &common);
        let [left, right] = [&one, &other].map(|own| after(&mut pool, start.clone(), own));
        let parted = left.join(&right, &mut pool);
        let [left, right] = [one, other].map(|own| {
            let whole: Vec<TermId> = common.iter().copied().chain(own).collect();
            after(&mut pool, Facts::new(), &whole)
        });
        let apart = left.join(&right, &mut pool);
        let holds = |facts: &Facts, values| {
            facts.literals().iter().all(|&l| pool.evaluate(l, &lookup(values, &symbols)) == Some(1))
        };
        // Of paths that cannot be, anything may be said.
        prop_assume!([&left, &right].iter().all(|path| assignments().any(|values| holds(path, values))));
        // Said in more or fewer words, but the same.
        for values in assignments() {
            prop_assert_eq!(holds(&parted, values), holds(&apart, values));
        }
    }
}

/// `PROPTEST_CASES` for a long run; a quick one otherwise.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}
