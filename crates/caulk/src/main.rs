//! The command line of Caulk.
//!
//! This crate owns arguments, progress, messages and exit statuses, and wires the other crates together.
//!
//! *Architecture invariant:* no analysis in here. Results go to standard output, everything else to standard error, and
//! there is one place that prints an error ([`main`]).

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod arguments;
mod caches;
mod changes;
mod commands;
mod confirming;
mod date;
mod error;
mod fixing;
mod input;
mod kept;
mod message;
mod neighbours;
mod output;
mod passed_on;
mod pictures;
mod progress;
mod results;
mod scope;
mod settings;
mod settled;
mod shares;
mod show;

use std::io::Write;
use std::process::ExitCode;

use caulk_process::Lifeline;
use clap::Parser;
use clap::error::{ContextKind, ContextValue};

use arguments::{Arguments, Command};
use error::{Error, Exit};
use message::tell;
use output::Output;

/// Both stages make and drop many small objects: with this allocator a run takes a fifth less time than with the C library's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // This process may be one that Caulk started to lower a single file.
    if let Some(exit) = caulk_frontend::serve(std::env::args_os()) {
        return exit;
    }
    let exit = start().unwrap_or_else(|error| {
        tell!("{error}");
        Exit::Failed
    });
    ExitCode::from(exit as u8)
}

fn start() -> Result<Exit, Error> {
    let mut arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // What was asked for: the help, or the version.
        Err(error) if !error.use_stderr() => return print_help(&error),
        Err(error) => {
            let _ = error.print();
            if let Some(file) = file_for_a_command(&error) {
                tell!("to look for leaks in it: caulk check {file}");
            }
            return Ok(Exit::Failed);
        }
    };
    let lifeline = Lifeline::default();
    arguments.command.tie_to(&lifeline);
    lifeline.cut_by_signals().map_err(|e| Error::Usage(format!("cannot listen for signals: {e}")))?;
    settings::apply(&mut arguments.command)?;
    let exit = run(&arguments.command)?;
    // What is still buffered would fail unseen when the program ends.
    Output::new().flush()?;
    Ok(exit)
}

/// `caulk a.c`: a file or a folder where a command should be.
fn file_for_a_command(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(name) if std::path::Path::new(name).exists() => Some(name),
        _ => None,
    }
}

/// Colours are kept where standard output shows them.
fn print_help(error: &clap::Error) -> Result<Exit, Error> {
    match error.print().and_then(|()| Output::new().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Clean),
    }
}

fn run(command: &Command) -> Result<Exit, Error> {
    match command {
        Command::Candidates(options) => commands::candidates::run(options),
        Command::Capture(options) => commands::capture::run(options),
        Command::Check(options) => commands::check::run(options),
        Command::Fix(options) => commands::fix::run(options),
        Command::ProveLeak(options) => commands::prove_leak::run(options),
        Command::Lsp(options) => commands::lsp::run(options),
        Command::Graph(options) => commands::graph::run(options),
        Command::Ir(options) => commands::ir::run(options),
        Command::Lower(options) => commands::lower::run(options),
        Command::Program(options) => commands::program::run(options),
        Command::Prove(options) => commands::prove::run(options),
        Command::Query(options) => commands::query::run(options),
        Command::Summaries(options) => commands::summaries::run(options),
        Command::Why(options) => commands::why::run(options),
        Command::Init => commands::init::run(),
        Command::Explain(options) => commands::explain::run(options),
        Command::Rules => commands::rules::run(),
        Command::Completions(options) => commands::generate::completions(options),
        Command::Man(options) => commands::generate::man(options),
    }
}
