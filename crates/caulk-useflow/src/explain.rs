//! Why an object is a candidate or is not: its function is looked at once more, with the final summaries.

use std::fmt;

use caulk_ir::{Body, Inst, InstId};
use caulk_models::Models;
use caulk_program::{FuncId, Program};
use caulk_summary::{Alloc, AllocId, Destination, Event, Subject, print};

use crate::alternative::{Alternative, Status};
use crate::candidate::{Candidate, Kind};
use crate::config::UseflowConfig;
use crate::function::{Resolved, View};
use crate::names::Names;
use crate::objects::{Fresh, fresh};
use crate::owner_name::{owner_of, points_inside};
use crate::propagate::{Propagation, Start};
use crate::schedule::Analysis;
use crate::summarize::{Ownership, Summarizer, World};

/// The outcome of an object that a call makes.
#[derive(Clone, Debug)]
pub struct ObjectStory {
    pub function: FuncId,
    pub call: InstId,
    /// Which block of that call's effect it is.
    pub block: AllocId,
    pub line: u32,
    /// From the call down to the allocator: functions, and lines as `Program::line_of` takes them.
    pub chain: Vec<(FuncId, u32)>,
    /// The function that is called.
    pub callee: String,
    /// Where it is held first, in the words of the source.
    pub name: Option<String>,
    /// Part of a larger object made by the same call.
    pub is_part: bool,
    /// Whether it exists is decided by something that cannot be seen from here.
    pub is_hidden: bool,
    /// How the result of the call tells that it exists: `!= 0`.
    pub told: Option<String>,
    /// Bounds were reached: paths were merged.
    pub cut: bool,
    /// In the order of their lines, alike ones once.
    pub ends: Vec<StoryEnd>,
}

/// Its outcome on some paths through the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryEnd {
    /// Where these paths end: a return, or the allocation again.
    pub line: u32,
    pub is_iteration_of_loop: bool,
    pub verdict: Ending,
    /// What happened on one of them, line by line.
    pub trail: Vec<(u32, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Freed {
        line: u32,
        by: String,
        unsure: bool,
    },
    /// A place in memory that lasts holds it.
    Kept {
        line: Option<u32>,
        by: String,
    },
    /// A function has kept it.
    Taken {
        line: u32,
        by: String,
    },
    /// Given to unknown code.
    Unknown {
        line: u32,
        by: String,
    },
    Returned,
    Candidate {
        line: u32,
        kind: Kind,
        hidden: bool,
    },
    /// Lost, and yet no candidate.
    Excused {
        line: u32,
        why: String,
    },
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Freed { line, by, unsure } => {
                write!(
                    f,
                    "freed at {line} by {by}{}",
                    if *unsure { " (on some paths that nothing distinguishes)" } else { "" }
                )
            }
            Ending::Kept { line: Some(line), by } => write!(f, "kept by {by} (stored at {line})"),
            Ending::Kept { line: None, by } => write!(f, "kept by {by}"),
            Ending::Taken { line, by } => write!(f, "kept at {line} by {by}"),
            Ending::Unknown { line, by } => {
                write!(f, "given at {line} to {by}, of which nothing is known: it may have been kept")
            }
            Ending::Returned => f.write_str("returned to the caller"),
            Ending::Candidate { line, kind, hidden } => {
                match kind {
                    Kind::Lost => write!(f, "lost at {line}")?,
                    Kind::Forgotten => write!(f, "forgotten at {line}")?,
                    Kind::AtExit => write!(f, "still held when the program ends at {line}")?,
                }
                f.write_str(" - candidate (not freed, not kept)")?;
                if *hidden {
                    f.write_str(
                        ", held back: it rests on something that cannot be seen; `candidates --hidden` lists it",
                    )?;
                }
                Ok(())
            }
            Ending::Excused { line, why } => write!(f, "lost at {line} - no candidate: {why}"),
        }
    }
}

