//! The chores of this repository that are more than a line of make: `cargo xtask CHORE`.
//!
//! *Architecture invariant:* nothing of Caulk's own crates is linked but `caulk-capture`, which says what is compiled.
//! Caulk itself is measured from outside, as the program a user runs.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod inject;
mod juliet;
mod probes;
mod realleaks;
mod regress;
mod results;
mod rules;
mod sarif;
mod verdicts;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "xtask", about = "Chores of the Caulk repository", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    Bench(Box<bench::arguments::Bench>),
    Inject(inject::Inject),
    Juliet(juliet::Juliet),
    Probes(probes::Probes),
    Realleaks(realleaks::Realleaks),
    Regress(regress::Regress),
    Results(results::Results),
    Rules(rules::Rules),
    Verdicts(verdicts::Verdicts),
}

/// Nothing but errors is printed here. Exit statuses: 0 done, 1 a measure is worse than it may be, 2 it could not be done.
fn main() -> ExitCode {
    let done = match Arguments::parse().chore {
        Chore::Bench(arguments) => bench::run(&arguments).map(|()| true),
        Chore::Inject(arguments) => inject::run(&arguments).map(|()| true),
        Chore::Juliet(arguments) => juliet::run(&arguments).map(|()| true),
        Chore::Probes(arguments) => probes::run(&arguments).map(|()| true),
        Chore::Realleaks(arguments) => realleaks::run(&arguments).map(|()| true),
        Chore::Regress(arguments) => regress::run(&arguments),
        Chore::Results(arguments) => results::run(&arguments).map(|()| true),
        Chore::Rules(arguments) => rules::run(&arguments).map(|()| true),
        Chore::Verdicts(arguments) => verdicts::run(&arguments).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}
