//! What is done wrong with freed memory, on the text form of the IR.

use caulk_explore::{ExploreConfig, MisuseKind, misuses};
use caulk_ir::PackedUnit;
use caulk_ir::text::parse_unit;
use caulk_ir::verify::verify_unit;
use caulk_models::Models;
use caulk_program::{Program, ProgramConfig, UnitInput};
use caulk_useflow::{UseflowConfig, analyse};

const DECLARED: &str = "unit \"a.c\" pointer 8
file 0 \"a.c\"
declare @free(ptr no_capture -> *) no_unwind name free at 0:1
declare @malloc(i64) -> ptr no_unwind fresh_result alloc_size 0 name malloc at 0:1 -> *
";

/// What `@f` does wrong: lines and kinds.
fn wrong(function: &str) -> Vec<(u32, MisuseKind)> {
    let text = format!("{DECLARED}{function}");
    let unit = parse_unit(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify_unit(&unit).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let input = UnitInput::new(PackedUnit::pack(unit));
    let program = Program::link(vec![input], ProgramConfig::default());
    let config = UseflowConfig::default();
    let analysis = analyse(&program, &Models::bundled(), &config);
    let functions: Vec<_> = program.functions().filter(|f| program.has_body(*f)).collect();
    let misused = misuses(&program, &config, &analysis, &ExploreConfig::default(), &functions);
    assert_eq!(misused.cut, []);
    let body = program.body(functions[0]).expect("defined");
    misused.found.iter().map(|misuse| (body.place(misuse.inst).line, misuse.kind)).collect()
}

#[test]
fn freed_on_one_path_and_then_on_all() {
    let code = "define @f(n: i32) no_unwind name f at 0:2 {
block0:
  %1 = call ptr @malloc(i64 8)                   @ 2:1
  %2 = ne i32 %0, 0                              @ 3:1
  branch %2, block1, block2                      @ 3:1
block1:
  call void @free(ptr %1)                        @ 4:1
  jump block2                                    @ 4:1
block2:
  call void @free(ptr %1)                        @ 5:1
  return                                         @ 6:1
}
";
    assert_eq!(wrong(code), [(5, MisuseKind::FreedTwice)]);
}

#[test]
fn freed_once_on_each_path() {
    let code = "define @f(n: i32) no_unwind name f at 0:2 {
block0:
  %1 = call ptr @malloc(i64 8)                   @ 2:1
  %2 = ne i32 %0, 0                              @ 3:1
  branch %2, block1, block2                      @ 3:1
block1:
  call void @free(ptr %1)                        @ 4:1
  return                                         @ 4:9
block2:
  call void @free(ptr %1)                        @ 5:1
  return                                         @ 6:1
}
";
    assert_eq!(wrong(code), []);
}

#[test]
fn read_after_it_is_freed_and_given_back() {
    let code = "define @f() -> ptr no_unwind name f at 0:2 {
block0:
  %0 = call ptr @malloc(i64 8)                   @ 2:1
  call void @free(ptr %0)                        @ 3:1
  %2 = load i8 %0                                @ 4:1
  return %0                                      @ 5:1
}
";
    assert_eq!(wrong(code), [(4, MisuseKind::UsedAfterFree), (5, MisuseKind::Reachable)]);
}

#[test]
fn what_the_caller_gave_is_freed() {
    let code = "define @f(p: ptr -> *) no_unwind name f at 0:2 {
block0:
  call void @free(ptr %0)                        @ 3:1
  return                                         @ 4:1
}
";
    assert_eq!(wrong(code), [(3, MisuseKind::Callers)]);
}