/// A program with the result of stage one, ready to be asked.
pub struct Explainer<'a> {
    program: &'a Program,
    models: &'a Models,
    config: &'a UseflowConfig,
    analysis: &'a Analysis,
}

impl<'a> Explainer<'a> {
    pub fn new(program: &'a Program, models: &'a Models, config: &'a UseflowConfig, analysis: &'a Analysis) -> Self {
        Self { program, models, config, analysis }
    }

    pub(crate) fn world(&self) -> World<'_> {
        World { program: self.program, models: self.models, config: self.config, survey: &self.analysis.survey }
    }

    pub(crate) fn program(&self) -> &'a Program {
        self.program
    }

    pub(crate) fn analysis(&self) -> &'a Analysis {
        self.analysis
    }

    /// The stories of all objects that the calls of a function make.
    pub fn stories(&self, function: FuncId) -> Vec<ObjectStory> {
        let Some(body) = self.program.body(function) else { return Vec::new() };
        let world = self.world();
        let summary_of = |f: FuncId| Some(self.analysis.summary(f));
        let mut teller = Teller {
            explainer: self,
            names: Names::new(self.program, function, &body),
            summarizer: Summarizer::new(&world, function, &body, &summary_of, self.analysis.special(function)),
        };
        let objects = fresh(&mut teller.summarizer.view, &mut teller.summarizer.history);
        objects.into_iter().map(|object| teller.story(function, &object)).collect()
    }
}

/// What the source calls what held the object of a candidate.
pub fn holder_name(program: &Program, analysis: &Analysis, candidate: &Candidate) -> Option<String> {
    let body = program.body(candidate.function)?;
    let names = Names::new(program, candidate.function, &body);
    let Some(last) = candidate.variable else { return place_name(program, analysis, candidate, &body, &names) };
    let var = owner_of(&body, last).unwrap_or(last);
    let name = names.variable(var);
    if points_inside(&body, var) {
        return place_name(program, analysis, candidate, &body, &names).or_else(|| Some(name.to_owned()));
    }
    // Of a structure that is a variable itself, the field says more.
    let is_in_memory = body.insts.values().any(|inst| matches!(inst, Inst::Local { var: Some(v), .. } if *v == var));
    let field = is_in_memory.then(|| place_name(program, analysis, candidate, &body, &names)).flatten();
    // An element of unknown size is no better name than that of the array.
    let is_part = |rest: &str| rest.starts_with(['.', '[']) && !rest.starts_with("[+");
    let is_field = |place: &String| place.strip_prefix(name).is_some_and(is_part);
    field.filter(is_field).or_else(|| Some(name.to_owned()))
}

/// The place in memory that held the object of a candidate.
fn place_name(
    program: &Program,
    analysis: &Analysis,
    candidate: &Candidate,
    body: &Body,
    names: &Names<'_>,
) -> Option<String> {
    let config = UseflowConfig::default();
    let summary_of = |f: FuncId| Some(analysis.summary(f));
    let mut view = View::new(
        program,
        &config,
        &analysis.survey,
        candidate.function,
        body,
        &summary_of,
        analysis.special(candidate.function),
    );
    let stores = candidate.trail.iter().rev().filter(|(_, event)| *event == Event::Stored);
    let stored = stores.filter_map(|(inst, _)| names.stored_to(&view.values, *inst)).next();
    stored.or_else(|| {
        // Where the call put it.
        let effect = view.calls[candidate.allocation].clone()?;
        let is_its = |(_, block): &(AllocId, &Alloc)| candidate.chain[1..].starts_with(&block.chain);
        // Two blocks that are made in one line have the same chain.
        let blocks = &effect.summary.blocks;
        let same = blocks.iter().filter(is_its).find(|(id, _)| *id == candidate.block);
        let subject = Subject::Alloc(same.or_else(|| blocks.iter().find(is_its))?.0);
        let mut places = effect.summary.actions.iter().filter(|a| a.subject == subject);
        places.find_map(|action| {
            // A number, such as a descriptor, is in no place that stage one follows.
            if action.is_returned() {
                return names.result(candidate.allocation).map(str::to_owned);
            }
            let Destination::Store(to) = &action.to else { return None };
            match view.resolve(candidate.allocation, to)? {
                Resolved::Cell(cell) => names.cell(&view.values, cell),
                Resolved::Operand(_) => None,
            }
        })
    })
}

