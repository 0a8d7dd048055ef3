//! From a candidate and the path that confirms it to a finding in the source's words. The only place where the terms of
//! the engines become those of the reader.

use std::path::Path;

use caulk_ir::{Body, CompareOp, Constant, Inst, InstId, Operand};
use caulk_models::Models;
use caulk_program::{FuncId, Program};
use caulk_summary::Event;
use caulk_useflow::{Analysis, Candidate, Ground, Kind as CandidateKind, Loss, holder_name, slot_name};

use crate::config::ReportConfig;
use crate::finding::{Call, Confidence, Finding, Kind, MEMORY, Site, Step, StepKind};
use crate::fold;
use crate::grounds;
use crate::ladder;
use crate::layout::ELLIPSIS;
use crate::place_words;
use crate::reason::Reason;
use crate::sites::Sites;
use crate::source::Sources;
use crate::witness::{Evidence, WitnessStep, trail};
use crate::words;

pub struct Narrator<'a> {
    pub(crate) program: &'a Program,
    pub(crate) models: &'a Models,
    pub(crate) analysis: &'a Analysis,
    pub(crate) config: &'a ReportConfig,
    pub(crate) sources: &'a Sources,
    pub(crate) sites: Sites<'a>,
}

impl<'a> Narrator<'a> {
    pub fn new(
        program: &'a Program,
        models: &'a Models,
        analysis: &'a Analysis,
        config: &'a ReportConfig,
        sources: &'a Sources,
        root: &Path,
    ) -> Self {
        Self { program, models, analysis, config, sources, sites: Sites::new(program, analysis, config, root) }
    }

    /// What stage one alone says for a candidate.
    pub fn stage_one(&self, candidate: &Candidate) -> Evidence {
        let witness = trail(candidate);
        let fails = candidate.ground == Some(Ground::FailedRenewal)
            || witness.iter().any(|step| self.is_failed_allocation(candidate, step));
        let confidence = if candidate.hidden { Confidence::Low } else { Confidence::Medium };
        Evidence {
            witness,
            is_one_path: false,
            place: None,
            left_at: None,
            freed_at: None,
            confidence,
            reason: grounds::reason(candidate),
            needs_alloc_failure: fails,
            failure_tested: fails,
        }
    }

    /// The finding, without its fingerprint: that depends on the others.
    pub fn finding(&self, candidate: &Candidate, evidence: &Evidence) -> Finding {
        let candidate = &Candidate { place: evidence.place.unwrap_or(candidate.place), ..candidate.clone() };
        let variable = match (candidate.loss, candidate.loss.slot()) {
            (_, Some(slot)) if candidate.variable.is_none() => Some(slot_name(self.program, slot)),
            (Loss::OverwrittenStatic(variable), _) => Some(self.program.global(variable).name.to_owned()),
            _ => holder_name(self.program, self.analysis, candidate).map(|name| self.as_written(candidate, name)),
        };
        let allocation = self.allocation(candidate);
        let mut story = Story { narrator: self, candidate, variable: variable.as_deref(), steps: Vec::new() };
        let (reason, returns_zero) = (story.reason(evidence), story.returns_zero());
        let loss = self.loss(candidate);
        let loss = evidence.left_at.and_then(|jump| self.statement(candidate, jump, &loss)).unwrap_or(loss);
        let goto = evidence.left_at.and_then(|jump| self.goto(candidate, jump, &loss));
        story.tell(evidence, &allocation, (&loss, goto.as_ref()), &reason.text());
        let mut steps = story.steps;
        if !evidence.is_one_path {
            fold::drop_contradictions(&mut steps);
        }
        ladder::fold(&mut steps, self.sources);
        let steps = self.shortened(steps);
        let before = goto.as_ref().map_or(&loss, |(site, _)| site);
        let advice =
            evidence.freed_at.and_then(|free| self.advice(candidate, free, variable.as_deref(), (before, &loss)));
        let (confidence, why) = match self.sites.is_system(&loss.file) {
            true => (Confidence::Low, "it is lost in a system header"),
            false => (evidence.confidence, evidence.reason),
        };
        Finding {
            kind: match candidate.kind {
                CandidateKind::Lost => Kind::Lost,
                CandidateKind::Forgotten => Kind::Forgotten,
                CandidateKind::AtExit => Kind::HeldAtExit,
            },
            family: self.models.family(candidate.family).name.clone(),
            variable,
            chain: self.chain(candidate),
            loss,
            reason: reason.text(),
            headline: reason.headline(),
            advice,
            returns_zero,
            also_lost_at: Vec::new(),
            same_cause: Vec::new(),
            callers: self.callers(candidate),
            states: None,
            allocation,
            steps,
            confidence,
            confidence_reason: why.to_owned(),
            needs_alloc_failure: evidence.needs_alloc_failure,
            failure_tested: evidence.failure_tested,
            fingerprint: String::new(),
            shape: String::new(),
            cause: reason.cause(),
            freed_at: evidence.freed_at.map(|free| self.sites.of(candidate.function, free)),
            noun: MEMORY.to_owned(),
            baseline: None,
            suppression: None,
        }
    }

