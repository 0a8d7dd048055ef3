//! No probe that really leaks is ever proved: randomly generated programs are run on small heaps, and what loses a cell must
//! not have been called proved.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod support;

use std::collections::BTreeSet;

use caulk_models::Models;
use caulk_program::{FuncId, Program};
use caulk_prove::{Extensions, Judgement, ProveConfig, TypedRegions, World, judge_all};
use support::generator::{self, Random};
use support::heaps::can_leak;

/// Programs of a run; `CAULK_PROVE_PROGRAMS` asks for more, `CAULK_PROVE_FIRST` for others.
const PROGRAMS: u64 = 200;
/// Heaps that each is run on.
const HEAPS: usize = 400;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

struct Tally {
    proved: usize,
    leaking: usize,
}

/// Judges every program under a configuration; panics if a proved one leaks.
fn check(program: &Program, seeds: &[u64], with_memory: bool, config: &ProveConfig) -> Tally {
    let models = Models::bundled();
    let regions = TypedRegions::with_bounds(program, config);
    let world = World::new(program, &models, &regions, config.clone());
    let bodies: Vec<FuncId> = program.functions().filter(|f| program.has_body(*f)).collect();
    let judged = judge_all(&world, &bodies);
    let proved: BTreeSet<FuncId> =
        judged.iter().filter(|j| j.verdict() == Judgement::Proved).map(|j| j.function).collect();
    let mut tally = Tally { proved: 0, leaking: 0 };
    for seed in seeds {
        let function = support::function(program, &format!("f{seed}"));
        let helper = program.functions_named(&format!("h{seed}"));
        let is_proved = proved.contains(&function) && helper.iter().all(|h| proved.contains(h));
        let own = !config.arguments_are_held;
        let leaks = can_leak(program, function, own, HEAPS, &mut Random::new(*seed));
        assert!(!(is_proved && leaks), "proved, and leaks:\n{}", generator::function(*seed, with_memory));
        tally.proved += usize::from(is_proved);
        tally.leaking += usize::from(leaks);
    }
    tally
}

#[test]
fn what_is_proved_does_not_leak() {
    check_all(false);
}

#[test]
fn nor_with_globals_copies_and_pointers_to_pointers() {
    check_all(true);
}

fn check_all(with_memory: bool) {
    let first = number("CAULK_PROVE_FIRST", 0);
    let seeds: Vec<u64> = (first..first + number("CAULK_PROVE_PROGRAMS", PROGRAMS)).collect();
    let functions: Vec<String> = seeds.iter().map(|seed| generator::function(*seed, with_memory)).collect();
    let program = support::compile_text(&format!("{}{}", generator::PRELUDE, functions.concat()));
    let all = Extensions::default();
    let deep = ProveConfig::default().max_call_depth;
    let settings = [
        (true, all, deep),
        (false, all, deep),
        (true, Extensions { typed_growth: false, ..all }, deep),
        (true, Extensions { region_removal: false, ..all }, deep),
        (true, Extensions { separated: false, ..all }, deep),
        // Calls known by their effects alone.
        (true, all, 0),
    ];
    for (arguments_are_held, extensions, max_call_depth) in settings {
        let config = ProveConfig {
            arguments_are_held,
            extensions,
            max_call_depth,
            max_transfers: 4_000,
            ..ProveConfig::default()
        };
        let tally = check(&program, &seeds, with_memory, &config);
        println!(
            "{extensions:?}, held {arguments_are_held}, depth {max_call_depth}: {} proved, {} leak",
            tally.proved, tally.leaking
        );
        // Neither side is empty, or nothing was tested. Where arguments may be last references, most programs leak.
        assert!(tally.proved * 25 > seeds.len() || !arguments_are_held, "only {} proved", tally.proved);
        assert!(tally.leaking * 10 > seeds.len(), "only {} leak", tally.leaking);
    }
}

/// Makes one bound small.
type Shrink = fn(&mut ProveConfig);

/// What a bound cuts is abandoned, never proved: each bound in turn so small that it is reached.
#[test]
fn nor_with_small_bounds() {
    let shrinks: [(&str, Shrink); 17] = [
        ("max_transfers", |c| c.max_transfers = 20),
        ("max_work", |c| c.max_work = 100),
        ("max_function_work", |c| c.max_function_work = 2_000),
        ("max_stored", |c| c.max_stored = 40),
        ("max_probes", |c| c.max_probes = 3),
        ("max_table_words", |c| c.max_table_words = 8),
        ("max_scope_cells", |c| c.max_scope_cells = 0),
        ("max_scope_rounds", |c| c.max_scope_iterations = 1),
        ("max_regions", |c| c.max_regions = 1),
        ("max_values", |c| c.max_values = 1),
        ("max_pointer_fields", |c| c.max_pointer_fields = 1),
        ("max_embedded", |c| c.max_embedded = 0),
        ("max_hops", |c| c.max_hops = 2),
        ("max_expressions", |c| c.max_expressions = 1),
        ("max_facts_at_point", |c| c.max_facts_at_point = 1),
        ("max_contexts", |c| c.max_contexts = 2),
        ("max_written_regions", |c| c.max_written_regions = 0),
    ];
    let seeds: Vec<u64> = (0..number("CAULK_PROVE_PROGRAMS", PROGRAMS) / 4).collect();
    let functions: Vec<String> = seeds.iter().map(|seed| generator::function(*seed, true)).collect();
    let program = support::compile_text(&format!("{}{}", generator::PRELUDE, functions.concat()));
    let usual = check(&program, &seeds, true, &ProveConfig::default());
    for (name, shrink) in shrinks {
        let mut config = ProveConfig::default();
        shrink(&mut config);
        let tally = check(&program, &seeds, true, &config);
        println!("{name}: {} proved of {}", tally.proved, usual.proved);
    }
}

/// A phi and the value that leaves the loop under its name once were taken for one another.
#[test]
fn what_once_was_proved_and_leaks() {
    let seed = 7915;
    let text = generator::function(seed, true);
    let program = support::compile_text(&format!("{}{text}", generator::PRELUDE));
    assert_eq!(check(&program, &[seed], true, &ProveConfig::default()).leaking, 1);
}
