//! The list of findings.

use std::fmt::Write as _;

use serde::Serialize;

use super::{escape, head, page_names};
use crate::finding::{BaselineState, Finding};
use crate::footer;
use crate::overview;
use crate::report::Report;

/// A row, with short names: there may be thousands.
#[derive(Serialize)]
struct Row<'a> {
    /// The page.
    p: String,
    kind: &'static str,
    variable: &'a str,
    message: String,
    file: &'a str,
    line: u32,
    /// Further places of loss.
    also: usize,
    function: &'a str,
    allocator: &'a str,
    confidence: String,
    steps: usize,
    failure: bool,
    /// `new`, `known`, `suppressed`, or empty.
    state: &'static str,
}

/// The rows, as a script: a page on disk may load scripts, but no other data.
pub(super) fn data(report: &Report) -> String {
    let rows: Vec<Row<'_>> = report.findings.iter().zip(page_names(report)).map(|(f, page)| row(f, &page)).collect();
    let json = serde_json::to_string(&rows).expect("strings and numbers always serialise");
    format!("window.caulkFindings = {};\n", escape::script(&json))
}

fn row<'a>(finding: &'a Finding, page: &str) -> Row<'a> {
    Row {
        p: format!("finding/{page}"),
        kind: finding.kind.rule(),
        variable: finding.variable.as_deref().unwrap_or_default(),
        message: heading(finding),
        file: &finding.loss.file,
        line: finding.loss.line,
        also: finding.also_lost_at.len() + finding.same_cause.len(),
        function: &finding.loss.function,
        allocator: &finding.allocation.callee,
        confidence: finding.confidence.to_string(),
        steps: finding.essential().count(),
        failure: finding.needs_alloc_failure,
        state: state(finding),
    }
}

/// What happens, and why.
pub(super) fn heading(finding: &Finding) -> String {
    let verb = if finding.is_note() { "is still held at exit" } else { "is leaked" };
    format!("{} {verb}: {}", finding.subject(), finding.reason)
}

pub(super) fn state(finding: &Finding) -> &'static str {
    match (&finding.suppression, finding.baseline) {
        (Some(_), _) => "suppressed",
        (None, Some(BaselineState::New)) => "new",
        (None, Some(BaselineState::Unchanged)) => "known",
        (None, None) => "",
    }
}

pub(super) fn page(report: &Report) -> String {
    let run = &report.run;
    let mut html = head(&format!("{}: memory leaks", run.project), "", "index.js");
    let counted: Vec<&Finding> = report.counted().collect();
    let _ = write!(
        html,
        "<body class=\"index\">\n<script src=\"findings.js\"></script>\n<header>\n<h1>{}</h1>\n\
         <p class=\"sub\">{}, {} in <code>{}</code></p>\n",
        escape::text(&format!("{} in {}", overview::counts(&counted), run.project)),
        overview::count(report.statistics.units, "unit", "units"),
        overview::count(report.statistics.functions, "function", "functions"),
        escape::text(&report.root),
    );
    about(&mut html, report);
    html.push_str(THEME);
    html.push_str("</header>\n");
    html.push_str(CONTROLS);
    html.push_str("<footer>\n");
    for line in footer::lines(report).iter().chain(&overview::blind_spots(report)) {
        let _ = writeln!(html, "<p>{}</p>", escape::with_code(line));
    }
    details(&mut html, "Units not read", report.units_not_read.iter().map(|u| format!("{}: {}", u.source, u.reason)));
    details(&mut html, "Functions cut", report.functions_cut.iter().cloned());
    let fixed = report.fixed.iter().map(|k| format!("{}: {} in {} [{}]", k.file, k.variable, k.function, k.rule));
    details(&mut html, "Fixed since the baseline", fixed);
    details(
        &mut html,
        "Suppressions",
        report.complaints.iter().chain(&report.warnings).map(|c| format!("{}: {}", c.place, c.text)),
    );
    let _ = write!(html, "<p>caulk {}</p>\n</footer>\n</body>\n</html>\n", env!("CARGO_PKG_VERSION"));
    html
}

/// Which commit, when and how: what a reader of an old page asks first.
fn about(html: &mut String, report: &Report) {
    let run = &report.run;
    let facts = [("Commit", &run.commit), ("Made", &run.date), ("Options", &run.options)];
    html.push_str("<dl class=\"about\">\n");
    for (name, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(html, "<div><dt>{name}</dt><dd>{}</dd></div>", escape::text(value));
    }
    let _ = writeln!(html, "<div><dt>Version</dt><dd>caulk {}</dd></div>\n</dl>", env!("CARGO_PKG_VERSION"));
}

pub(super) const THEME: &str =
    "<button id=\"theme\" type=\"button\" aria-label=\"Switch between dark and light\">&#9680;</button>\n";

fn details(html: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return;
    }
    let _ = writeln!(html, "<details><summary>{title} ({})</summary><ul>", items.len());
    for item in items {
        let _ = writeln!(html, "<li>{}</li>", escape::text(&item));
    }
    html.push_str("</ul></details>\n");
}

const CONTROLS: &str = r#"<noscript><p>The list needs scripts; the pages under finding/ do not.</p></noscript>
<nav class="controls" aria-label="filters">
<input id="search" type="search" aria-label="Search" placeholder="Search: variable, file, function, words of the message  ( / )" autocomplete="off" spellcheck="false">
<div class="filters">
<label>Rule <select id="kind"><option value="">all</option></select></label>
<label>Confidence <select id="confidence"><option value="">all</option></select></label>
<label>Folder <select id="folder"><option value="">all</option></select></label>
<label>File <select id="file"><option value="">all</option></select></label>
<label>Function <select id="function"><option value="">all</option></select></label>
<label>Needs an allocation to fail <select id="failure"><option value="">all</option><option value="no">no</option><option value="yes">yes</option></select></label>
<label>State <select id="state"><option value="">all</option></select></label>
<label class="check"><input id="new" type="checkbox"> only new</label>
<button id="reset" type="button">Reset</button>
</div>
<p class="hint">Keys: <kbd>j</kbd> <kbd>k</kbd> next and previous leak, <kbd>Enter</kbd> opens it, <kbd>/</kbd> searches</p>
<p id="counts" role="status"></p>
</nav>
<main>
<table id="findings">
<caption class="unseen">Findings</caption>
<thead><tr>
<th data-key="kind"><button type="button">Rule</button></th>
<th data-key="message"><button type="button">Leak</button></th>
<th data-key="place"><button type="button">Lost at</button></th>
<th data-key="function"><button type="button">Function</button></th>
<th data-key="allocator"><button type="button">Allocated by</button></th>
<th data-key="confidence"><button type="button">Confidence</button></th>
<th data-key="steps"><button type="button">Steps</button></th>
</tr></thead>
<tbody id="rows"></tbody>
</table>
<button id="more" type="button" hidden>Show more</button>
</main>
"#;
