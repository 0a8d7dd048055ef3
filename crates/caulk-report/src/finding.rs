//! A leak as the reader of the source sees it. Nothing of the IR is left in it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules;
use crate::states::StatePicture;
use crate::suppress::Suppression;

/// Further lines of loss named in a message before the rest is only counted.
const MAX_LINES_NAMED: usize = 4;

/// The noun of a finding that is no resource.
pub(crate) const MEMORY: &str = "memory";

/// How the memory is leaked. Also the rule that a finding is reported under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// The last reference is overwritten, or freed with its holder.
    Lost,
    /// Still held by a local at the end.
    Forgotten,
    /// Held by `main` alone when it returns: the system takes it back, so this is a note and no leak.
    #[serde(rename = "held-at-exit")]
    HeldAtExit,
    /// A stream, handle or descriptor that is not closed.
    Resource,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Lost, Kind::Forgotten, Kind::HeldAtExit, Kind::Resource];

    /// The name of the rule, as suppressions and reports write it.
    pub fn rule(self) -> &'static str {
        match self {
            Kind::Lost => "lost",
            Kind::Forgotten => "forgotten",
            Kind::HeldAtExit => "held-at-exit",
            Kind::Resource => "resource",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Confidence {
    /// Rests on something that the analysis could not see.
    Low,
    Medium,
    High,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        })
    }
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Site {
    /// Relative to the root of the report where it lies below it, with `/` between folders.
    pub file: String,
    /// From 1; 0 when unknown.
    pub line: u32,
    /// In bytes, from 1, as compilers count; 0 when unknown.
    pub column: u32,
    /// The function it is in, as the source names it.
    pub function: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "{}:{}", self.file, self.line),
            column => write!(f, "{}:{}:{column}", self.file, self.line),
        }
    }
}

/// A call on the way down to the allocator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    #[serde(flatten)]
    pub site: Site,
    /// What is called, with parentheses: `malloc()`.
    pub callee: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepKind {
    Allocated,
    /// A condition of the source, and how it came out.
    Branch,
    LoopEntered,
    LoopLeft,
    /// A case of a switch.
    Case,
    /// A call that does not take ownership here, though it does in other cases.
    NotTaken,
    /// Stored somewhere, or moved.
    Stored,
    Overwritten,
    FreedWithHolder,
    OutOfScope,
    /// Nothing holds it from here on.
    Leaked,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub kind: StepKind,
    #[serde(flatten)]
    pub site: Site,
    pub text: String,
    /// It follows from the other steps, or changes nothing: shown with `--full-path` only.
    pub detail: bool,
}

/// How memory is lost, as far as a proposed fix has to know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The function returns.
    Return,
    OutOfScope,
    Overwritten,
    NextIteration,
    ResultIgnored,
    /// What holds it is freed, by a path of the function.
    HolderFreed,
    /// A destructor does not free this field.
    FieldMissed,
    FieldPassedOver,
    FieldOverwritten,
    #[default]
    Other,
}

/// A further place where the memory of a finding is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherLoss {
    pub kind: Kind,
    #[serde(flatten)]
    pub site: Site,
    /// Why it is lost there.
    pub reason: String,
    pub confidence: Confidence,
    /// Some other allocation must fail for it.
    pub needs_alloc_failure: bool,
    #[serde(skip)]
    #[schemars(skip)]
    pub cause: Cause,
}

