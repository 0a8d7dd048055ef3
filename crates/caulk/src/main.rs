//! The command line of Caulk.
//!
//! This crate owns arguments, progress, messages and exit statuses, and wires the other crates together.
//!
//! *Architecture invariant:* no analysis in here. Results go to standard output, everything else to standard error, and
//! there is one place that prints an error ([`main`]).

mod arguments;
mod commands;
mod error;
mod input;
mod neighbours;
mod progress;
mod settings;
mod show;

use std::io::ErrorKind;
use std::process::ExitCode;

use caulk_process::Lifeline;
use clap::Parser;

use arguments::{Arguments, Command};
use error::{Error, Exit};

fn main() -> ExitCode {
    // This process may be one that Caulk started to lower a single file.
    if let Some(exit) = caulk_frontend::serve(std::env::args_os()) {
        return exit;
    }
    let mut arguments = Arguments::parse();
    let lifeline = Lifeline::default();
    arguments.command.tie_to(&lifeline);
    let listening = lifeline.cut_by_signals().map_err(|e| Error::Usage(format!("cannot listen for signals: {e}")));
    let result =
        listening.and_then(|()| settings::apply(&mut arguments.command)).and_then(|()| run(&arguments.command));
    let exit = result.unwrap_or_else(|error| match error {
        // `caulk ir | head`: whoever reads has seen enough, and nothing went wrong.
        Error::Output(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Clean,
        error => {
            eprintln!("caulk: {error}");
            Exit::Failed
        }
    });
    ExitCode::from(exit as u8)
}

fn run(command: &Command) -> Result<Exit, Error> {
    match command {
        Command::Candidates(options) => commands::candidates::run(options),
        Command::Capture(options) => commands::capture::run(options),
        Command::Check(options) => commands::check::run(options),
        Command::Graph(options) => commands::graph::run(options),
        Command::Ir(options) => commands::ir::run(options),
        Command::Program(options) => commands::program::run(options),
        Command::Prove(options) => commands::prove::run(options),
        Command::Query(options) => commands::query::run(options),
        Command::Summaries(options) => commands::summaries::run(options),
        Command::Why(options) => commands::why::run(options),
        Command::Init => commands::init::run(),
        Command::Explain(options) => commands::explain::run(options),
        Command::Completions(options) => commands::generate::completions(options),
        Command::Man(options) => commands::generate::man(options),
    }
}
