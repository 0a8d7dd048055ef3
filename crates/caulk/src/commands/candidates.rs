//! `caulk candidates`: where memory may be lost.

use caulk_report::overview;
use caulk_useflow::{Candidate, Escaped, Kind, Loss, escaped, holder_name, slot_name};

use crate::arguments::CandidatesOptions;
use crate::error::{Error, Exit};
use crate::input::{self, Analysed};
use crate::message::tell;
use crate::output::Output;

pub(crate) fn run(options: &CandidatesOptions) -> Result<Exit, Error> {
    let analysed = input::analyse(&options.input, &options.models)?;
    let mut out = Output::new();
    let mut count = 0;
    for report in analysed.analysis.reports.values() {
        for candidate in report.candidates.iter().filter(|c| options.hidden || !c.hidden) {
            count += 1;
            write_candidate(&analysed, candidate, &mut out)?;
        }
    }
    if !options.input.quiet {
        let statistics = analysed.analysis.statistics;
        tell!(
            "{}; {} analysed, {} skipped, {} cut, largest component {} in {}, {:.1} s",
            overview::count(count, "candidate", "candidates"),
            overview::count(statistics.analysed, "function", "functions"),
            statistics.skipped,
            statistics.cut,
            statistics.largest_component,
            overview::count(statistics.iterations, "iteration", "iterations"),
            statistics.longest_component.as_secs_f64()
        );
        tell_escaped(&escaped(&analysed.program, &analysed.models, &analysed.analysis));
    }
    Ok(analysed.read.exit())
}

/// Which models would tell most.
fn tell_escaped(escaped: &Escaped) {
    const MAX_NAMED: usize = 8;
    if escaped.objects == 0 {
        return;
    }
    let named = escaped.by.iter().take(MAX_NAMED).map(|(name, count)| format!("{name} ({count})"));
    let names: Vec<String> = named.collect();
    let more = if escaped.by.len() > MAX_NAMED { ", ..." } else { "" };
    tell!(
        "{} escaped to functions without a model: {}{more}; write a model (docs/models.md)",
        overview::count(escaped.objects, "object", "objects"),
        names.join(", ")
    );
}

fn write_candidate(analysed: &Analysed, candidate: &Candidate, out: &mut Output) -> Result<(), Error> {
    let program = &analysed.program;
    let info = program.function(candidate.function);
    let unit = program.unit(info.unit);
    let Some(body) = program.body(candidate.function) else { return Ok(()) };
    let place = body.place(candidate.place);
    let file = analysed.shown(unit.files.get(place.file).map(|f| unit.str(*f)));
    // What a field holds is allocated elsewhere: where it was first put there.
    let made = match (candidate.loss.is_made_elsewhere(), candidate.chain.first()) {
        (true, Some(&(function, below))) => program.line_of(function, below),
        _ => body.place(candidate.allocation).line,
    };
    let variable = match (candidate.loss, candidate.loss.slot()) {
        (_, Some(slot)) if candidate.variable.is_none() => slot_name(program, slot),
        (Loss::OverwrittenStatic(variable), _) => program.global(variable).name.to_owned(),
        _ => holder_name(program, &analysed.analysis, candidate).unwrap_or_else(|| "(unnamed)".to_owned()),
    };
    let kind = match candidate.kind {
        Kind::Lost => "lost",
        Kind::Forgotten => "forgotten",
        Kind::AtExit => "still held at exit",
    };
    let chain: Vec<String> = candidate
        .chain
        .iter()
        .map(|(f, below)| format!("{}:{}", program.function(*f).name, program.line_of(*f, *below)))
        .collect();
    out.line(format_args!(
        "{file}:{}:{}: {variable} {kind} in {}, allocated at line {} [{}]{}{}",
        place.line,
        place.column,
        info.name,
        made,
        chain.join(" > "),
        if candidate.hidden { " hidden" } else { "" },
        if candidate.is_part { " part" } else { "" },
    ))?;
    Ok(())
}