    /// The name of a place as the assignment has it, where declarations cannot tell: a member of a union, an element of an array.
    fn as_written(&self, candidate: &Candidate, name: String) -> String {
        let Some(body) = self.sites.body(candidate.function) else { return name };
        let is_store = |inst: &InstId| matches!(body.insts[*inst], Inst::Store { .. });
        let mut stores =
            candidate.trail.iter().rev().filter(|(_, event)| *event == Event::Stored).map(|(inst, _)| inst);
        let Some(store) = stores.find(|inst| is_store(inst)) else { return name };
        let site = self.sites.of(candidate.function, *store);
        let written = self.sources.get(&site.file).and_then(|f| words::assignee(&f, site.line, site.column));
        // What counts while it assigns is written `line[n++]`, and is `line[n]`.
        let written = written.map(|written| written.replace("++", "").replace("--", ""));
        written.filter(|written| place_words::is_closer(written, &name)).unwrap_or(name)
    }

    /// One branch of a path in words.
    pub fn branch(&self, candidate: &Candidate, inst: InstId, successor: u32) -> Option<Step> {
        let event = Event::Took(successor);
        let step = WitnessStep { function: candidate.function, inst, event, is_detail: false };
        Story { narrator: self, candidate, variable: None, steps: Vec::new() }.step(&step)
    }

    /// Where it is lost; for code of a system header, the user's own call that leads there.
    fn loss(&self, candidate: &Candidate) -> Site {
        self.at_home(candidate.function, candidate.place)
            .unwrap_or_else(|| self.sites.of(candidate.function, candidate.place))
    }

    /// The statement that leads to the closing brace of a function: where several returns are one in what was compiled.
    fn statement(&self, candidate: &Candidate, jump: InstId, loss: &Site) -> Option<Site> {
        let site = self.sites.of(candidate.function, jump);
        let is_statement = self.starts_with(&site, &[b"return", b"goto", b"break", b"continue"]);
        (is_statement && self.starts_with(loss, &[b"}"])).then_some(site)
    }

    /// The `goto` that leads to a return, and its label.
    fn goto(&self, candidate: &Candidate, jump: InstId, loss: &Site) -> Option<(Site, String)> {
        let site = self.sites.of(candidate.function, jump);
        let is_goto =
            site.line < loss.line && self.starts_with(&site, &[b"goto"]) && self.starts_with(loss, &[b"return"]);
        let file = self.sources.get(&site.file).filter(|_| is_goto)?;
        let label = words::label(&file, site.line, site.column)?;
        Some((site, label))
    }

    fn starts_with(&self, site: &Site, words: &[&[u8]]) -> bool {
        let file = self.sources.get(&site.file);
        file.is_some_and(|f| words::token(&f, site.line, site.column).is_some_and(|token| words.contains(&token)))
    }

