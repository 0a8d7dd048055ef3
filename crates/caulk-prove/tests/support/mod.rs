//! Programs for the tests: from C, from the text of IR, from chance.

// Every test binary compiles this module and uses a part of it.
#![allow(dead_code)]

pub(crate) mod generator;
pub(crate) mod heaps;
pub(crate) mod interpreter;

use std::path::{Path, PathBuf};

use caulk_capture::jobs_from_sources;
use caulk_frontend::{Clang, Config, read_units};
use caulk_ir::PackedUnit;
use caulk_ir::text::parse_unit;
use caulk_program::{FuncId, Program, ProgramConfig, UnitInput};

/// Compiles and links C files.
pub(crate) fn compile(files: &[PathBuf], cwd: &Path) -> Program {
    let jobs = jobs_from_sources(files, &[], cwd).jobs;
    let config =
        Config { clang: Clang::find(None).expect("the tests need clang 19"), cache: None, isolated: None, threads: 2 };
    let units = read_units(&jobs, &config, &|_| {}).expect("threads and temporary folders can be made");
    let inputs = units.into_iter().map(|unit| match unit {
        Ok(unit) => UnitInput::new(unit.unit),
        Err(lost) => panic!("{}: {}", lost.source, lost.reason),
    });
    Program::link(inputs.collect(), ProgramConfig::default())
}

/// Compiles C code.
pub(crate) fn compile_text(code: &str) -> Program {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("generated.c");
    std::fs::write(&path, code).expect("the folder can be written to");
    compile(&[path], folder.path())
}

/// Links the text of one unit of IR.
pub(crate) fn parse(text: &str) -> Program {
    let text = format!("unit \"/t.c\" pointer 8\n{text}");
    let unit = parse_unit(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Program::link(vec![UnitInput::new(PackedUnit::pack(unit))], ProgramConfig::default())
}

/// The one function of a name.
pub(crate) fn function(program: &Program, name: &str) -> FuncId {
    match program.functions_named(name).as_slice() {
        [one] => *one,
        found => panic!("{name}: {found:?}"),
    }
}
