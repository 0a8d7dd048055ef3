//! The page of one finding: its path through the source, step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use super::highlight::{Highlighter, Library};
use super::{escape, head, index, states};
use crate::finding::{Call, Finding, OtherLoss, RelatedLeak, Site, StepKind};
use crate::overview::count;
use crate::rules;

/// Lines shown around those that matter.
const CONTEXT: u32 = 5;
/// Fewer lines than this between shown ones are shown as well.
const MIN_FOLD: u32 = 4;

/// The pages of the findings before and after.
pub(crate) struct Neighbours {
    pub before: Option<String>,
    pub after: Option<String>,
}

/// What stands below a line of the source.
#[derive(Default)]
struct Notes {
    /// Numbers of steps, from 1.
    steps: Vec<usize>,
    /// Numbers of calls of the chain, from 1.
    calls: Vec<usize>,
    /// Numbers of further places of loss, from 1.
    also: Vec<usize>,
}

pub(super) fn page(finding: &Finding, library: &Library<'_>, neighbours: &Neighbours, changed: &[String]) -> String {
    let variable = finding.variable.as_deref().unwrap_or(&finding.noun);
    let title = format!("{variable} from {} in {}", finding.allocation.callee, finding.loss.function);
    let mut html = head(&format!("{title} - {}", finding.loss.file), "../", "finding.js");
    html.push_str("<body class=\"finding\">\n");
    header(&mut html, finding, neighbours);
    html.push_str("<div class=\"columns\">\n");
    panel(&mut html, finding);
    html.push_str("<main>\n");
    for (file, lines) in files(finding) {
        let is_changed = changed.iter().any(|c| c == file);
        source(&mut html, finding, library, (file, is_changed), &lines);
    }
    if let Some(picture) = &finding.states {
        html.push_str(&states::section(picture));
    }
    html.push_str("</main>\n</div>\n</body>\n</html>\n");
    html
}

fn header(html: &mut String, finding: &Finding, neighbours: &Neighbours) {
    let link = |page: &Option<String>, id: &str, text: &str| match page {
        Some(page) => format!("<a id=\"{id}\" href=\"{page}\">{text}</a>"),
        None => format!("<span class=\"off\">{text}</span>"),
    };
    let _ = write!(
        html,
        "<header>\n<nav aria-label=\"findings\"><a id=\"up\" href=\"../index.html\">all leaks</a> {} {}</nav>\n{}<h1>{}</h1>\n",
        link(&neighbours.before, "before", "&larr; previous"),
        link(&neighbours.after, "after", "next &rarr;"),
        index::THEME,
        escape::with_code(&format!("{} in `{}`", finding.title(), finding.loss.function)),
    );
    let _ = writeln!(
        html,
        "<p class=\"sub\"><span class=\"tag {0}\">{0}</span> <span class=\"tag\">{7}</span> <span class=\"tag\">{1} confidence</span> {2}{3}\
         in <code>{4}</code>, {5}:{6}</p>",
        finding.kind.rule(),
        finding.confidence,
        if finding.needs_alloc_failure { "<span class=\"tag\">needs an allocation to fail</span> " } else { "" },
        state_tag(finding),
        escape::text(&finding.loss.function),
        escape::text(&finding.loss.file),
        finding.loss.line,
        rules::of(finding.kind).cwe,
    );
    let _ = writeln!(html, "<p class=\"sub\">{}.</p>", escape::with_code(&sentence(&finding.certainty())));
    if let Some(advice) = &finding.advice {
        let _ = writeln!(html, "<p class=\"sub\">{}.</p>", escape::with_code(&sentence(advice)));
    }
    if let Some(reason) = finding.suppression.as_ref().and_then(|s| s.reason.as_ref()) {
        let _ = writeln!(html, "<p class=\"sub\">Suppressed: {}</p>", escape::text(reason));
    }
    html.push_str("</header>\n");
}

/// With a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn state_tag(finding: &Finding) -> String {
    match index::state(finding) {
        "" => String::new(),
        state => format!("<span class=\"tag\">{state}</span> "),
    }
}

