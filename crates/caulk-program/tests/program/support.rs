//! Builds programs from text, and prints what calls reach.

use caulk_ir::PackedUnit;
use caulk_ir::text::parse_unit;
use caulk_program::{FuncId, Program, ProgramConfig, Resolution, UnitInput};

pub(crate) fn unit(text: &str) -> UnitInput {
    let parsed = parse_unit(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    UnitInput::new(PackedUnit::pack(parsed))
}

pub(crate) fn unit_with_object(object: &str, text: &str) -> UnitInput {
    UnitInput { output_hint: Some(object.to_owned()), ..unit(text) }
}

/// Units in order, named `/0.c`, `/1.c` and so on.
pub(crate) fn program(units: &[&str]) -> Program {
    let named = units.iter().enumerate().map(|(i, text)| unit(&format!("unit \"/{i}.c\" pointer 8\n{text}")));
    link(named.collect())
}

pub(crate) fn link(units: Vec<UnitInput>) -> Program {
    Program::link(units, ProgramConfig::default())
}

/// The one function of a name.
pub(crate) fn function(program: &Program, name: &str) -> FuncId {
    match program.functions_named(name).as_slice() {
        [one] => *one,
        found => panic!("{name}: {found:?}"),
    }
}

/// The function of a name that a unit defines.
pub(crate) fn function_in(program: &Program, name: &str, source: &str) -> FuncId {
    let found = program.functions_named(name).into_iter();
    let mut here = found.filter(|f| program.unit(program.function(*f).unit).source == source);
    here.next().unwrap_or_else(|| panic!("{name} is not in {source}"))
}

/// `symbol source` for a definition, `symbol` for a function without a body.
pub(crate) fn describe(program: &Program, function: FuncId) -> String {
    let info = program.function(function);
    if info.has_body { format!("{} {}", info.symbol, program.unit(info.unit).source) } else { info.symbol.to_owned() }
}

/// What each call of a function reaches; the calls are separated by `; `.
pub(crate) fn calls_of(program: &Program, caller: FuncId) -> String {
    let sites = program.call_sites(caller).iter().map(|site| {
        let mut targets: Vec<String> = program.targets(site).iter().map(|t| describe(program, *t)).collect();
        match site.outcome {
            Resolution::Resolved => {}
            Resolution::Many => targets.push("and more".to_owned()),
            Resolution::Unresolved => targets.push("?".to_owned()),
        }
        targets.join(", ")
    });
    sites.collect::<Vec<_>>().join("; ")
}

#[track_caller]
pub(crate) fn check(program: &Program, caller: &str, expected: &str) {
    assert_eq!(calls_of(program, function(program, caller)), expected, "calls of {caller}");
}

#[track_caller]
pub(crate) fn check_in(program: &Program, caller: &str, source: &str, expected: &str) {
    assert_eq!(calls_of(program, function_in(program, caller, source)), expected, "calls of {caller} in {source}");
}
