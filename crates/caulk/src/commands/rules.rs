//! `caulk rules`: the heuristics of the engines, which settings can switch off.

use std::io::Write;

use caulk_rules::Rule;

use crate::error::{Error, Exit};
use crate::output::Output;

pub(crate) fn run() -> Result<Exit, Error> {
    let mut out = Output::new();
    let width = Rule::ALL.into_iter().map(|rule| rule.name().len()).max().unwrap_or(0);
    for rule in Rule::ALL {
        writeln!(out, "{:<width$}  {}", rule.name(), rule.reason())?;
    }
    Ok(Exit::Clean)
}
