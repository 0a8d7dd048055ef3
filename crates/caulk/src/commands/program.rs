//! `caulk program`: a table of what was read.

use std::io::Write;

use caulk_models::Models;
use caulk_program::{Program, Totals};
use caulk_report::overview::count;
use serde::Serialize;

use crate::arguments::{ProgramOptions, TableFormat};
use crate::error::{Error, Exit};
use crate::input::{self, Read};
use crate::output::Output;

/// How many functions without a body the text table names.
const SHOWN_MISSING: usize = 10;

pub(crate) fn run(options: &ProgramOptions) -> Result<Exit, Error> {
    let mut read = input::read(&options.input)?;
    let program = input::link(&mut read, &options.input)?;
    let summary = Summary::new(&read, &program);
    let mut out = Output::new();
    match options.format {
        TableFormat::Text => out.text(&summary.table())?,
        TableFormat::Json => {
            let text = serde_json::to_string_pretty(&summary).map_err(std::io::Error::from)?;
            writeln!(out, "{text}")?;
        }
    }
    Ok(read.exit())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'a> {
    units_wanted: usize,
    units_read: usize,
    units_lost: Vec<Lost<'a>>,
    /// Entries of the database that are no units, in words.
    skipped: &'a str,
    functions: usize,
    functions_without_body: usize,
    blocks: u64,
    instructions: u64,
    globals: usize,
    structure_types: usize,
    direct_calls: usize,
    ambiguous_calls: usize,
    indirect_calls: usize,
    virtual_calls: usize,
    indirect_calls_resolved: usize,
    indirect_calls_with_many_targets: usize,
    indirect_calls_unresolved: usize,
    assembly_calls: usize,
    components: usize,
    largest_component: usize,
    allocation_sites: usize,
    unknown_values: u64,
    /// Functions without a body, by how many calls reach them.
    missing_bodies: Vec<Missing<'a>>,
}

#[derive(Serialize)]
struct Lost<'a> {
    source: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Missing<'a> {
    symbol: &'a str,
    calls: usize,
    has_model: bool,
}

impl<'a> Summary<'a> {
    fn new(read: &'a Read, program: &'a Program) -> Self {
        let models = Models::bundled();
        let mut missing: Vec<Missing<'a>> = program
            .missing_bodies()
            .into_iter()
            .map(|(id, calls)| {
                let symbol = program.function(id).symbol;
                Missing { symbol, calls, has_model: models.get(symbol).is_some() }
            })
            .collect();
        missing.sort_by(|a, b| b.calls.cmp(&a.calls).then(a.symbol.cmp(b.symbol)));
        let allocates = |m: &&Missing<'_>| models.get(m.symbol).is_some_and(|model| model.allocates());
        let allocation_sites = missing.iter().filter(allocates).map(|m| m.calls).sum();
        let totals: &Totals = program.totals();
        Self {
            units_wanted: read.wanted,
            units_read: totals.units,
            units_lost: read.lost.iter().map(|l| Lost { source: &l.source, reason: &l.reason }).collect(),
            skipped: &read.skipped,
            functions: totals.functions_with_body,
            functions_without_body: totals.functions_without_body,
            blocks: totals.blocks,
            instructions: totals.instructions,
            globals: totals.globals,
            structure_types: totals.struct_types,
            direct_calls: totals.direct_calls,
            ambiguous_calls: totals.ambiguous_calls,
            indirect_calls: totals.indirect_calls,
            virtual_calls: totals.virtual_calls,
            indirect_calls_resolved: totals.indirect_resolved,
            indirect_calls_with_many_targets: totals.indirect_many,
            indirect_calls_unresolved: totals.indirect_unresolved,
            assembly_calls: totals.assembly_calls,
            components: totals.sccs,
            largest_component: totals.largest_scc,
            allocation_sites,
            unknown_values: totals.unknown_values.values().sum(),
            missing_bodies: missing,
        }
    }

    fn table(&self) -> String {
        let indirect = format!(
            "{} ({} resolved, {} with many targets, {} unresolved)",
            self.indirect_calls,
            self.indirect_calls_resolved,
            self.indirect_calls_with_many_targets,
            self.indirect_calls_unresolved
        );
        let units = match self.units_lost.len() {
            0 => self.units_read.to_string(),
            lost => format!("{} of {} ({lost} lost)", self.units_read, self.units_wanted),
        };
        let rows = [
            ("units", units),
            ("functions", format!("{} ({} more without a body)", self.functions, self.functions_without_body)),
            ("instructions", format!("{} in {} blocks", self.instructions, self.blocks)),
            ("direct calls", self.direct_calls.to_string()),
            ("indirect calls", indirect),
            ("call cycles", format!("largest component {} of {}", self.largest_component, self.components)),
            ("allocation sites", self.allocation_sites.to_string()),
            ("globals", self.globals.to_string()),
            ("structure types", self.structure_types.to_string()),
            ("unknown values", self.unknown_values.to_string()),
        ];
        let mut text = String::new();
        for (name, value) in rows {
            text.push_str(&format!("{name:<18}{value}\n"));
        }
        if !self.skipped.is_empty() {
            text.push_str(&format!("{:<18}{}\n", "not units", self.skipped));
        }
        text.push_str(&self.missing_table());
        text
    }

    fn missing_table(&self) -> String {
        let unknown: Vec<&Missing<'_>> = self.missing_bodies.iter().filter(|m| !m.has_model).collect();
        if unknown.is_empty() {
            return String::new();
        }
        let calls: usize = unknown.iter().map(|m| m.calls).sum();
        let most: Vec<String> =
            unknown.iter().take(SHOWN_MISSING).map(|m| format!("{} ({})", m.symbol, m.calls)).collect();
        let more = if unknown.len() > SHOWN_MISSING { ", ..." } else { "" };
        let name = "no body, no model";
        let functions = count(unknown.len(), "function", "functions");
        let calls = count(calls, "call", "calls");
        format!("{name:<18}{functions} in {calls}: {}{more}\n", most.join(", "))
    }
}
