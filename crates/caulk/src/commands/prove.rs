//! `caulk prove`: which functions lose no memory, and where the others may.

use std::io::Write;

use caulk_models::Models;
use caulk_program::FuncId;
use caulk_prove::{Judged, Outcome, TypedRegions, Verdict, World, judge_all};
use serde::Serialize;

use super::proof::{self, Teller};
use crate::arguments::{ProveOptions, TableFormat};
use crate::error::{Error, Exit};
use crate::input;
use crate::show;

pub fn run(options: &ProveOptions) -> Result<Exit, Error> {
    let models = Models::with_files(&options.models.models)?;
    let mut read = input::read(&options.input)?;
    let program = input::link(&mut read, &options.input)?;
    let mut functions: Vec<FuncId> = program.functions().filter(|f| program.has_body(*f)).collect();
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
    let judged = input::in_pool(&options.input, || judge_all(&world, &functions))?;
    let teller = Teller { program: &program };
    let mut out = std::io::stdout().lock();
    match options.format {
        TableFormat::Text => write_text(teller, &judged, &mut out)?,
        TableFormat::Json => write_json(teller, &judged, &mut out)?,
    }
    if !options.input.quiet {
        eprintln!("caulk: {}", proof::ASSUMPTIONS);
    }
    let all_proved = judged.iter().all(|j| j.verdict() == Verdict::Proved);
    Ok(if all_proved { read.exit() } else { Exit::Leaks })
}

/// How many probes came to what.
#[derive(Default)]
struct Counts {
    probes: usize,
    proved: usize,
    may_leak: usize,
    abandoned: usize,
}

impl Counts {
    fn of(judged: &Judged) -> Self {
        Self {
            probes: judged.probes.len(),
            // Nothing is proved of a function outside of the language.
            proved: if judged.outside.is_some() { 0 } else { judged.count(|o| *o == Outcome::Proved) },
            may_leak: judged.count(|o| matches!(o, Outcome::MayLeak { .. })),
            abandoned: judged.count(|o| matches!(o, Outcome::Abandoned(_))),
        }
    }

    fn add(&mut self, other: &Counts) {
        self.probes += other.probes;
        self.proved += other.proved;
        self.may_leak += other.may_leak;
        self.abandoned += other.abandoned;
    }
}

fn write_text(teller: Teller<'_>, all: &[Judged], out: &mut impl Write) -> Result<(), Error> {
    let mut total = Counts::default();
    let mut verdicts = [0usize; 4];
    for judged in all {
        let info = teller.program.function(judged.function);
        let counts = Counts::of(judged);
        total.add(&counts);
        let verdict = judged.verdict();
        verdicts[verdict as usize] += 1;
        let place = format!("{}:{}", show::path(info.file.unwrap_or("?")), info.line);
        let why = judged.outside.map_or_else(String::new, |o| format!(": it {o}"));
        writeln!(out, "{place}: {}: {}{why} ({} probes)", info.name, words(verdict), counts.probes)?;
        let Some(body) = teller.program.body(judged.function) else { continue };
        let open = judged.probes.iter().filter(|(_, a)| a.outcome != Outcome::Proved && judged.outside.is_none());
        for (probe, answer) in open {
            out.write_all(teller.answer(&body, probe, answer).as_bytes())?;
        }
    }
    writeln!(out)?;
    writeln!(out, "{:>10} {:>8} {:>9} {:>10} {:>8}", "", "proved", "may leak", "abandoned", "outside")?;
    let [proved, may_leak, abandoned, outside] = verdicts;
    writeln!(out, "{:>10} {proved:>8} {may_leak:>9} {abandoned:>10} {outside:>8}", "functions")?;
    let apart = total.probes - total.proved - total.may_leak - total.abandoned;
    let abandoned = total.abandoned;
    writeln!(out, "{:>10} {:>8} {:>9} {abandoned:>10} {apart:>8}", "probes", total.proved, total.may_leak)?;
    Ok(())
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proved => "proved",
        Verdict::MayLeak => "may leak",
        Verdict::Abandoned => "abandoned",
        Verdict::Outside => "outside",
    }
}

#[derive(Serialize)]
struct Report {
    assumptions: &'static str,
    functions: Vec<FunctionReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionReport {
    name: String,
    file: String,
    line: u32,
    probes: usize,
    proved: usize,
    may_leak: usize,
    abandoned: usize,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    traces: Vec<TraceReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceReport {
    file: String,
    line: u32,
    column: u32,
    message: String,
    outcome: &'static str,
    /// Where the block may come from, or why the probe was given up.
    because: String,
    steps: Vec<StepReport>,
    transfers: usize,
}

#[derive(Serialize)]
struct StepReport {
    function: String,
    line: u32,
}

fn write_json(teller: Teller<'_>, all: &[Judged], out: &mut impl Write) -> Result<(), Error> {
    let functions = all.iter().map(|judged| report(teller, judged)).collect();
    let report = Report { assumptions: proof::ASSUMPTIONS, functions };
    serde_json::to_writer_pretty(&mut *out, &report).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn report(teller: Teller<'_>, judged: &Judged) -> FunctionReport {
    let info = teller.program.function(judged.function);
    let counts = Counts::of(judged);
    let body = teller.program.body(judged.function);
    let traces = body.iter().flat_map(|body| {
        judged.probes.iter().filter_map(|(probe, answer)| {
            let (outcome, because, steps) = match &answer.outcome {
                Outcome::Proved => return None,
                Outcome::MayLeak { origin, trace } => ("may-leak", teller.origin(*origin), teller.trace(trace)),
                Outcome::Abandoned(reason) => ("abandoned", teller.reason(*reason), Vec::new()),
            };
            let (file, line, column) = teller.place(probe.function, body, probe.place);
            let step =
                |(f, line): (FuncId, u32)| StepReport { function: teller.program.function(f).name.to_owned(), line };
            let steps = steps.into_iter().map(step).collect();
            let message = teller.loss(body, probe);
            Some(TraceReport { file, line, column, message, outcome, because, steps, transfers: answer.transfers })
        })
    });
    FunctionReport {
        name: info.name.to_owned(),
        file: show::path(info.file.unwrap_or("?")).to_owned(),
        line: info.line,
        probes: counts.probes,
        proved: counts.proved,
        may_leak: counts.may_leak,
        abandoned: counts.abandoned,
        verdict: match judged.verdict() {
            Verdict::Proved => "proved",
            Verdict::MayLeak => "may-leak",
            Verdict::Abandoned => "abandoned",
            Verdict::Outside => "outside",
        },
        reason: judged.outside.map(|o| o.to_string()),
        traces: traces.collect(),
    }
}
