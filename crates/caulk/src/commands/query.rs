//! `caulk query FILE:LINE[:COL]`: can this statement lose the last reference to a block, and to which?

use caulk_models::Models;
use caulk_program::{FuncId, Program};
use caulk_prove::{Outcome, TypedRegions, World, judge};

use super::proof::{self, Teller};
use crate::arguments::QueryOptions;
use crate::error::{Error, Exit};
use crate::input;
use crate::message::tell;
use crate::output::Output;

pub(crate) fn run(options: &QueryOptions) -> Result<Exit, Error> {
    let place = parse(&options.place)?;
    let models = Models::with_files(&options.models.models)?;
    let mut read = input::read(&options.input)?;
    let program = input::link(&mut read, &options.input)?;
    let functions = find(&program, &place);
    if functions.is_empty() {
        return Err(Error::Usage(format!("no function at {}:{} was read", place.file, place.line)));
    }
    let regions = TypedRegions::new(&program);
    let world = World::new(&program, &models, &regions, proof::config(&options.prover));
    let teller = Teller { program: &program, root: &read.root };
    let mut out = Output::new();
    let mut all_proved = true;
    for function in functions {
        let Some(body) = program.body(function) else { continue };
        let is_here = |inst| {
            let at = body.place(inst);
            at.line == place.line && place.column.is_none_or(|column| at.column == column)
        };
        let judged = input::in_pool(&options.input, || judge(&world, function, |probe| is_here(probe.place)))?;
        let Some(judged) = judged else { continue };
        let name = program.function(function).name;
        if let Some(cut) = judged.cut {
            out.line(format_args!("{name}: abandoned: {cut}"))?;
        } else if judged.probes.is_empty() {
            out.line(format_args!("{}:{}: nothing in {name} can lose a reference here", place.file, place.line))?;
        }
        if let Some(outside) = judged.outside {
            out.line(format_args!("{name} {outside}: what follows is no proof"))?;
        }
        for (probe, answer) in &judged.probes {
            out.text(&teller.answer(&body, probe, answer))?;
        }
        all_proved &= judged.outside.is_none()
            && judged.cut.is_none()
            && judged.probes.iter().all(|(_, a)| a.outcome == Outcome::Proved);
    }
    if !options.input.quiet {
        tell!("{}", proof::ASSUMPTIONS);
    }
    Ok(if all_proved { read.exit() } else { Exit::Leaks })
}

struct SourceLine<'a> {
    file: &'a str,
    line: u32,
    column: Option<u32>,
}

fn parse(text: &str) -> Result<SourceLine<'_>, Error> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n > 0);
    let split = text.rsplit_once(':').and_then(|(before, last)| Some((before, number(last)?)));
    let place = split.and_then(|(before, last)| match before.rsplit_once(':') {
        Some((file, line)) if number(line).is_some() && !file.is_empty() => {
            Some(SourceLine { file, line: number(line)?, column: Some(last) })
        }
        _ if before.is_empty() => None,
        _ => Some(SourceLine { file: before, line: last, column: None }),
    });
    place.ok_or_else(|| {
        Error::Usage(format!(
            "{text:?} is no place in the source; write FILE:LINE or FILE:LINE:COLUMN, such as main.c:12"
        ))
    })
}

fn find(program: &Program, place: &SourceLine<'_>) -> Vec<FuncId> {
    let found = program.functions_at(place.file, place.line);
    if !found.is_empty() {
        return found;
    }
    let canonical = std::fs::canonicalize(place.file).ok();
    canonical.and_then(|p| Some(program.functions_at(p.to_str()?, place.line))).unwrap_or_default()
}