/// The list of steps, the calls down to the allocator, and the further places of loss.
fn panel(html: &mut String, finding: &Finding) {
    html.push_str("<aside aria-label=\"path\">\n<h2>Path</h2>\n<ol class=\"steps\">\n");
    for (i, step) in finding.steps.iter().enumerate() {
        let number = i + 1;
        let text = escape::with_code(&step.text);
        let _ = writeln!(html, "<li><a href=\"#step-{number}\" class=\"{}\">{text}</a></li>", class(step.kind));
    }
    html.push_str(
        "</ol>\n<p class=\"hint\">Keys: <kbd>n</kbd> next step, <kbd>p</kbd> previous, <kbd>[</kbd> <kbd>]</kbd> \
                   other leaks, <kbd>u</kbd> all leaks</p>\n",
    );
    if !finding.chain.is_empty() {
        html.push_str("<h2>Allocation</h2>\n<ol class=\"chain\">\n");
        let _ =
            writeln!(html, "<li><a href=\"#{}\">{}</a></li>", allocation_anchor(finding), called(&finding.allocation));
        for (i, call) in finding.chain.iter().enumerate() {
            let _ = writeln!(html, "<li><a href=\"#call-{}\">{}</a></li>", i + 1, called(call));
        }
        html.push_str("</ol>\n");
    }
    also(html, finding);
    same_cause(html, finding);
    let rule = rules::of(finding.kind);
    let _ = write!(
        html,
        "<h2>Rule</h2>\n<p>{}</p>\n<h2>Suppress</h2>\n<p>On the line of the loss or of the allocation, or above it:</p>\n\
         <p><code id=\"suppression\">// caulk: ignore {} &quot;reason&quot;</code>\n\
         <button id=\"copy\" type=\"button\">Copy</button> <span id=\"copied\" role=\"status\"></span></p>\n\
         <p class=\"hint\">Fingerprint <code>{}</code></p>\n</aside>\n",
        escape::text(rule.full),
        rule.id,
        escape::text(&finding.fingerprint)
    );
}

/// The further places of loss.
fn also(html: &mut String, finding: &Finding) {
    if finding.also_lost_at.is_empty() {
        return;
    }
    html.push_str("<h2>Also lost at</h2>\n<ul class=\"also\">\n");
    for (i, OtherLoss { site, reason, needs_alloc_failure, .. }) in finding.also_lost_at.iter().enumerate() {
        let failure = if *needs_alloc_failure { " (only when an allocation fails)" } else { "" };
        let _ = writeln!(
            html,
            "<li><a href=\"#also-{}\">{}:{}</a> {}{failure}</li>",
            i + 1,
            escape::text(&site.file),
            site.line,
            escape::with_code(reason)
        );
    }
    html.push_str("</ul>\n");
}

/// Leaks that the same change would fix.
fn same_cause(html: &mut String, finding: &Finding) {
    if finding.same_cause.is_empty() {
        return;
    }
    html.push_str("<h2>Same cause</h2>\n<ul class=\"also\">\n");
    for RelatedLeak { variable, loss, reason, allocation, .. } in &finding.same_cause {
        let what = variable.as_ref().map_or_else(|| finding.noun.clone(), |name| format!("`{name}`"));
        let made = format!("{what} from {} at {}:{}", allocation.callee, allocation.site.file, allocation.site.line);
        let lost = format!("lost in {} at {}:{}: {reason}", loss.function, loss.file, loss.line);
        let _ = writeln!(html, "<li>{}; {}</li>", escape::with_code(&made), escape::with_code(&lost));
    }
    html.push_str("</ul>\n");
}

fn allocation_anchor(finding: &Finding) -> String {
    let at = finding.steps.iter().position(|s| s.kind == StepKind::Allocated);
    format!("step-{}", at.map_or(1, |i| i + 1))
}

fn called(call: &Call) -> String {
    let Site { file, line, function, .. } = &call.site;
    format!(
        "<code>{}</code> calls <code>{}</code> <span class=\"place\">{}:{line}</span>",
        escape::text(function),
        escape::text(&call.callee),
        escape::text(file)
    )
}

fn class(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Allocated => "made",
        StepKind::Leaked => "end",
        StepKind::NotTaken | StepKind::Stored => "call",
        _ => "branch",
    }
}

/// Files with the lines that matter in them; that of the loss first, then in the order of the path and the chain.
fn files(finding: &Finding) -> Vec<(&str, BTreeMap<u32, Notes>)> {
    let mut files: Vec<(&str, BTreeMap<u32, Notes>)> = vec![(finding.loss.file.as_str(), BTreeMap::new())];
    let steps = finding.steps.iter().map(|s| s.site.file.as_str());
    let also = finding.also_lost_at.iter().map(|other| other.site.file.as_str());
    for file in steps.chain(finding.chain.iter().map(|c| c.site.file.as_str())).chain(also) {
        if !files.iter().any(|(f, _)| *f == file) {
            files.push((file, BTreeMap::new()));
        }
    }
    for (file, lines) in &mut files {
        for (i, step) in finding.steps.iter().enumerate().filter(|(_, s)| s.site.file == *file) {
            lines.entry(step.site.line).or_default().steps.push(i + 1);
        }
        for (i, call) in finding.chain.iter().enumerate().filter(|(_, c)| c.site.file == *file) {
            lines.entry(call.site.line).or_default().calls.push(i + 1);
        }
        for (i, other) in finding.also_lost_at.iter().enumerate().filter(|(_, o)| o.site.file == *file) {
            lines.entry(other.site.line).or_default().also.push(i + 1);
        }
    }
    files
}

