//! Wide functions: several variables that own memory of different shapes, and callees in several forms.

mod grow;
pub(crate) mod helpers;
mod render;
mod run;
pub(crate) mod shape;
mod shrink;

use std::collections::BTreeMap;

use helpers::Form;
use shape::Function;

use crate::config::Config;
use crate::{judge, sanitizer};

/// A box that lives on.
const KEPT_BOX: &str = "static struct box boxes[64]; static int used; f(a, b, &boxes[used++]);";

/// The functions that get a wrong answer with their callees written so.
fn wrong(functions: &[Function], form: Form) -> Vec<&Function> {
    let reported = judge::reported(&render::unit(functions, form));
    let is_wrong =
        |(index, function): &(usize, &Function)| reported.contains(&format!("f{index}")) != run::leaks(function);
    functions.iter().enumerate().filter(is_wrong).map(|(_, function)| function).collect()
}

/// The smallest function that can be made of one by leaving statements out, and that still gets a wrong answer.
fn shrunk(function: &Function, form: Form) -> Function {
    let leaks = run::leaks(function);
    let mut smallest = function.clone();
    loop {
        let mut smaller = shrink::smaller(&smallest);
        smaller.retain(|f| run::is_valid(f) && run::leaks(f) == leaks);
        match wrong(&smaller, form).first() {
            Some(first) => smallest = (*first).clone(),
            None => return smallest,
        }
    }
}

fn explain(function: &Function, form: Form) -> String {
    let says = if run::leaks(function) { "leaks, and nothing is reported" } else { "does not leak, but is reported" };
    format!("{says} (callees {form:?}):\n{}", render::function(&shrunk(function, form)))
}

/// One test for both properties: an answer that depends on the form of the callees is wrong in one of them.
#[test]
fn answers_are_right_whether_callees_are_executed_summarised_or_inlined() {
    let config = Config::from_environment();
    let functions = grow::functions(&config);
    assert_eq!(functions.len(), config.wide_functions, "too few functions were found that run without an error");
    let mut unknown = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for part in functions.chunks(config.functions_per_unit) {
        for &form in config.forms {
            for function in wrong(part, form) {
                match config.known_exception(function, form, run::leaks(function)) {
                    Some(name) => *known.entry(name).or_default() += 1,
                    None => unknown.push((function, form)),
                }
            }
        }
    }
    let leaking = functions.iter().filter(|f| run::leaks(f)).count();
    eprintln!("{} wide functions, {leaking} of them leak, {} forms", functions.len(), config.forms.len());
    known.iter().for_each(|(name, count)| eprintln!("{count} known: {name}"));
    let shown: Vec<String> = unknown.iter().take(config.shown).map(|(f, form)| explain(f, *form)).collect();
    assert!(unknown.is_empty(), "{} wrong answers, such as:\n{}", unknown.len(), shown.join("\n"));
}

/// Stage two looks at every object here, not only at those that stage one lists. Where it finds one left, stage one must list something.
#[test]
fn stage_two_finds_nothing_left_where_stage_one_lists_nothing() {
    let config = Config::from_environment();
    let mut unknown = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for part in grow::functions(&config).chunks(config.functions_per_unit) {
        for &form in config.forms {
            let found = judge::disagreements(&render::unit(part, form));
            for (index, function) in part.iter().enumerate() {
                let Some(object) = found.get(&format!("f{index}")) else { continue };
                match config.unlisted.iter().find(|exception| (exception.covers)(function, form)) {
                    Some(exception) => *known.entry(exception.name).or_default() += 1,
                    None => unknown.push(format!("{object} (callees {form:?}):\n{}", render::function(function))),
                }
            }
        }
    }
    known.iter().for_each(|(name, count)| eprintln!("{count} known: {name}"));
    let shown: Vec<&str> = unknown.iter().take(config.shown).map(String::as_str).collect();
    assert!(unknown.is_empty(), "{} functions, such as:\n{}", unknown.len(), shown.join("\n"));
}

#[test]
fn the_sanitizer_agrees_with_the_answers_on_wide_functions() {
    let config = Config::from_environment();
    if let Err(reason) = sanitizer::probe() {
        eprintln!("SKIPPED: LeakSanitizer cannot judge here: {reason}");
        return;
    }
    for part in grow::functions(&config).chunks(config.functions_per_unit) {
        for &form in config.forms {
            let unit = render::unit(part, form);
            let leaking = sanitizer::leaking(&unit, part.len(), KEPT_BOX).unwrap_or_else(|reason| panic!("{reason}"));
            for (function, leaks) in part.iter().zip(leaking) {
                let answer = run::leaks(function);
                let text = render::function(function);
                assert_eq!(
                    leaks, answer,
                    "the sanitizer (left) and the known answer differ, callees {form:?}:\n{text}"
                );
            }
        }
    }
}
