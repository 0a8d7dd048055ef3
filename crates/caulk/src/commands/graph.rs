//! `caulk graph`: DOT for Graphviz.

use caulk_explore::state_graph;
use caulk_program::{DEFAULT_DEPTH, FuncId, Program, calls_dot, cfg_dot};
use caulk_report::Narrator;
use caulk_report::source::Sources;
use caulk_useflow::{Explainer, useflow_dot};

use crate::arguments::{GraphKind, GraphOptions};
use crate::error::{Error, Exit};
use crate::input::{self, Analysed};
use crate::message::tell;
use crate::output::Output;

pub(crate) fn run(options: &GraphOptions) -> Result<Exit, Error> {
    if matches!(options.kind, GraphKind::Useflow | GraphKind::Mstg) {
        return run_analysed(options);
    }
    let mut read = input::read(&options.input)?;
    let program = input::link(&mut read, &options.input)?;
    let function = options.function.as_deref().map(|name| find(&program, name)).transpose()?;
    let dot = match (options.kind, function) {
        (GraphKind::Calls, function) => calls_dot(&program, function, DEFAULT_DEPTH),
        (_, Some(function)) => cfg_dot(&program, function),
        (_, None) => {
            return Err(Error::Usage("a control-flow graph needs --function NAME".to_owned()));
        }
    };
    Output::new().text(&dot)?;
    Ok(read.exit())
}

/// Graphs of the ownership states of objects.
fn run_analysed(options: &GraphOptions) -> Result<Exit, Error> {
    let Some(name) = options.function.as_deref() else {
        return Err(Error::Usage("a graph of how objects are used needs --function NAME".to_owned()));
    };
    let analysed = input::analyse(&options.input, &options.models)?;
    let Analysed { read, program, models, config, analysis } = &analysed;
    let function = find(program, name)?;
    let dot = match options.kind {
        GraphKind::Mstg => states(options, &analysed, function)?,
        _ => useflow_dot(&Explainer::new(program, models, config, analysis), function),
    };
    Output::new().text(&dot)?;
    Ok(read.exit())
}

/// The states of the function's objects together, or of the object of one line.
fn states(options: &GraphOptions, analysed: &Analysed, function: FuncId) -> Result<String, Error> {
    let Analysed { read, program, models, config, analysis } = analysed;
    let report_config = input::report_config(&options.input);
    let sources = Sources::new(&read.root, report_config.max_source);
    let narrator = Narrator::new(program, models, analysis, &report_config, &sources, &read.root);
    let graph = state_graph(program, config, analysis, &input::explore_config(config), function);
    let picture = narrator.state_picture(function, &graph, options.object);
    if let Some(line) = options.object.filter(|_| picture.edges.is_empty()) {
        let name = &picture.function;
        return Err(Error::Usage(format!(
            "{name} allocates nothing in line {line}: leave --object out to see all objects"
        )));
    }
    Ok(picture.dot())
}

/// The function of that name; when several have it, the first with a body, and the user is told of the others.
pub(crate) fn find(program: &Program, name: &str) -> Result<FuncId, Error> {
    let mut found = program.functions_named(name);
    found.sort_by_key(|&f| (!program.has_body(f), f));
    let first = *found.first().ok_or_else(|| Error::NoSuchFunction(name.to_owned(), String::new()))?;
    for &other in found.iter().skip(1).filter(|&&f| program.has_body(f)) {
        let info = program.function(other);
        tell!("{name} is also defined at {}:{}", info.file.unwrap_or("?"), info.line);
    }
    Ok(first)
}
