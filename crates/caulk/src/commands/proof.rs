//! How answers of the prover are told, in words of the source.

use std::fmt::Write as _;
use std::path::Path;

use caulk_frontend::LostUnit;
use caulk_ir::{Body, InstId};
use caulk_program::{FuncId, Program};
use caulk_prove::target::Region;
use caulk_prove::{Answer, CellOrigin, Judged, Judgement, Kind, Outcome, Probe, ProveConfig, Reason, TraceStep};
use caulk_report::proof::{Proof, ProofTrace, ProofVerdict, ProvedFunction};
use caulk_report::{LostUnit as ReportedUnit, Site, shown_path};
use caulk_useflow::slot_name;

use crate::arguments::{Extension, ProverOptions};
use crate::input::Read;
use crate::output::Lines;

/// Lines shown of a path.
const MAX_STEPS: usize = 12;

/// Under which a proof holds; printed once for each run.
pub(crate) const ASSUMPTIONS: &str = "\
proofs hold if memory is used by its declared type, no address is computed beyond the object it starts in, blocks \
declared as bytes or void hold no pointers, and the models of library functions are right (docs/prove.md)";

pub(crate) fn config(options: &ProverOptions) -> ProveConfig {
    let mut config = ProveConfig { arguments_are_held: !options.own_arguments, ..ProveConfig::default() };
    config.max_transfers = options.max_steps.unwrap_or(config.max_transfers);
    for extension in &options.without {
        match extension {
            Extension::Types => config.extensions.typed_growth = false,
            Extension::Removal => config.extensions.region_removal = false,
            Extension::Separation => config.extensions.separated = false,
        }
    }
    config
}

/// Words for one program.
#[derive(Clone, Copy)]
pub(crate) struct Teller<'a> {
    pub program: &'a Program,
    /// The project's folder, which paths are relative to.
    pub root: &'a Path,
}

