//! `caulk candidates`: where memory may be lost.

use std::io::Write;

use caulk_program::Program;
use caulk_useflow::{Candidate, Kind};

use crate::arguments::CandidatesOptions;
use crate::error::{Error, Exit};
use crate::input;

pub fn run(options: &CandidatesOptions) -> Result<Exit, Error> {
    let analysed = input::analyse(&options.input, &options.models)?;
    let mut out = std::io::stdout().lock();
    let mut count = 0;
    for report in &analysed.analysis.reports {
        for candidate in report.candidates.iter().filter(|c| options.hidden || !c.hidden) {
            count += 1;
            write_candidate(&analysed.program, candidate, &mut out)?;
        }
    }
    let statistics = analysed.analysis.statistics;
    eprintln!(
        "caulk: {count} candidates; {} functions analysed, {} skipped, {} cut, largest component {} in {} rounds",
        statistics.analysed, statistics.skipped, statistics.cut, statistics.largest_component, statistics.rounds
    );
    Ok(analysed.read.exit())
}

fn write_candidate(program: &Program, candidate: &Candidate, out: &mut impl Write) -> Result<(), Error> {
    let info = program.function(candidate.function);
    let unit = program.unit(info.unit);
    let Some(body) = program.body(candidate.function) else { return Ok(()) };
    let place = body.place(candidate.place);
    let file = unit.files.get(place.file).map_or("?", |f| unit.str(*f));
    let made = body.place(candidate.allocation);
    let variable = candidate.variable.map_or("(unnamed)", |v| unit.str(body.vars[v].name));
    let kind = match candidate.kind {
        Kind::Lost => "lost",
        Kind::Forgotten => "forgotten",
    };
    let chain: Vec<String> =
        candidate.chain.iter().map(|(f, line)| format!("{}:{line}", program.function(*f).name)).collect();
    writeln!(
        out,
        "{file}:{}:{}: {variable} {kind} in {}, allocated at line {} [{}]{}{}",
        place.line,
        place.column,
        info.name,
        made.line,
        chain.join(" > "),
        if candidate.hidden { " hidden" } else { "" },
        if candidate.is_part { " part" } else { "" },
    )?;
    Ok(())
}