struct Teller<'e, 'a> {
    explainer: &'e Explainer<'e>,
    names: Names<'a>,
    summarizer: Summarizer<'a>,
}

impl Teller<'_, '_> {
    fn story(&mut self, function: FuncId, object: &Fresh) -> ObjectStory {
        let start = Start::After(object.call);
        let Summarizer { view, history, .. } = &mut self.summarizer;
        let flow = Propagation::run(view, history, start, object.starts.clone());
        let mut ends: Vec<StoryEnd> = Vec::new();
        for (exit, alternative) in flow.exits {
            let ownership = self.summarizer.ownership(&(exit, alternative.clone()), None);
            let verdict = self.verdict(object, exit, &alternative, ownership);
            self.add_end(&mut ends, exit, false, verdict, &alternative);
        }
        for alternative in flow.lost_in_loop {
            let verdict = self.verdict(object, object.call, &alternative, Ownership::Leaked);
            self.add_end(&mut ends, object.call, true, verdict, &alternative);
        }
        ends.sort_by_key(|end| end.line);
        ObjectStory {
            function,
            call: object.call,
            block: object.block,
            line: self.line(object.call),
            chain: object.chain.clone(),
            callee: self.names.callee(object.call).unwrap_or_default(),
            name: self.names.holder(&self.summarizer.view.values, &object.first),
            is_part: object.is_part,
            is_hidden: object.hidden,
            told: object.told.map(|relation| relation.to_string()),
            cut: flow.cut,
            ends,
        }
    }

    /// Adds an end, unless there is one like it by a shorter path.
    fn add_end(
        &self,
        ends: &mut Vec<StoryEnd>,
        exit: InstId,
        is_iteration_of_loop: bool,
        verdict: Ending,
        alternative: &Alternative,
    ) {
        let trail = self.trail(alternative);
        let line = self.line(exit);
        match ends.iter_mut().find(|end| end.line == line && end.verdict == verdict) {
            Some(known) if trail.len() < known.trail.len() => known.trail = trail,
            Some(_) => {}
            None => ends.push(StoryEnd { line, is_iteration_of_loop, verdict, trail }),
        }
    }

    fn line(&self, inst: InstId) -> u32 {
        self.summarizer.view.line(inst)
    }

