//! `caulk explain RULE`: the page of the manual for a rule.

use std::io::Write;

use caulk_models::nearest;
use caulk_report::rules::{self, Rule};

use crate::arguments::ExplainOptions;
use crate::error::{Error, Exit};
use crate::output::Output;

pub(crate) fn run(options: &ExplainOptions) -> Result<Exit, Error> {
    let mut out = Output::new();
    let Some(name) = &options.rule else {
        for rule in rules::ALL {
            writeln!(out, "{:<12} {} ({})", rule.id, rule.short, rule.cwe)?;
        }
        return Ok(Exit::Clean);
    };
    let by_weakness: Vec<&Rule> = rules::ALL.into_iter().filter(|r| is_weakness(r, name)).collect();
    if !by_weakness.is_empty() {
        for rule in by_weakness {
            writeln!(out, "{:<12} {} ({})", rule.id, rule.short, rule.cwe)?;
        }
        writeln!(out, "\n`caulk explain RULE` has the page of each.")?;
        return Ok(Exit::Clean);
    }
    let Some(rule) = rules::ALL.into_iter().find(|r| r.id.eq_ignore_ascii_case(name)) else {
        let ids = rules::ALL.map(|r| r.id);
        let hint = nearest(name, ids)
            .map_or_else(|| format!("rules are {}", ids.join(", ")), |m| format!("did you mean {m}?"));
        return Err(Error::Usage(format!("there is no rule {name:?}; {hint}")));
    };
    out.write_all(rule.page.as_bytes())?;
    Ok(Exit::Clean)
}

/// Weaknesses of which all that Caulk finds are cases: a resource that is not released (772), or not controlled (400).
const GENERAL: [&str; 2] = ["772", "400"];

/// Whether a rule finds a weakness, however its number is written: `CWE-401`, `cwe401`, `401`.
fn is_weakness(rule: &Rule, name: &str) -> bool {
    let number =
        |text: &str| text.to_ascii_lowercase().trim_start_matches("cwe").trim_start_matches(['-', ' ']).to_owned();
    number(rule.cwe) == number(name) || GENERAL.contains(&number(name).as_str())
}