impl Teller<'_> {
    /// `list.c:12`, or the column too.
    fn place(&self, function: FuncId, body: &Body, inst: InstId) -> (String, u32, u32) {
        let place = body.place(inst);
        let unit = self.program.unit(self.program.function(function).unit);
        let file = unit.files.get(place.file).map_or("?", |f| unit.str(*f));
        (shown_path(file, self.root), place.line, place.column)
    }

    /// What may be lost, and how.
    fn loss(&self, body: &Body, probe: &Probe) -> String {
        let unit = self.program.unit(self.program.function(probe.function).unit);
        let variable = probe.variable.map(|v| unit.str(body.vars[v].name));
        let holder = match (variable, probe.region) {
            (Some(name), _) => format!("`{name}`"),
            (None, Some(region)) => self.region(body, probe.function, region),
            (None, None) => "a value".to_owned(),
        };
        match probe.kind {
            Kind::Overwritten => format!("{holder} is overwritten"),
            Kind::Freed => format!("{holder} is freed with its block"),
            Kind::Forgotten => format!("{holder} is used for the last time"),
            Kind::Dropped => "the result is not used".to_owned(),
            Kind::OutOfScope => format!("{holder} goes out of scope"),
        }
    }

    fn region(&self, body: &Body, function: FuncId, region: Region) -> String {
        let program = self.program;
        match region {
            Region::Field { ty, offset } => format!("`{}`", slot_name(program, (ty, offset))),
            Region::Global(global) => format!("`{}`", program.global(global).name),
            Region::Slot { local, .. } | Region::Local { local, .. } => {
                let caulk_ir::Inst::Local { var: Some(var), .. } = body.insts[local] else {
                    return "a local".to_owned();
                };
                let unit = program.unit(program.function(function).unit);
                format!("`{}`", unit.str(body.vars[var].name))
            }
            Region::Wild(_) | Region::Heap => "a pointer in memory".to_owned(),
        }
    }

    fn origin(&self, origin: CellOrigin) -> String {
        match origin {
            CellOrigin::Allocation { function, inst } => format!("a block allocated at {}", self.line(function, inst)),
            CellOrigin::Library { function, inst } => {
                format!("what a library function gave at {}", self.line(function, inst))
            }
            CellOrigin::Input { function } => {
                format!("a block that was there when {} was called", self.program.function(function).name)
            }
        }
    }

    fn reason(&self, reason: Reason) -> String {
        match reason {
            Reason::UnknownCall { function, inst } => {
                let site = self.program.call_site(function, inst);
                let target = site.and_then(|s| self.program.targets(s).first());
                let name = target.map_or("a function pointer", |t| self.program.function(*t).name);
                format!("nothing is known of {name}, called at {}", self.line(function, inst))
            }
            Reason::Outside { function } | Reason::Size { function } => {
                format!("{}: {reason}", self.program.function(function).name)
            }
            _ => reason.to_string(),
        }
    }

    fn line(&self, function: FuncId, inst: InstId) -> String {
        let Some(body) = self.program.body(function) else { return "?".to_owned() };
        let (file, line, _) = self.place(function, &body, inst);
        format!("{file}:{line}")
    }

    /// The lines of a path, each once in a row, from the origin to the loss.
    fn trace(&self, steps: &[TraceStep]) -> Vec<(FuncId, Site)> {
        let mut lines: Vec<(FuncId, Site)> = Vec::new();
        let mut body: Option<(FuncId, Body)> = None;
        for step in steps {
            if body.as_ref().is_none_or(|(f, _)| *f != step.function) {
                body = self.program.body(step.function).map(|b| (step.function, b));
            }
            let Some((_, body)) = &body else { continue };
            let (file, line, column) = self.place(step.function, body, step.inst);
            if line > 0 && lines.last().is_none_or(|(f, site)| (*f, site.line) != (step.function, line)) {
                let function = self.program.function(step.function).name.to_owned();
                lines.push((step.function, Site { file, line, column, function }));
            }
        }
        lines
    }

    /// `12, 14, insert:30, 16`: lines, with the function where it changes.
    fn trace_text(&self, steps: &[TraceStep]) -> String {
        let mut lines = self.trace(steps);
        if lines.len() > MAX_STEPS {
            lines.drain(MAX_STEPS / 2..lines.len() - MAX_STEPS / 2);
        }
        let mut text = String::new();
        let mut function = None;
        for (f, Site { line, function: name, .. }) in lines {
            let separator = if text.is_empty() { "" } else { ", " };
            let name = if function.replace(f) == Some(f) { String::new() } else { format!("{name}:") };
            let _ = write!(text, "{separator}{name}{line}");
        }
        text
    }

    /// One probe with its answer, as lines of text.
    pub(crate) fn answer(&self, body: &Body, probe: &Probe, answer: &Answer) -> String {
        let (file, line, column) = self.place(probe.function, body, probe.place);
        let loss = self.loss(body, probe);
        let at = format!("{file}:{line}:{column}");
        let mut lines = Lines::default();
        match &answer.outcome {
            Outcome::Proved => lines.line(format_args!("  {at}: proved: {loss}, and is not the last reference")),
            Outcome::MayLeak { origin, trace } => {
                let origin = self.origin(*origin);
                lines.line(format_args!("  {at}: may leak: {loss}; it may be the last reference to {origin}"));
                lines.line(format_args!("      by lines {}", self.trace_text(trace)));
            }
            Outcome::Abandoned(reason) => {
                lines.line(format_args!("  {at}: abandoned: {loss}; {}", self.reason(*reason)));
            }
        }
        lines.0
    }

    /// What will hold all answers, for programs to read.
    pub(crate) fn proof(&self, read: &Read) -> Proof {
        let lost = |unit: &LostUnit| ReportedUnit { source: unit.source.clone(), reason: unit.reason.clone() };
        Proof {
            functions: Vec::new(),
            root: self.root.to_string_lossy().into_owned(),
            units_not_read: read.lost.iter().map(lost).collect(),
        }
    }

    /// One answer.
    pub(crate) fn function(&self, judged: &Judged) -> ProvedFunction {
        let info = self.program.function(judged.function);
        let (file, line) = (shown_path(info.file.unwrap_or("?"), self.root), info.line);
        let whole = |message: &str, outcome: ProofVerdict, because: String| ProofTrace {
            file: file.clone(),
            line,
            column: 0,
            message: message.to_owned(),
            outcome,
            because,
            steps: Vec::new(),
            transfers: 0,
        };
        let outside = judged.outside.map(|o| whole("proofs do not hold here", ProofVerdict::Outside, o.to_string()));
        let cut = judged.cut.map(|r| whole("not all was asked", ProofVerdict::Abandoned, r.to_string()));
        let body = self.program.body(judged.function);
        let open = body
            .iter()
            .flat_map(|body| judged.probes.iter().filter_map(|(probe, answer)| self.open_probe(body, probe, answer)));
        ProvedFunction {
            name: info.name.to_owned(),
            probes: judged.probes.len(),
            // Nothing is proved of a function outside of the language.
            proved: if judged.outside.is_some() { 0 } else { judged.count(|o| *o == Outcome::Proved) },
            may_leak: judged.count(|o| matches!(o, Outcome::MayLeak { .. })),
            abandoned: judged.count(|o| matches!(o, Outcome::Abandoned(_))),
            verdict: match judged.verdict() {
                Judgement::Proved => ProofVerdict::Proved,
                Judgement::MayLeak => ProofVerdict::MayLeak,
                Judgement::Abandoned => ProofVerdict::Abandoned,
                Judgement::Outside => ProofVerdict::Outside,
            },
            traces: outside.into_iter().chain(cut).chain(open).collect(),
            file,
            line,
        }
    }

    fn open_probe(&self, body: &Body, probe: &Probe, answer: &Answer) -> Option<ProofTrace> {
        let (outcome, because, steps) = match &answer.outcome {
            Outcome::Proved => return None,
            Outcome::MayLeak { origin, trace } => (ProofVerdict::MayLeak, self.origin(*origin), self.trace(trace)),
            Outcome::Abandoned(reason) => (ProofVerdict::Abandoned, self.reason(*reason), Vec::new()),
        };
        let (file, line, column) = self.place(probe.function, body, probe.place);
        let steps = steps.into_iter().map(|(_, site)| site).collect();
        let (message, transfers) = (self.loss(body, probe), answer.transfers);
        Some(ProofTrace { file, line, column, message, outcome, because, steps, transfers })
    }
}
