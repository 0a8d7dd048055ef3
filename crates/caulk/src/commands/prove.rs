//! `caulk prove`: which functions lose no memory, and where the others may.

use std::io::Write;
use std::path::Path;

use caulk_models::Models;
use caulk_program::FuncId;
use caulk_prove::{Judged, Judgement, Outcome, TypedRegions, World, judge_each};
use caulk_report::proof::{Proof, ProofCounts, ProofVerdict, ProvedFunction};
use caulk_report::source::Sources;
use caulk_report::{ReportConfig, proof_sarif, terminal};

use super::proof::{self, Teller};
use crate::arguments::{ProveFormat, ProveOptions};
use crate::error::{Error, Exit};
use crate::input;
use crate::message::tell;
use crate::output::Output;
use crate::progress;

pub(crate) fn run(options: &ProveOptions) -> Result<Exit, Error> {
    let models = Models::with_files(&options.models.models)?;
    let mut read = input::read(&options.input)?;
    let program = input::link(&mut read, &options.input)?;
    let is_wanted = |f: &FuncId| program.has_body(*f) && read.is_wanted(&program, *f);
    let mut functions: Vec<FuncId> = program.functions().filter(is_wanted).collect();
    if !options.function.is_empty() {
        functions = Vec::new();
        for name in &options.function {
            let named = program.functions_named(name).into_iter().filter(|f| program.has_body(*f));
            let before = functions.len();
            functions.extend(named);
            if functions.len() == before {
                return Err(Error::NoSuchFunction(name.clone(), String::new()));
            }
        }
    }
    let regions = TypedRegions::new(&program);
    let world = World::new(&program, &models, &regions, proof::config(&options.prover));
    let teller = Teller { program: &program, root: &read.root };
    let mut proof = teller.proof(&read);
    let mut all_proved = true;
    let bar = progress::bar(functions.len(), "proving", options.input.quiet);
    let tell_one = |judged: Judged| -> Result<(), Error> {
        let function = teller.function(&judged);
        all_proved &= judged.verdict() == Judgement::Proved;
        // As soon as it is known: a large project takes minutes, and may be ended before.
        if options.format == ProveFormat::Text {
            bar.suspend(|| write_function(teller, &judged, &function, &mut Output::new()))?;
        }
        bar.set_message(terminal::piece(&function.name));
        bar.inc(1);
        proof.functions.push(function);
        Ok(())
    };
    input::in_pool(&options.input, || judge_each(&world, &functions, tell_one))??;
    bar.finish_and_clear();
    let mut out = Output::new();
    match options.format {
        ProveFormat::Text => write_totals(&proof, &mut out)?,
        ProveFormat::Json => out.write_all(proof.to_json().as_bytes())?,
        ProveFormat::Sarif => {
            let sources = Sources::new(Path::new(&proof.root), ReportConfig::default().max_source);
            out.write_all(proof_sarif::render(&proof, proof::ASSUMPTIONS, &sources).as_bytes())?;
        }
    }
    if !options.input.quiet {
        tell!("{}", proof::ASSUMPTIONS);
    }
    Ok(if all_proved { read.exit() } else { Exit::Leaks })
}

fn write_function(
    teller: Teller<'_>,
    judged: &Judged,
    function: &ProvedFunction,
    out: &mut Output,
) -> Result<(), Error> {
    let place = format!("{}:{}", function.file, function.line);
    let cut = judged.cut.map_or_else(String::new, |reason| format!(": {reason}"));
    let why = judged.outside.map_or(cut, |o| format!(": it {o}"));
    let verdict = words(function.verdict);
    let probes = if function.probes == 1 { "1 probe".to_owned() } else { format!("{} probes", function.probes) };
    out.line(format_args!("{place}: {}: {verdict}{why} ({probes})", function.name))?;
    let Some(body) = teller.program.body(judged.function) else { return Ok(()) };
    let open = judged.probes.iter().filter(|(_, a)| a.outcome != Outcome::Proved && judged.outside.is_none());
    for (probe, answer) in open {
        out.text(&teller.answer(&body, probe, answer))?;
    }
    // A reader at the other end of a pipe need not wait for the next one.
    Ok(out.flush()?)
}

fn write_totals(proof: &Proof, out: &mut Output) -> Result<(), Error> {
    writeln!(out)?;
    writeln!(out, "{:>10} {:>8} {:>9} {:>10} {:>8}", "", "proved", "may leak", "abandoned", "outside")?;
    for (name, counts) in [("functions", proof.count_functions()), ("probes", proof.count_probes())] {
        let ProofCounts { proved, may_leak, abandoned, outside } = counts;
        writeln!(out, "{name:>10} {proved:>8} {may_leak:>9} {abandoned:>10} {outside:>8}")?;
    }
    Ok(())
}

fn words(verdict: ProofVerdict) -> &'static str {
    match verdict {
        ProofVerdict::Proved => "proved",
        ProofVerdict::MayLeak => "may leak",
        ProofVerdict::Abandoned => "abandoned",
        ProofVerdict::Outside => "outside",
    }
}