    fn verdict(&self, object: &Fresh, exit: InstId, alternative: &Alternative, ownership: Ownership) -> Ending {
        let trail = self.summarizer.history.trail(alternative.event);
        let last = |wanted: Event| trail.iter().rev().find(|(_, event)| *event == wanted).map(|(inst, _)| *inst);
        match (alternative.status, ownership) {
            (Status::Freed, _) => {
                let inst = last(Event::Freed).unwrap_or(exit);
                let by = self.names.callee(inst).unwrap_or_else(|| "its holder".to_owned());
                Ending::Freed { line: self.line(inst), by, unsure: alternative.rests_on_opaque }
            }
            (Status::Unknown, _) => {
                let inst = last(Event::GivenToUnknown).unwrap_or(exit);
                let by = self.names.callee(inst).unwrap_or_else(|| "memory that is not understood".to_owned());
                Ending::Unknown { line: self.line(inst), by }
            }
            (Status::Kept | Status::Absent, _) => match last(Event::Kept).map(|i| (i, self.names.callee(i))) {
                Some((inst, Some(by))) => Ending::Taken { line: self.line(inst), by },
                _ => Ending::Kept { line: None, by: "what an earlier iteration of the loop made".to_owned() },
            },
            (Status::Live, Ownership::HandedOut(paths)) => {
                let returned = paths.iter().any(|p| p.root == caulk_memory::PathRoot::Return && p.steps.is_empty());
                match paths.first() {
                    Some(path) if !returned => {
                        let program = self.explainer.program;
                        let line = last(Event::Stored).map(|inst| self.line(inst));
                        Ending::Kept { line, by: print::path(program, self.summarizer.view.id, path) }
                    }
                    _ => Ending::Returned,
                }
            }
            (Status::Live, Ownership::Held | Ownership::Settled) => {
                let values = &self.summarizer.view.values;
                let by = alternative.cells.iter().find_map(|cell| self.names.cell(values, *cell));
                let line = last(Event::Stored).map(|inst| self.line(inst));
                Ending::Kept { line, by: by.unwrap_or_else(|| "another object".to_owned()) }
            }
            (Status::Live, Ownership::Leaked) => self.lost(object, exit, alternative),
        }
    }

    /// The object has no owner at the end. Whether that made a candidate, stage one has said.
    fn lost(&self, object: &Fresh, exit: InstId, alternative: &Alternative) -> Ending {
        let place = alternative.lost.map_or(exit, |(place, _)| place);
        let line = self.line(place);
        let view = &self.summarizer.view;
        let report = &self.explainer.analysis.reports[view.id];
        let found = report.candidates.iter().find(|c| c.allocation == object.call && c.place == place);
        if let Some(candidate) = found {
            return Ending::Candidate { line, kind: candidate.kind, hidden: candidate.hidden };
        }
        let family = self.explainer.models.family(object.family);
        let symbol = view.program.function(view.id).symbol;
        let why = if !family.heap {
            format!("this is {}, which check reports with --resources", family.description)
        } else if view.program.config.entry_symbols.iter().any(|s| s == symbol) {
            "the program ends here, and the system takes everything back".to_owned()
        } else {
            "when the function was looked at, not all that it calls was known yet".to_owned()
        };
        Ending::Excused { line, why }
    }

    fn trail(&self, alternative: &Alternative) -> Vec<(u32, String)> {
        let mut lines: Vec<(u32, String)> = Vec::new();
        for (inst, event) in self.summarizer.history.trail(alternative.event) {
            let Some(text) = self.event(inst, event) else { continue };
            let step = (self.line(inst), text);
            if lines.last() != Some(&step) {
                lines.push(step);
            }
        }
        lines
    }

    /// An event in words; None for those that the rest of the story tells.
    fn event(&self, inst: InstId, event: Event) -> Option<String> {
        let view = &self.summarizer.view;
        let callee = || self.names.callee(inst).unwrap_or_else(|| "something".to_owned());
        Some(match event {
            Event::Allocated | Event::Given => return None,
            Event::Stored => match self.names.stored_to(&view.values, inst) {
                Some(to) => format!("stored to {to}"),
                None if matches!(view.body.insts[inst], Inst::Store { .. }) => "stored".to_owned(),
                None => format!("stored by {}", callee()),
            },
            Event::Overwritten => "overwritten".to_owned(),
            Event::OutOfScope => "out of scope".to_owned(),
            Event::FreedWithHolder => format!("holder freed by {}", callee()),
            Event::Renewed => format!("renewed by {}", callee()),
            Event::NotTaken => format!("not taken by {}", callee()),
            Event::Thrown => format!("exception thrown by {}", callee()),
            Event::Took(0) => "branch taken".to_owned(),
            Event::Took(_) => "branch not taken".to_owned(),
            Event::Freed | Event::Kept | Event::GivenToUnknown => return None,
            // Only stage two executes callees.
            Event::Inside(..) | Event::Part(..) => return None,
        })
    }
}