    /// What to do, as another path of the same function does it: before the loss, or before the `goto` that passes over that.
    fn advice(
        &self,
        candidate: &Candidate,
        free: InstId,
        variable: Option<&str>,
        (goto, loss): (&Site, &Site),
    ) -> Option<String> {
        let example = self.sites.of(candidate.function, free);
        let what = variable.map_or_else(|| "the memory".to_owned(), |name| format!("`{name}`"));
        let is_passed_over = goto.line < example.line && example.line < loss.line;
        let place = if is_passed_over { goto } else { loss };
        let is_other = example.file == loss.file && example.line > 0 && example.line != loss.line;
        let is_other = is_other && variable.is_none_or(|name| self.is_example_of(&example, name));
        let verb = self.verb(candidate);
        is_other.then(|| format!("{verb} {what} before line {}, as line {} does", place.line, example.line))
    }

    /// Whether a line that frees can be meant to free a place. A variable may have other names there.
    fn is_example_of(&self, example: &Site, name: &str) -> bool {
        let Some(file) = self.sources.get(&example.file) else { return true };
        let line = file.line(example.line).unwrap_or_default();
        !place_words::is_place(name) || place_words::mentions(&String::from_utf8_lossy(line), name)
    }

    /// How memory of a family is given back, in one word.
    fn verb(&self, candidate: &Candidate) -> &'static str {
        match self.models.family(candidate.family).name.as_str() {
            "delete" => "delete",
            "delete[]" => "delete[]",
            _ => "free",
        }
    }

    fn at_home(&self, function: FuncId, inst: InstId) -> Option<Site> {
        let site = self.sites.of(function, inst);
        if !self.sites.is_system(&site.file) {
            return Some(site);
        }
        self.sites.users_call(function).map(|(caller, call)| self.sites.of(caller, call))
    }

    fn allocation(&self, candidate: &Candidate) -> Call {
        let call = match (candidate.loss.slot(), candidate.chain.first()) {
            // What a field holds is allocated elsewhere: where it was first put there.
            (Some(slot), Some(&(function, below))) => {
                self.sites.call_for_field(function, self.program.line_of(function, below), slot)
            }
            // So is a structure whose fields are freed: where one is made first.
            (None, Some(&(function, below)))
                if matches!(candidate.loss, Loss::NeverFreed(_) | Loss::OverwrittenStatic(_)) =>
            {
                self.sites.call_in_line(function, self.program.line_of(function, below), None)
            }
            _ => self.sites.call(candidate.function, candidate.allocation),
        };
        let home =
            self.sites.is_system(&call.site.file).then(|| self.at_home(candidate.function, candidate.allocation));
        Call { site: home.flatten().unwrap_or(call.site), ..call }
    }

    /// Calls below the leaking function, those in system headers left out.
    fn chain(&self, candidate: &Candidate) -> Vec<Call> {
        let chain = &candidate.chain;
        let line = |(function, below)| self.program.line_of(function, below);
        let call = |i: usize| match chain.get(i + 1) {
            Some(next) => self.sites.call_in_line(chain[i].0, line(chain[i]), Some(next.0)),
            None => self.sites.allocator_in_line(chain[i].0, line(chain[i]), self.twins(candidate)),
        };
        (1..chain.len()).map(call).filter(|c| !self.sites.is_system(&c.site.file)).collect()
    }

    /// Blocks that the callee makes in the same lines: which of them is meant, and how many there are.
    fn twins(&self, candidate: &Candidate) -> (usize, usize) {
        let site = self.program.call_site(candidate.function, candidate.allocation);
        let Some(&[target]) = site.map(|site| self.program.targets(site)) else { return (0, 1) };
        let blocks = self.analysis.summary(target).blocks.iter();
        let twins: Vec<_> = blocks.filter(|(_, b)| b.chain[..] == candidate.chain[1..]).map(|(id, _)| id).collect();
        (twins.iter().position(|id| *id == candidate.block).unwrap_or(0), twins.len())
    }

    /// How many functions call the one that hands the memory to the leaking function.
    fn callers(&self, candidate: &Candidate) -> usize {
        candidate.chain.get(1).map_or(0, |(callee, _)| self.program.callers(*callee).len())
    }

    /// Whether a branch of the path is the failure of another allocation.
    fn is_failed_allocation(&self, candidate: &Candidate, step: &WitnessStep) -> bool {
        let Event::Took(successor) = step.event else { return false };
        let Some(body) = self.sites.body(step.function) else { return false };
        let Inst::Branch { cond: Operand::Value(cond), .. } = body.insts[step.inst] else { return false };
        let Inst::Compare { op, lhs, rhs, .. } = body.insts[cond] else { return false };
        let is_null = match op {
            CompareOp::Eq => successor == 0,
            CompareOp::Ne => successor == 1,
            _ => false,
        };
        let (Operand::Value(call), Some(Constant::Null)) = (lhs, body.constant(rhs)) else { return false };
        is_null && call != candidate.allocation && self.allocates(step.function, call)
    }

    fn allocates(&self, function: FuncId, call: InstId) -> bool {
        let Some(site) = self.program.call_site(function, call) else { return false };
        let targets = self.program.targets(site);
        // What may have nothing to give does not say that memory is out.
        let fails = |target: &FuncId| {
            let summary = self.analysis.summary(*target);
            summary.allocates() && !summary.null_otherwise
        };
        !targets.is_empty() && targets.iter().all(fails)
    }

    /// Very long paths lose conditions that are far from the loss.
    fn shortened(&self, steps: Vec<Step>) -> Vec<Step> {
        fold::kept(&steps, self.config.max_steps).into_iter().map(|i| steps[i].clone()).collect()
    }

    /// A condition no longer than fits a line: what is left out is the middle, as a comparison decides at its end.
    pub(crate) fn cut(&self, text: String) -> String {
        let characters: Vec<char> = text.chars().collect();
        let max = self.config.max_condition;
        if characters.len() <= max {
            return text;
        }
        let kept = max.saturating_sub(ELLIPSIS.len());
        let (start, end) = (&characters[..kept - kept / 2], &characters[characters.len() - kept / 2..]);
        [start.iter().collect::<String>(), ELLIPSIS.to_owned(), end.iter().collect()].concat()
    }
}

