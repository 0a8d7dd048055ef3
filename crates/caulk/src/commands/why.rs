//! `caulk why FILE:LINE`: what happens to the memory allocated or lost there, and why it is reported or not.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use caulk_ir::cpp_names::shortened;
use caulk_ir::{Body, Inst, InstId};
use caulk_models::Models;
use caulk_program::FuncId;
use caulk_report::ReportConfig;
use caulk_report::source::Sources;
use caulk_summary::print;
use caulk_useflow::{Candidate, Ending, Explainer, Loss, ObjectStory, StoryEnd, slot_name};

use super::check;
use super::second_look::SecondLook;
use super::why_structures;
use crate::arguments::WhyOptions;
use crate::error::{Error, Exit};
use crate::input::Analysed;
use crate::output::{Lines, Output};

/// Events shown on the way to an end.
const MAX_EVENTS: usize = 12;
/// Functions shown on the way to the allocator.
const MAX_CHAIN: usize = 5;
/// Lines named when there is nothing in the line that was asked for.
const MAX_HINTS: usize = 8;

pub(crate) fn run(options: &WhyOptions) -> Result<Exit, Error> {
    let (file, line) = parse_place(&options.place)?;
    let analysed = check::analyse(&options.input, &options.models, options.resources)?;
    let functions = find(&analysed, file, line);
    if functions.is_empty() {
        return Err(Error::Usage(nothing_at(&analysed, file, line)));
    }
    let root = analysed.read.root.clone();
    let sources = Sources::new(&root, ReportConfig::default().max_source);
    let mut out = Output::new();
    for text in answers(&analysed, &sources, functions, line, |_| true) {
        out.text(&text)?;
    }
    Ok(Exit::Clean)
}

/// Why there is no answer for a place, and what can be done.
fn nothing_at(analysed: &Analysed, file: &str, line: u32) -> String {
    let Analysed { program, .. } = analysed;
    let end = Path::new(file.strip_prefix("./").unwrap_or(file));
    let path = std::fs::canonicalize(file).ok();
    let is_same_loss = |named: &str| Path::new(named).ends_with(end) || path.as_deref() == Some(Path::new(named));
    if program.functions().any(|f| program.has_body(f) && program.function(f).file.is_some_and(is_same_loss)) {
        return format!(
            "no function at {file}:{line} was read: the line is outside of functions, or nothing uses its function"
        );
    }
    match path {
        Some(_) => format!(
            "{file} is not among what was read; to read it alone, give flags for clang, such as `caulk why {file}:{line} -- -I.`"
        ),
        None => format!("there is no file {file}, here or among what was read"),
    }
}

/// What happens to the memory that is allocated in a line; empty if none is.
pub(crate) fn allocated(analysed: &Analysed, sources: &Sources, file: &str, line: u32) -> Vec<String> {
    let is_made_here = |stories: &[ObjectStory]| stories.iter().any(|story| story.line == line);
    answers(analysed, sources, find(analysed, file, line), line, is_made_here)
}

/// A function of a header is there once for every unit that includes it; what is alike is said once.
fn answers(
    analysed: &Analysed,
    sources: &Sources,
    functions: Vec<FuncId>,
    line: u32,
    is_wanted: impl Fn(&[ObjectStory]) -> bool,
) -> Vec<String> {
    let Analysed { program, models, config, analysis, .. } = analysed;
    let explainer = Explainer::new(program, models, config, analysis);
    let root = &analysed.read.root;
    let mut said: BTreeSet<String> = BTreeSet::new();
    let mut all = Vec::new();
    for function in functions {
        let Some(body) = program.body(function) else { continue };
        let stories = explainer.stories(function);
        if !is_wanted(&stories) {
            continue;
        }
        let second = SecondLook::new(analysed, function, sources, root);
        let structures = why_structures::told(analysed, &explainer, (function, &body), line);
        let text = Answer { analysed, function, body: &body, line, second }.text(&stories, &structures);
        if said.insert(text.clone()) {
            all.push(text);
        }
    }
    all
}

fn parse_place(place: &str) -> Result<(&str, u32), Error> {
    let parts = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    parts
        .filter(|(file, line)| !file.is_empty() && *line > 0)
        .ok_or_else(|| Error::Usage(format!("{place:?} is no place in the source; write FILE:LINE, such as main.c:12")))
}

/// The functions with code in a line.
fn find(analysed: &Analysed, file: &str, line: u32) -> Vec<FuncId> {
    let found = analysed.program.functions_at(file, line);
    if !found.is_empty() {
        return found;
    }
    let canonical = std::fs::canonicalize(file).ok();
    canonical.and_then(|p| Some(analysed.program.functions_at(p.to_str()?, line))).unwrap_or_default()
}

struct Answer<'a> {
    analysed: &'a Analysed,
    function: FuncId,
    body: &'a Body,
    line: u32,
    second: SecondLook<'a>,
}

