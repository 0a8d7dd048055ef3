//! Generated C functions with a known answer: Caulk must report those that leak, and no others.
//!
//! `shape` is what a function may be made of, `grow` generates random functions, `run` says what a function does (the known
//! answer), `render` writes it in C, and `sanitizer` asks LeakSanitizer whether the known answers are right.
//!
//! `wide` makes functions with structures, growable buffers, lists, callbacks, reference counts and clean-up at a label. Their callees
//! are written in several forms (`wide/helpers.rs`), and the answers must be the same with each.
//!
//! `CAULK_GENERATED=N` tries N functions instead of the usual number; `CAULK_GENERATED_SEED=N` starts elsewhere.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod config;
mod grow;
mod judge;
mod render;
mod run;
mod sanitizer;
mod shape;
mod wide;

use config::Config;
use judge::Verdict;
use shape::Function;

/// A box that its caller empties.
const OWN_BOX: &str = "struct box out = {0}; f(a, b, &out); free(out.slot); out.slot = 0;";

fn functions(config: &Config) -> Vec<Function> {
    grow::functions(config).into_iter().take(config.functions).collect()
}

#[test]
fn caulk_reports_the_functions_that_leak_and_no_others() {
    let config = Config::from_environment();
    let functions = functions(&config);
    assert_eq!(functions.len(), config.functions, "too few functions were found that run without an error");
    let mut wrong = Vec::new();
    let mut known = 0;
    for part in functions.chunks(config.functions_per_unit) {
        for (function, verdict) in part.iter().zip(judge::verdicts(part)) {
            match verdict {
                Verdict::Right => {}
                Verdict::Wrong if config.known_weakness(function).is_some() => known += 1,
                Verdict::Wrong => wrong.push(function),
            }
        }
    }
    let leaking = functions.iter().filter(|f| run::leaks(f)).count();
    eprintln!("{} functions, {leaking} of them leak; {known} wrong answers are known weaknesses", functions.len());
    let shown: Vec<String> = wrong.iter().take(config.shown).map(|f| judge::explain(f)).collect();
    assert!(wrong.is_empty(), "{} wrong answers, such as:\n{}", wrong.len(), shown.join("\n"));
}

#[test]
fn stage_two_finds_nothing_left_in_small_functions_where_stage_one_lists_nothing() {
    let config = Config::from_environment();
    let mut unlisted = Vec::new();
    for part in functions(&config).chunks(config.functions_per_unit) {
        let found = judge::disagreements(&render::unit(part));
        for (index, function) in part.iter().enumerate() {
            let object = found.get(&format!("f{index}"));
            unlisted.extend(object.map(|object| format!("{object}:\n{}", render::function(function))));
        }
    }
    let shown: Vec<&str> = unlisted.iter().take(config.shown).map(String::as_str).collect();
    assert!(unlisted.is_empty(), "{} functions, such as:\n{}", unlisted.len(), shown.join("\n"));
}

#[test]
fn the_sanitizer_agrees_with_the_known_answers() {
    let config = Config::from_environment();
    if let Err(reason) = sanitizer::probe() {
        eprintln!("SKIPPED: LeakSanitizer cannot judge here: {reason}");
        return;
    }
    for part in functions(&config).chunks(config.functions_per_unit) {
        let leaking =
            sanitizer::leaking(&render::unit(part), part.len(), OWN_BOX).unwrap_or_else(|reason| panic!("{reason}"));
        for (function, leaks) in part.iter().zip(leaking) {
            let answer = run::leaks(function);
            assert_eq!(
                leaks,
                answer,
                "the sanitizer (left) and the known answer differ:\n{}",
                render::function(function)
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_functions() {
    let config = Config { functions: 20, ..Config::from_environment() };
    assert_eq!(functions(&config), functions(&config));
}