/// The steps of one finding.
struct Story<'n, 'a> {
    narrator: &'n Narrator<'a>,
    candidate: &'n Candidate,
    variable: Option<&'n str>,
    steps: Vec<Step>,
}

impl Story<'_, '_> {
    fn subject(&self) -> String {
        self.variable.map_or_else(|| "the memory".to_owned(), |name| format!("`{name}`"))
    }

    fn reason(&self, evidence: &Evidence) -> Reason {
        let Candidate { function, place, .. } = *self.candidate;
        let callee = self.narrator.sites.callee(function, place);
        Reason::new(self.candidate, evidence, callee, self.is_at_return(place))
    }

    fn is_at_return(&self, inst: InstId) -> bool {
        let body = self.narrator.sites.body(self.candidate.function);
        body.is_some_and(|body| return_at(&body, inst).is_some())
    }

    /// Whether it is forgotten where the constant 0 or null is returned.
    fn returns_zero(&self) -> bool {
        let Candidate { function, place, kind, .. } = *self.candidate;
        let body = self.narrator.sites.body(function).filter(|_| kind == CandidateKind::Forgotten);
        body.is_some_and(|body| {
            let Some(Inst::Return { value }) = return_at(&body, place).map(|end| &body.insts[end]) else {
                return false;
            };
            let constant = value.and_then(|v| body.constant(v));
            matches!(constant, Some(Constant::Null | Constant::Int { value: 0, .. }))
        })
    }

