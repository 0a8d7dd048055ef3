//! What stage two says of the candidates of one function, in words, for `caulk why`.

use std::path::Path;

use caulk_explore::{Edge, Layer, Verdict, explore_one};
use caulk_program::FuncId;
use caulk_report::source::Sources;
use caulk_report::witness::confirmed;
use caulk_report::{Narrator, ReportConfig, StepKind};
use caulk_useflow::Candidate;

use crate::input::{Analysed, explore_config};

/// Conditions named that stand in the way of a candidate.
const MAX_REFUSED: usize = 3;

pub(crate) struct SecondLook<'a> {
    analysed: &'a Analysed,
    function: FuncId,
    pub sources: &'a Sources,
    root: &'a Path,
    /// With the branches that refute it.
    verdicts: Vec<(Verdict, Vec<Edge>)>,
}

impl<'a> SecondLook<'a> {
    pub(crate) fn new(analysed: &'a Analysed, function: FuncId, sources: &'a Sources, root: &'a Path) -> Self {
        let Analysed { program, config, analysis, .. } = analysed;
        let verdicts = match analysis.reports[function].candidates.is_empty() {
            true => Vec::new(),
            false => explore_one(program, config, analysis, &explore_config(config), function),
        };
        Self { analysed, function, sources, root, verdicts }
    }

    /// The verdict on the first candidate that is meant.
    pub(crate) fn tell(&self, is_wanted: impl Fn(&Candidate) -> bool) -> Option<String> {
        let candidates = &self.analysed.analysis.reports[self.function].candidates;
        let (candidate, (verdict, refused)) = candidates.iter().zip(&self.verdicts).find(|(c, _)| is_wanted(c))?;
        Some(match verdict {
            Verdict::Confirmed(witness) => {
                let doubt = match (witness.is_replayed, witness.is_doubtful) {
                    (false, _) => ", with a doubt: the budget ran out before the path could be executed alone",
                    (true, true) => ", with a doubt: not all conditions of the path could be decided",
                    (true, false) => "",
                };
                format!("confirmed{doubt}: {}", self.path(candidate, witness))
            }
            Verdict::Refuted(Layer::Ownership) => {
                "refuted: on every path that can be taken it is freed or held".to_owned()
            }
            Verdict::Refuted(Layer::Conditions) => {
                let which = self.refused(candidate, refused);
                format!("refuted: conditions on the way there exclude each other{which}")
            }
            Verdict::Refuted(Layer::Solver) => {
                let which = self.refused(candidate, refused);
                format!("refuted: conditions on the way there exclude each other, as the solver shows{which}")
            }
            Verdict::Refuted(Layer::Replay) => {
                "refuted: paths that were merged lose it together, and none of them does so alone".to_owned()
            }
            Verdict::Cut => "not decided: the budget ran out before all paths were seen".to_owned(),
            Verdict::Unexamined => "not followed path by path: it rests on no path, or on something hidden".to_owned(),
        })
    }

    /// `104 `value == NULL` is false, 106 ...`.
    fn path(&self, candidate: &Candidate, witness: &caulk_explore::Witness) -> String {
        let config = ReportConfig::default();
        let narrator = self.narrator(&config);
        let finding = narrator.finding(candidate, &confirmed(candidate, witness));
        let told = finding.steps.iter().filter(|s| !matches!(s.kind, StepKind::Allocated | StepKind::Leaked));
        let steps: Vec<String> = told.map(|s| format!("{} {}", s.site.line, s.text)).collect();
        if steps.is_empty() { "the path has no conditions".to_owned() } else { steps.join(", ") }
    }

    /// The conditions that stand in the way, if there are words for them: `; once it is allocated, this cannot be: 12 ...`.
    fn refused(&self, candidate: &Candidate, edges: &[Edge]) -> String {
        let config = ReportConfig::default();
        let narrator = self.narrator(&config);
        let told = edges.iter().filter_map(|(inst, index)| narrator.branch(candidate, *inst, *index));
        let mut steps: Vec<String> = told.map(|step| format!("{} {}", step.site.line, step.text)).collect();
        steps.dedup();
        if steps.len() > MAX_REFUSED {
            steps.truncate(MAX_REFUSED);
            steps.push("...".to_owned());
        }
        if steps.is_empty() {
            return String::new();
        }
        format!("; once it is allocated, this cannot be: {}", steps.join(", or "))
    }

    fn narrator<'n>(&'n self, config: &'n ReportConfig) -> Narrator<'n> {
        let Analysed { program, models, analysis, .. } = self.analysed;
        Narrator::new(program, models, analysis, config, self.sources, self.root)
    }
}
