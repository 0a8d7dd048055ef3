//! The chores of this repository that are more than a line of make: `cargo xtask CHORE`.
//!
//! *Architecture invariant:* nothing of Caulk's own crates is linked but `caulk-capture`, which says what is compiled.
//! Caulk itself is measured from outside, as the program a user runs.

mod bench;
mod juliet;
mod realleaks;
mod sarif;
mod verdicts;

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
    Juliet(juliet::Juliet),
    Realleaks(realleaks::Realleaks),
    Verdicts(verdicts::Verdicts),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Bench(arguments) => bench::run(&arguments),
        Chore::Juliet(arguments) => juliet::run(&arguments),
        Chore::Realleaks(arguments) => realleaks::run(&arguments),
        Chore::Verdicts(arguments) => verdicts::run(&arguments),
    }
}
