//! `caulk summaries`: what every function does with memory.

use std::io::Write;

use caulk_program::FuncId;
use caulk_report::overview;
use caulk_summary::{json, print};

use crate::arguments::{SummariesOptions, TableFormat};
use crate::error::{Error, Exit};
use crate::input::{self, Analysed};
use crate::message::tell;
use crate::output::Output;

pub(crate) fn run(options: &SummariesOptions) -> Result<Exit, Error> {
    let analysed = input::analyse(&options.input, &options.models)?;
    let functions = wanted(&analysed, options.function.as_deref())?;
    let mut out = Output::new();
    match options.format {
        TableFormat::Text => {
            write_text(&analysed, &functions, &mut out)?;
            if !options.input.quiet {
                tell_totals(&analysed);
            }
        }
        TableFormat::Json => {
            let all: Vec<json::FunctionSummary> =
                functions.iter().map(|&f| json::function(&analysed.program, f, analysed.analysis.summary(f))).collect();
            let text = serde_json::to_string_pretty(&all).map_err(std::io::Error::from)?;
            writeln!(out, "{text}")?;
        }
    }
    Ok(analysed.read.exit())
}

/// The functions asked for; without a name, all of what was named that do anything.
fn wanted(analysed: &Analysed, name: Option<&str>) -> Result<Vec<FuncId>, Error> {
    let program = &analysed.program;
    let Some(name) = name else {
        let has_effect = |f: &FuncId| program.has_body(*f) && !analysed.analysis.summary(*f).is_empty();
        return Ok(program.functions().filter(|f| has_effect(f) && analysed.is_wanted(*f)).collect());
    };
    let found = program.functions_named(name);
    if found.is_empty() { Err(Error::NoSuchFunction(name.to_owned(), String::new())) } else { Ok(found) }
}

fn write_text(analysed: &Analysed, functions: &[FuncId], out: &mut Output) -> Result<(), Error> {
    let program = &analysed.program;
    for &function in functions {
        let info = program.function(function);
        let lines = print::summary(program, function, analysed.analysis.summary(function));
        out.line(format_args!("{} ({}:{})", info.name, analysed.shown(info.file), info.line))?;
        for line in lines {
            out.line(format_args!("    {line}"))?;
        }
    }
    Ok(())
}

fn tell_totals(analysed: &Analysed) {
    let program = &analysed.program;
    let count = |test: fn(&caulk_summary::Summary) -> bool| {
        program.functions().filter(|f| program.has_body(*f) && test(analysed.analysis.summary(*f))).count()
    };
    let statistics = analysed.analysis.statistics;
    tell!(
        "{}, {}, {}; {} analysed, {} skipped, {} cut",
        overview::count(count(|s| s.allocates()), "allocator", "allocators"),
        overview::count(count(|s| s.is_deallocator()), "deallocator", "deallocators"),
        overview::count(count(|s| s.is_keeper()), "keeper", "keepers"),
        overview::count(statistics.analysed, "function", "functions"),
        statistics.skipped,
        statistics.cut
    );
}