fn source(
    html: &mut String,
    finding: &Finding,
    library: &Library<'_>,
    (file, is_changed): (&str, bool),
    lines: &BTreeMap<u32, Notes>,
) {
    let _ = writeln!(
        html,
        "<section>\n<h2 class=\"file\">{0}</h2>\n<div class=\"source\" tabindex=\"0\" role=\"region\" aria-label=\"source of {0}\">",
        escape::text(file)
    );
    let on_path = path_lines(finding, file);
    let highlighter = library.get(file);
    let last = highlighter.as_ref().map_or(0, |h| h.last_line());
    if highlighter.is_none() {
        html.push_str("<p class=\"hint\">This file cannot be read any more.</p>\n");
    } else if is_changed {
        html.push_str("<p class=\"hint\">This file has changed since it was compiled: places may be wrong.</p>\n");
    }
    let mut previous = 0;
    for number in shown(lines, last) {
        if previous > 0 && number > previous + 1 {
            fold(html, highlighter.as_deref(), previous + 1, number - 1);
        }
        let notes = lines.get(&number);
        line(html, highlighter.as_deref(), number, (notes.is_some(), on_path.contains(&number)));
        if let Some(notes) = notes {
            annotate(html, finding, notes);
        }
        previous = number;
    }
    html.push_str("</div>\n</section>\n");
}

/// The lines between the first and the last step in a file: a line in the margin joins them.
fn path_lines(finding: &Finding, file: &str) -> RangeInclusive<u32> {
    let lines = finding.steps.iter().filter(|s| s.site.file == file && s.site.line > 0).map(|s| s.site.line);
    match (lines.clone().min(), lines.max()) {
        (Some(first), Some(last)) => first..=last,
        _ => RangeInclusive::new(1, 0),
    }
}

/// The lines to show openly.
fn shown(lines: &BTreeMap<u32, Notes>, last: u32) -> BTreeSet<u32> {
    let mut shown: BTreeSet<u32> = BTreeSet::new();
    for &number in lines.keys() {
        shown.insert(number);
        shown.extend((number.saturating_sub(CONTEXT).max(1)..=number.saturating_add(CONTEXT)).filter(|n| *n <= last));
    }
    let open: Vec<u32> = shown.iter().copied().collect();
    for pair in open.windows(2) {
        if pair[1] - pair[0] - 1 < MIN_FOLD {
            shown.extend(pair[0] + 1..pair[1]);
        }
    }
    shown
}

fn line(html: &mut String, highlighter: Option<&Highlighter>, number: u32, (is_marked, on_path): (bool, bool)) {
    let code = highlighter.map_or_else(String::new, |h| h.line(number));
    let class = match (is_marked, on_path) {
        (true, true) => "line hit path",
        (true, false) => "line hit",
        (false, true) => "line path",
        (false, false) => "line",
    };
    let _ = writeln!(html, "<div class=\"{class}\"><span class=\"no\">{number}</span><code>{code}</code></div>");
}

/// Lines that can be opened.
fn fold(html: &mut String, highlighter: Option<&Highlighter>, first: u32, last: u32) {
    /// More than this is another function, and better read in an editor.
    const MAX_FOLDED: u32 = 300;
    let number = last - first + 1;
    let lines = count(number as usize, "line", "lines");
    if number > MAX_FOLDED {
        let _ = writeln!(html, "<div class=\"gap\">{lines}</div>");
        return;
    }
    let _ = writeln!(html, "<details class=\"gap\"><summary>{lines}</summary>");
    (first..=last).for_each(|number| line(html, highlighter, number, (false, false)));
    html.push_str("</details>\n");
}

/// The steps and calls below a line, with arrows to those before and after.
fn annotate(html: &mut String, finding: &Finding, notes: &Notes) {
    for &number in &notes.steps {
        let step = &finding.steps[number - 1];
        let arrow = |to: usize, text: &str| match (1..=finding.steps.len()).contains(&to) {
            true => format!("<a class=\"arrow\" href=\"#step-{to}\" aria-label=\"step {to}\">{text}</a>"),
            false => String::new(),
        };
        let _ = writeln!(
            html,
            "<div class=\"note {}\" id=\"step-{number}\" tabindex=\"-1\">{}<a class=\"number\" href=\"#step-{number}\" aria-label=\"this is step {number}\">{number}</a> {} {}</div>",
            class(step.kind),
            arrow(number - 1, "&larr;"),
            escape::with_code(&step.text),
            arrow(number + 1, "&rarr;"),
        );
    }
    for &number in &notes.calls {
        let call = &finding.chain[number - 1];
        let next = if number < finding.chain.len() {
            format!("<a class=\"arrow\" href=\"#call-{}\" aria-label=\"next call\">&rarr;</a>", number + 1)
        } else {
            String::new()
        };
        let _ = writeln!(
            html,
            "<div class=\"note chained\" id=\"call-{number}\" tabindex=\"-1\">on the way to the allocation: {} {next}</div>",
            called(call)
        );
    }
    for &number in &notes.also {
        let reason = escape::with_code(&finding.also_lost_at[number - 1].reason);
        let _ = writeln!(
            html,
            "<div class=\"note end\" id=\"also-{number}\" tabindex=\"-1\">leaked here too: {reason}</div>"
        );
    }
}