/// Another leak that has the same cause as a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelatedLeak {
    pub kind: Kind,
    pub variable: Option<String>,
    /// Where it is lost.
    pub loss: Site,
    /// Why it is lost there.
    pub reason: String,
    /// The call in the leaking function that allocates it.
    pub allocation: Call,
    pub confidence: Confidence,
    /// Some other allocation must fail for it.
    pub needs_alloc_failure: bool,
    pub fingerprint: String,
    #[serde(skip)]
    #[schemars(skip)]
    pub shape: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub kind: Kind,
    /// What must be freed alike: the name of the models' family.
    pub family: String,
    /// What is leaked: memory, a stream, a handle or a descriptor.
    pub noun: String,
    /// What held the memory: `p`, `page.title`.
    pub variable: Option<String>,
    /// Where it is lost.
    pub loss: Site,
    /// Why it is lost there, in words that follow "is leaked here: ".
    pub reason: String,
    /// The same in few words, which follow "`p` allocated by malloc() ".
    pub headline: String,
    /// What to do about it, as another path of the function does it.
    pub advice: Option<String>,
    /// The function returns 0 or null there.
    pub returns_zero: bool,
    /// Further places in the function where the same memory is lost, in the order of the source.
    pub also_lost_at: Vec<OtherLoss>,
    /// Leaks that the same change would fix ([`crate::causes`]).
    pub same_cause: Vec<RelatedLeak>,
    /// The call in the leaking function that allocates it.
    pub allocation: Call,
    /// The calls from there down to the allocator.
    pub chain: Vec<Call>,
    /// The witness.
    pub steps: Vec<Step>,
    pub confidence: Confidence,
    /// Why it is believed that much, in one sentence without its full stop.
    pub confidence_reason: String,
    /// Some other allocation must fail for it.
    pub needs_alloc_failure: bool,
    /// The program tests that failure on the path.
    pub failure_tested: bool,
    pub fingerprint: String,
    /// What the fingerprint is made of without the names of folders and of the function: by it a baseline knows a finding again
    /// whose function was renamed or whose file was moved.
    #[serde(skip)]
    #[schemars(skip)]
    pub shape: String,
    #[serde(skip)]
    #[schemars(skip)]
    pub cause: Cause,
    /// Functions that call the one which hands the memory out; 0 if no function of the program does.
    #[serde(skip)]
    #[schemars(skip)]
    pub callers: usize,
    /// The states that its object goes through, where a picture of them is wanted.
    #[serde(skip)]
    #[schemars(skip)]
    pub states: Option<StatePicture>,
    /// Where another path of the function frees it.
    #[serde(skip)]
    #[schemars(skip)]
    pub freed_at: Option<Site>,
    /// Compared with a baseline, if there is one.
    pub baseline: Option<BaselineState>,
    /// It is not to be reported, and why.
    pub suppression: Option<Suppression>,
}

/// A finding compared with those that were known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BaselineState {
    New,
    Unchanged,
}

impl Finding {
    /// Whether it is to be looked at: neither suppressed nor known already.
    pub fn counts(&self) -> bool {
        self.suppression.is_none() && self.baseline != Some(BaselineState::Unchanged)
    }

    /// Whether it is worth knowing and no failure.
    pub fn is_note(&self) -> bool {
        self.kind == Kind::HeldAtExit
    }