    fn tell(
        &mut self,
        evidence: &Evidence,
        allocation: &Call,
        (loss, goto): (&Site, Option<&(Site, String)>),
        reason: &str,
    ) {
        let text = format!("{} is allocated by {}", self.subject(), allocation.callee);
        let allocated = Step { kind: StepKind::Allocated, site: allocation.site.clone(), text, detail: false };
        for step in &evidence.witness {
            let is_ours = step.function == self.candidate.function;
            if is_ours && step.inst == self.candidate.allocation && !step.event.is_way() {
                if !self.steps.contains(&allocated) {
                    self.add(allocated.clone());
                }
                // In a loop, the next allocation is where the old block is lost.
                if step.event != Event::Allocated && self.candidate.place == step.inst {
                    break;
                }
                continue;
            }
            // What comes after the loss shows nothing more.
            if is_ours && step.inst == self.candidate.place && !step.event.is_way() {
                break;
            }
            // Nothing can happen to it before it is there.
            if !step.event.is_way() && !self.steps.contains(&allocated) {
                continue;
            }
            if let Some(told) = self.step(step) {
                self.add(told);
            }
        }
        if !self.steps.contains(&allocated) {
            self.steps.insert(0, allocated);
        }
        if let Some((site, label)) = goto {
            let text = format!("goes to `{label}`");
            self.add(Step { kind: StepKind::Branch, site: site.clone(), text, detail: false });
        }
        let text = format!("{} is leaked: {reason}", self.subject());
        self.steps.push(Step { kind: StepKind::Leaked, site: loss.clone(), text, detail: false });
        self.leave_out_repeated(allocation, loss);
    }

    /// What the line of the allocation or of the loss says already is a detail.
    fn leave_out_repeated(&mut self, allocation: &Call, loss: &Site) {
        let is_line = |site: &Site, other: &Site| (&site.file, site.line) == (&other.file, other.line);
        for step in &mut self.steps {
            step.detail |= match step.kind {
                StepKind::Stored => is_line(&step.site, &allocation.site),
                StepKind::OutOfScope | StepKind::Overwritten => is_line(&step.site, loss),
                _ => false,
            };
        }
    }

    fn add(&mut self, step: Step) {
        if self.steps.last() != Some(&step) && !self.narrator.sites.is_system(&step.site.file) {
            self.steps.push(step);
        }
    }

    /// A step of the witness in words; None for those that the rest of the story tells.
    fn step(&self, step: &WitnessStep) -> Option<Step> {
        let sites = &self.narrator.sites;
        let site = sites.of(step.function, step.inst);
        let callee = || sites.callee(step.function, step.inst).unwrap_or_else(|| "something".to_owned());
        let (kind, text) = match step.event {
            Event::Took(successor) => {
                self.narrator.branch_words((step.function, step.inst), successor as usize, &site)?
            }
            Event::Stored => (StepKind::Stored, self.stored(step, &site)?),
            Event::NotTaken => {
                (StepKind::NotTaken, format!("{} does not take ownership of {}", callee(), self.subject()))
            }
            Event::Overwritten => (StepKind::Overwritten, format!("{} is overwritten", self.subject())),
            Event::OutOfScope => (StepKind::OutOfScope, format!("{} goes out of scope", self.subject())),
            Event::FreedWithHolder => {
                (StepKind::FreedWithHolder, format!("{} frees what holds {}", callee(), self.subject()))
            }
            Event::Thrown => (StepKind::Branch, format!("{} throws an exception", callee())),
            Event::Allocated
            | Event::Given
            | Event::Freed
            | Event::Renewed
            | Event::Kept
            | Event::GivenToUnknown
            | Event::Inside(..)
            | Event::Part(..) => return None,
        };
        Some(Step { kind, site, text, detail: step.is_detail })
    }

    fn stored(&self, step: &WitnessStep, site: &Site) -> Option<String> {
        let body = self.narrator.sites.body(step.function)?;
        if body.insts[step.inst].call().is_some() {
            let by = self.narrator.sites.callee(step.function, step.inst)?;
            return Some(format!("{by} stores {}", self.subject()));
        }
        let file = self.narrator.sources.get(&site.file);
        let left = file.and_then(|f| words::assignee(&f, site.line, site.column));
        match left {
            Some(left) if Some(left.as_str()) == self.variable => Some(format!("assigned to `{left}`")),
            Some(left) => Some(format!("{} is stored to `{left}`", self.subject())),
            None => Some(format!("{} is stored", self.subject())),
        }
    }
}

/// The return, if what ends at an instruction ends because a return statement is there.
fn return_at(body: &Body, inst: InstId) -> Option<InstId> {
    let end = body.blocks.values().find(|b| b.first <= inst && inst < b.end)?.terminator();
    let is_same_line = body.place(end).line == body.place(inst).line;
    (is_same_line && matches!(body.insts[end], Inst::Return { .. })).then_some(end)
}