impl Answer<'_> {
    fn text(&self, stories: &[ObjectStory], structures: &[String]) -> String {
        let mut text = self.missed_fields();
        self.write_structures(&mut text, structures);
        if stories.iter().any(|s| s.line == self.line) {
            let told = stories.iter().filter(|s| s.line == self.line || is_lost_at(s, self.line));
            told.for_each(|story| self.write_story(&mut text, story));
            return text.0;
        }
        let meets = |s: &&ObjectStory| s.ends.iter().any(|end| ends_at(end, self.line));
        let met: Vec<&ObjectStory> = stories.iter().filter(meets).collect();
        if met.is_empty() && !text.0.is_empty() {
            return text.0;
        }
        let name = shortened(self.analysed.program.function(self.function).name);
        text.line(format_args!("{}: nothing is allocated here, in {name}", self.place(self.line)));
        self.write_calls(&mut text);
        if met.is_empty() {
            self.write_hints(&mut text, stories);
        } else {
            text.line(format_args!("objects that come by here:"));
            met.into_iter().for_each(|story| self.write_story(&mut text, story));
        }
        text.0
    }

    fn file(&self) -> &str {
        self.analysed.program.function(self.function).file.unwrap_or("?")
    }

    fn place(&self, line: u32) -> String {
        format!("{}:{line}", self.analysed.shown(Some(self.file())))
    }

    /// The line as it stands in the file, if that can be read.
    fn source(&self, line: u32) -> Option<String> {
        let source = self.second.sources.get(self.file())?;
        let text = String::from_utf8_lossy(source.line(line)?).trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    }

    fn write_story(&self, text: &mut Lines, story: &ObjectStory) {
        let source = self.source(story.line).unwrap_or_else(|| story.callee.clone());
        text.line(format_args!("{}: {source}", self.place(story.line)));
        let what = match (&story.name, story.is_part) {
            (Some(name), true) => format!("{name}, a part, "),
            (Some(name), false) => format!("{name} "),
            (None, true) => "a part ".to_owned(),
            (None, false) => String::new(),
        };
        let told = story.told.as_ref().map_or_else(String::new, |r| format!(", if the result is {r}"));
        text.line(format_args!("  {what}allocated by {}{told}", self.chain(story)));
        if story.is_hidden {
            text.line(format_args!(
                "  held back: whether it is allocated is decided by something the caller cannot see"
            ));
        }
        if story.ends.is_empty() {
            text.line(format_args!("  no path from here returns: the program ends or loops for ever"));
        }
        for end in &story.ends {
            let when = if end.is_iteration_of_loop { "allocated again" } else { "returns" };
            text.line(format_args!("  {when} at {}: {}", end.line, end.verdict));
            if !end.trail.is_empty() {
                text.line(format_args!("      {}", trail(&end.trail)));
            }
            if let Ending::Candidate { line, .. } = end.verdict {
                // What is lost together is one candidate, but for the ends of a pipe.
                let is_same_loss = |c: &Candidate| c.allocation == story.call && self.body.place(c.place).line == line;
                let told = self.second.tell(|c| is_same_loss(c) && c.block == story.block);
                let told = told.or_else(|| self.second.tell(is_same_loss));
                told.into_iter().for_each(|t| text.line(format_args!("      {t}")));
            }
            if let Ending::Taken { .. } | Ending::Freed { .. } = end.verdict {
                let is_asked = |c: &Candidate| c.loss == Loss::Question && c.allocation == story.call;
                let told = self.second.tell(|c| is_asked(c) && self.body.place(c.exit).line == end.line);
                told.into_iter().for_each(|t| text.line(format_args!("      a leak where it does not do so: {t}")));
            }
        }
        if story.cut {
            text.line(format_args!("  (bounds were reached: different paths were merged)"));
        }
    }

    /// `format_single > format_expand > ... > xmalloc (xmalloc.c:33)`.
    fn chain(&self, story: &ObjectStory) -> String {
        let program = &self.analysed.program;
        let below = story.chain.get(1..).unwrap_or_default();
        let Some((last, line)) = below.last() else { return story.callee.clone() };
        let line = program.line_of(*last, *line);
        let mut names: Vec<Cow<'_, str>> = below.iter().map(|(f, _)| shortened(program.function(*f).name)).collect();
        if names.len() > MAX_CHAIN {
            names.splice(2..names.len() - 2, ["...".into()]);
        }
        format!("{} ({}:{line})", names.join(" > "), self.analysed.shown(program.function(*last).file))
    }

    /// What the function does with the fields of the structures that it ends.
    fn write_structures(&self, text: &mut Lines, structures: &[String]) {
        if text.0.is_empty() && !structures.is_empty() {
            let source = self.source(self.line).unwrap_or_default();
            text.line(format_args!("{}: {source}", self.place(self.line)));
        }
        structures.iter().for_each(|line| text.line(format_args!("{line}")));
    }

    /// Candidates of this line that are fields which are not freed.
    fn missed_fields(&self) -> Lines {
        let program = &self.analysed.program;
        let mut text = Lines::default();
        let report = &self.analysed.analysis.reports[self.function];
        for candidate in report.candidates.iter().filter(|c| self.body.place(c.place).line == self.line) {
            let owner = match (candidate.loss, candidate.loss.slot()) {
                (_, Some(slot)) => slot_name(program, slot),
                (Loss::OverwrittenStatic(variable), _) => program.global(variable).name.to_owned(),
                _ => continue,
            };
            let source = self.source(self.line).unwrap_or_default();
            text.line(format_args!("{}: {source}", self.place(self.line)));
            let is_store = matches!(self.body.insts[candidate.place], Inst::Store { .. });
            let is_overwritten = is_store || matches!(candidate.loss, Loss::OverwrittenStatic(_));
            let owns = format!("{owner} owns memory elsewhere in the program, and is");
            let how = match candidate.variable {
                Some(_) => "taken out of a list whose nodes other code frees, and left".to_owned(),
                None if is_overwritten => format!("{owns} overwritten here, what it held neither freed nor moved"),
                None => format!("{owns} not looked at here before its holder goes"),
            };
            let rank = if candidate.hidden { ", held back" } else { "" };
            text.line(format_args!("  lost at {} - candidate{rank}: {how}", self.line));
            for (function, below) in candidate.chain.iter().take(1) {
                let (info, line) = (program.function(*function), program.line_of(*function, *below));
                let file = self.analysed.shown(info.file);
                text.line(format_args!("      filled in {} ({file}:{line})", shortened(info.name)));
            }
        }
        text
    }

    /// What the calls of the line do.
    fn write_calls(&self, text: &mut Lines) {
        let program = &self.analysed.program;
        let here = |inst: InstId| self.body.place(inst).line == self.line;
        let mut is_any = false;
        for site in program.call_sites(self.function).iter().filter(|site| here(site.inst)) {
            is_any = true;
            let targets = program.targets(site);
            if targets.is_empty() {
                text.line(format_args!("  calls a function pointer that leads nowhere: nothing is known of it"));
            }
            for target in targets {
                let summary = self.analysed.analysis.summary(*target);
                let allocates =
                    if summary.blocks.is_empty() { "allocates nothing for its caller" } else { "allocates" };
                let lines = print::summary(program, *target, summary);
                let does = if lines.is_empty() { String::new() } else { format!(": {}", lines.join("; ")) };
                let symbol = program.function(*target).symbol;
                let name = shortened(program.function(*target).name);
                if self.opens_descriptor(symbol) {
                    text.line(format_args!(
                        "  calls {name}(), which opens a descriptor: --resources all follows it{does}"
                    ));
                    continue;
                }
                text.line(format_args!("  calls {name}(), which {allocates}{does}"));
            }
        }
        if !is_any {
            text.line(format_args!("  there is no call in this line"));
        }
    }

    /// Whether a function makes a descriptor, where these are not followed.
    fn opens_descriptor(&self, symbol: &str) -> bool {
        let opens = |models: &Models| models.get(symbol).is_some_and(|model| model.allocates());
        !opens(&self.analysed.models) && opens(&Models::with_descriptors())
    }

    fn write_hints(&self, text: &mut Lines, stories: &[ObjectStory]) {
        let mut lines: Vec<u32> = stories.iter().map(|s| s.line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.sort_by_key(|l| l.abs_diff(self.line));
        lines.truncate(MAX_HINTS);
        lines.sort_unstable();
        let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
        let name = shortened(self.analysed.program.function(self.function).name);
        if lines.is_empty() {
            text.line(format_args!("  {name} allocates nothing anywhere"));
        } else {
            text.line(format_args!("  lines of {name} that allocate: {}", lines.join(", ")));
        }
    }
}

fn is_lost_at(story: &ObjectStory, line: u32) -> bool {
    story.ends.iter().any(|end| matches!(end.verdict, Ending::Candidate { line: at, .. } if at == line))
}

/// Whether a line is where the object is lost, or something is done to it.
fn ends_at(end: &StoryEnd, line: u32) -> bool {
    let place = match end.verdict {
        Ending::Freed { line, .. }
        | Ending::Taken { line, .. }
        | Ending::Unknown { line, .. }
        | Ending::Candidate { line, .. }
        | Ending::Excused { line, .. } => Some(line),
        Ending::Kept { line, .. } => line,
        Ending::Returned => Some(end.line),
    };
    place == Some(line)
}

fn trail(events: &[(u32, String)]) -> String {
    let shown = |(line, what): &(u32, String)| format!("{line} {what}");
    let mut parts: Vec<String> = events.iter().map(shown).collect();
    if parts.len() > MAX_EVENTS {
        let half = MAX_EVENTS / 2;
        parts.splice(half..parts.len() - half, ["...".to_owned()]);
    }
    parts.join(", ")
}
