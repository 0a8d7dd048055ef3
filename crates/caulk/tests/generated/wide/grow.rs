//! Makes wide functions with a seed, and keeps those that make no mistake but to leak.

use super::run::{is_valid, leaks};
use super::shape::{Compare, Condition, Function, Kind, Number, Statement, Step};
use crate::config::Config;

/// This many are tried for each that is wanted.
const TRIES: usize = 4_000;
/// Statements of the body, at most.
const MAX_STATEMENTS: u64 = 6;
/// Statements of a nested block, at most.
const MAX_NESTED: u64 = 3;

/// The first functions of a seed that do nothing undefined and allocate; every other one leaks.
pub(crate) fn functions(config: &Config) -> Vec<Function> {
    let mut random = Random(config.seed.wrapping_mul(0x9e37_79b9).wrapping_add(0x1234_5678));
    let mut found: Vec<Function> = Vec::new();
    for _ in 0..config.wide_functions * TRIES {
        if found.len() == config.wide_functions {
            break;
        }
        let grown = function(&mut random);
        let is_wanted = is_valid(&grown) && leaks(&grown) == (found.len() % 2 == 0);
        if is_wanted && grown.steps().iter().any(|s| allocates(*s)) && !found.contains(&grown) {
            found.push(grown);
        }
    }
    found
}

fn allocates(step: Step) -> bool {
    use Step::{Add, Grab, Make, NewCounted, NewRecord, ParseRecord, PushNew};
    matches!(step, Make(_) | Grab(_) | NewRecord | ParseRecord(_) | Add(_) | PushNew | NewCounted)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True so many times in ten.
    fn often(&mut self, times: u64) -> bool {
        self.below(10) < times
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = self.below(from.len() as u64);
        from[usize::try_from(index).expect("below the length")]
    }
}

fn function(random: &mut Random) -> Function {
    const ALL: [Kind; 5] = [Kind::Text, Kind::Record, Kind::Buffer, Kind::List, Kind::Counted];
    let mut kinds = vec![random.pick(&ALL)];
    for _ in 0..random.below(3) {
        kinds.push(random.pick(&ALL));
    }
    kinds.sort_unstable();
    kinds.dedup();
    let mut body: Vec<Statement> = Vec::new();
    for kind in &kinds {
        body.push(Statement::Do(source(*kind, random)));
    }
    body.extend(block(&kinds, MAX_STATEMENTS, 2, false, random));
    let mut cleanup = Vec::new();
    for kind in kinds.iter().filter(|_| random.often(8)) {
        cleanup.push(Statement::Do(release(*kind)));
    }
    Function { body, cleanup }
}

fn block(kinds: &[Kind], max: u64, depth: u32, is_loop: bool, random: &mut Random) -> Vec<Statement> {
    let count = random.below(max) + 1;
    (0..count).map(|_| statement(kinds, depth, is_loop, random)).collect()
}

fn statement(kinds: &[Kind], depth: u32, is_loop: bool, random: &mut Random) -> Statement {
    match random.below(20) {
        0..5 if depth > 0 => {
            let then = block(kinds, MAX_NESTED, depth - 1, is_loop, random);
            let other = if random.often(3) { block(kinds, MAX_NESTED, depth - 1, is_loop, random) } else { Vec::new() };
            Statement::If(condition(kinds, random), then, other)
        }
        5 if depth == 2 => {
            let bound = if random.often(5) { Err(number(random)) } else { Ok(random.pick(&[1, 2, 3])) };
            Statement::Loop(bound, block(kinds, MAX_NESTED, depth - 1, true, random))
        }
        6 if is_loop => Statement::Break,
        7 if depth < 2 => Statement::Goto,
        8 if depth < 2 => Statement::Return,
        _ => {
            let kind = random.pick(kinds);
            Statement::Do(step(kind, kinds, random))
        }
    }
}

fn number(random: &mut Random) -> Number {
    random.pick(&[Number::A, Number::B])
}

fn condition(kinds: &[Kind], random: &mut Random) -> Condition {
    let compare = random.pick(&[Compare::Equal, Compare::Unequal, Compare::Less, Compare::Greater]);
    match random.below(10) {
        0..6 => Condition::Is(number(random), compare, random.pick(&[0, 1, 2])),
        6 => Condition::Pair(compare),
        7 => Condition::Failed,
        _ => Condition::Has(random.pick(kinds)),
    }
}

fn source(kind: Kind, random: &mut Random) -> Step {
    let n = number(random);
    match kind {
        Kind::Text => {
            let depth = random.pick(&[0, 1, 2, 3]);
            random.pick(&[Step::Make(depth), Step::Make(0), Step::Grab(n)])
        }
        Kind::Record => random.pick(&[Step::NewRecord, Step::ParseRecord(n)]),
        Kind::Buffer => Step::Add(n),
        Kind::List => Step::PushNew,
        Kind::Counted => Step::NewCounted,
    }
}

fn release(kind: Kind) -> Step {
    match kind {
        Kind::Text => Step::Drop(0, false),
        Kind::Record => Step::FreeRecord,
        Kind::Buffer => Step::FreeBuffer,
        Kind::List => Step::FreeList,
        Kind::Counted => Step::Put(false),
    }
}

fn step(kind: Kind, kinds: &[Kind], random: &mut Random) -> Step {
    let n = number(random);
    let clears = random.often(6);
    let has_text = kinds.contains(&Kind::Text);
    let mut choices: Vec<Step> = vec![source(kind, random), source(kind, random)];
    choices.extend(match kind {
        Kind::Text => {
            let depth = random.pick(&[0, 1, 2, 3]);
            vec![
                Step::Drop(depth, clears),
                Step::Drop(0, true),
                Step::DropIf(n),
                Step::Call(random.often(5)),
                Step::Take(n),
                Step::Resize(n),
                Step::TextOut,
                Step::Keep,
                Step::Forget,
            ]
        }
        Kind::Record => {
            vec![
                Step::FillRecord(n),
                Step::FillRecord(n),
                Step::ClearRecord,
                Step::FreeRecord,
                Step::FreeRecord,
                Step::FreeRecordOnly,
                Step::RecordOut,
            ]
        }
        Kind::Buffer => vec![Step::Add(n), Step::FreeBuffer, Step::FreeBuffer, Step::BufferOut],
        Kind::List => {
            vec![Step::FreeList, Step::FreeList, Step::FreeNodes, Step::Each(random.often(5)), Step::ListOut]
        }
        Kind::Counted => vec![Step::Get, Step::Put(clears), Step::Put(true), Step::CountedOut(clears)],
    });
    if has_text {
        choices.extend(match kind {
            Kind::Record => vec![Step::Rename, Step::SetName, Step::TakeName],
            Kind::Buffer => vec![Step::Detach],
            Kind::List => vec![Step::PushText, Step::Pop],
            Kind::Text | Kind::Counted => Vec::new(),
        });
    }
    random.pick(&choices)
}