    /// The steps that a reader has to know.
    pub fn essential(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| !step.detail)
    }

    /// All places it speaks of.
    pub fn places(&self) -> impl Iterator<Item = &Site> {
        let calls = self.chain.iter().chain([&self.allocation]).map(|c| &c.site);
        let steps = self.steps.iter().map(|s| &s.site);
        let others = self.also_lost_at.iter().map(|other| &other.site);
        let related = self.same_cause.iter().flat_map(|other| [&other.loss, &other.allocation.site]);
        calls.chain(steps).chain([&self.loss]).chain(others).chain(related)
    }

    /// What leaks: the variable, or where it came from when nothing in the source ever named it.
    pub fn subject(&self) -> String {
        match &self.variable {
            Some(name) => format!("`{name}`"),
            None => format!("the {} from {}", self.noun, self.allocation.callee),
        }
    }

    /// ``"`value` allocated by xstrdup() is not freed on return"``.
    pub fn title(&self) -> String {
        let what = self.variable.as_ref().map_or_else(|| self.noun.clone(), |name| format!("`{name}`"));
        format!("{what} {} by {} {}", self.made(), self.allocation.callee, self.headline)
    }

    /// What is done to have one: memory is allocated, all else is opened.
    fn made(&self) -> &'static str {
        if self.noun == MEMORY { "allocated" } else { "opened" }
    }

    /// `forgotten, CWE-401`: the rule, and the weakness it finds.
    pub fn rules(&self) -> String {
        format!("{}, {}", self.kind.rule(), rules::of(self.kind).cwe)
    }

    /// How sure it is, and why, in one sentence.
    pub fn certainty(&self) -> String {
        format!("{} confidence: {}", self.confidence, self.confidence_reason)
    }

    /// The message, and what to do about it.
    pub fn message_with_advice(&self) -> String {
        match &self.advice {
            Some(advice) => format!("{}; {advice}", self.message()),
            None => self.message(),
        }
    }

    /// All that is said in one line: the message, what to do, and how sure that is.
    pub fn line(&self) -> String {
        format!("{}; {}", self.message_with_advice(), self.certainty())
    }

    /// The message of the place of loss, on one line and understandable without the rest.
    pub fn message(&self) -> String {
        let Site { file, line, .. } = &self.allocation.site;
        let made = if *file == self.loss.file { format!("line {line}") } else { format!("{file}:{line}") };
        let failure = if self.needs_alloc_failure { " (only when an allocation fails)" } else { "" };
        let also = self.also().map_or_else(String::new, |also| format!("; {also}"));
        let related = self.related().map_or_else(String::new, |related| format!("; {related}"));
        let (title, function) = (self.title(), &self.loss.function);
        format!("{title} (in {function}); {} at {made}{failure}{also}{related}", self.made())
    }

    /// `also lost at lines 7, 9 and 12`; None where there is no other line to name.
    pub fn also(&self) -> Option<String> {
        let mut lines: Vec<(&str, u32)> = Vec::new();
        for Site { file, line, .. } in self.also_lost_at.iter().map(|other| &other.site) {
            let place = (file.as_str(), *line);
            if place != (self.loss.file.as_str(), self.loss.line) && !lines.contains(&place) {
                lines.push(place);
            }
        }
        let is_one_file = lines.iter().all(|(file, _)| *file == self.loss.file);
        let name = |(file, line): &(&str, u32)| if is_one_file { line.to_string() } else { format!("{file}:{line}") };
        let mut names: Vec<String> = lines.iter().take(MAX_LINES_NAMED).map(name).collect();
        if lines.len() > MAX_LINES_NAMED {
            names.push(format!("{} more", lines.len() - MAX_LINES_NAMED));
        }
        let last = names.pop()?;
        let what = match (is_one_file, names.len()) {
            (false, _) => "",
            (true, 0) => "line ",
            (true, _) => "lines ",
        };
        let list = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
        Some(format!("also lost at {what}{list}"))
    }

    /// ``same cause: `s.name` from strdup() at line 12``; None where nothing else has this cause.
    pub fn related(&self) -> Option<String> {
        let mut names: Vec<String> =
            self.same_cause.iter().take(MAX_LINES_NAMED).map(|other| other.in_words(self)).collect();
        if self.same_cause.len() > MAX_LINES_NAMED {
            names.push(format!("{} more", self.same_cause.len() - MAX_LINES_NAMED));
        }
        let last = names.pop()?;
        let list = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
        Some(format!("same cause: {list}"))
    }
}

impl RelatedLeak {
    /// What differs from the finding it is listed in.
    fn in_words(&self, finding: &Finding) -> String {
        let what = match &self.variable {
            Some(name) => format!("`{name}`"),
            None => finding.noun.clone(),
        };
        if self.loss.function != finding.loss.function || self.loss.file != finding.loss.file {
            return format!("{what} in {} ({}:{})", self.loss.function, self.loss.file, self.loss.line);
        }
        let Site { file, line, .. } = &self.allocation.site;
        let made = if *file == finding.loss.file { format!("line {line}") } else { format!("{file}:{line}") };
        format!("{what} from {} at {made}", self.allocation.callee)
    }
}

/// A finding for tests, of which only what matters is changed.
#[cfg(test)]
pub(crate) fn example() -> Finding {
    let site = Site { file: "a.c".to_owned(), line: 1, column: 1, function: "f".to_owned() };
    Finding {
        kind: Kind::Forgotten,
        family: "free".to_owned(),
        variable: None,
        loss: site.clone(),
        reason: "the function returns".to_owned(),
        headline: "is not freed on return".to_owned(),
        advice: None,
        returns_zero: false,
        also_lost_at: Vec::new(),
        same_cause: Vec::new(),
        allocation: Call { site, callee: "malloc()".to_owned() },
        chain: Vec::new(),
        steps: Vec::new(),
        confidence: Confidence::High,
        confidence_reason: String::new(),
        needs_alloc_failure: false,
        failure_tested: false,
        fingerprint: String::new(),
        shape: String::new(),
        cause: Cause::Other,
        callers: 0,
        states: None,
        freed_at: None,
        noun: MEMORY.to_owned(),
        baseline: None,
        suppression: None,
    }
}
