//! Runs both stages on the text of a unit, and says what they found in lines.

use caulk_explore::{Exploration, ExploreConfig, Verdict, explore};
use caulk_ir::PackedUnit;
use caulk_ir::text::parse_unit;
use caulk_ir::verify::verify_unit;
use caulk_models::Models;
use caulk_program::{FuncId, Program, ProgramConfig, UnitInput};
use caulk_summary::print;
use caulk_useflow::{Analysis, Candidate, Kind, UseflowConfig, analyse};

pub(crate) struct Run {
    program: Program,
    analysis: Analysis,
    exploration: Exploration,
}

impl Run {
    pub(crate) fn new(text: &str) -> Self {
        let unit = parse_unit(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        verify_unit(&unit).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let input = UnitInput::new(PackedUnit::pack(unit));
        let program = Program::link(vec![input], ProgramConfig::default());
        let config = UseflowConfig::default();
        let analysis = analyse(&program, &Models::bundled(), &config);
        let exploration = explore(&program, &config, &analysis, &ExploreConfig::default());
        Self { program, analysis, exploration }
    }

    /// What every function does, and the outcome for every candidate.
    pub(crate) fn lines(&self) -> Vec<String> {
        let defined: Vec<FuncId> = self.program.functions().filter(|f| self.program.has_body(*f)).collect();
        let mut lines = Vec::new();
        for &function in &defined {
            let said = print::summary(&self.program, function, self.analysis.summary(function));
            lines.extend(said.iter().map(|line| format!("{}: {}", self.name(function), line.trim())));
        }
        for (_, candidate, verdict) in self.exploration.judged(&self.analysis) {
            lines.push(self.candidate(candidate, verdict));
        }
        lines
    }

    /// Instructions executed to search for objects.
    #[allow(dead_code, reason = "not all tests ask")]
    pub(crate) fn steps(&self) -> usize {
        self.exploration.statistics.effort.steps
    }

    fn name(&self, function: FuncId) -> &str {
        self.program.function(function).name
    }

    fn candidate(&self, candidate: &Candidate, verdict: &Verdict) -> String {
        let body = self.program.body(candidate.function).expect("candidates are in functions with a body");
        let unit = self.program.unit(self.program.function(candidate.function).unit);
        let variable = candidate.variable.map_or("-", |var| unit.str(body.vars[var].name));
        let kind = match candidate.kind {
            Kind::Lost => "lost",
            Kind::Forgotten => "forgotten",
            Kind::AtExit => "held-at-exit",
        };
        let verdict = match verdict {
            Verdict::Confirmed(_) => "confirmed",
            Verdict::Refuted(_) => "refuted",
            Verdict::Cut => "cut",
            Verdict::Unexamined => "unexamined",
        };
        let line = body.place(candidate.place).line;
        format!("{}: line {line}, {kind}, {variable}: {verdict}", self.name(candidate.function))
    }
}
