//! The list of findings.

use std::fmt::Write as _;

use serde::Serialize;

use super::{escape, file_name, head};
use crate::finding::{BaselineState, Finding};
use crate::footer;
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
pub(crate) fn data(report: &Report) -> String {
    let rows: Vec<Row<'_>> = report.findings.iter().enumerate().map(|(i, f)| row(i, f)).collect();
    let json = serde_json::to_string(&rows).expect("strings and numbers always serialise");
    format!("window.caulkFindings = {};\n", escape::script(&json))
}

fn row(index: usize, finding: &Finding) -> Row<'_> {
    Row {
        p: format!("finding/{}", file_name(index, &finding.fingerprint)),
        kind: finding.kind.rule(),
        variable: finding.variable.as_deref().unwrap_or_default(),
        message: format!("{} is leaked: {}", finding.subject(), finding.reason),
        file: &finding.loss.file,
        line: finding.loss.line,
        also: finding.also_lost_at.len(),
        function: &finding.loss.function,
        allocator: &finding.allocation.callee,
        confidence: finding.confidence.to_string(),
        steps: finding.essential().count(),
        failure: finding.needs_alloc_failure,
        state: state(finding),
    }
}

pub(crate) fn state(finding: &Finding) -> &'static str {
    match (&finding.suppression, finding.baseline) {
        (Some(_), _) => "suppressed",
        (None, Some(BaselineState::New)) => "new",
        (None, Some(BaselineState::Unchanged)) => "known",
        (None, None) => "",
    }
}

pub(crate) fn page(report: &Report) -> String {
    let mut html = head("Caulk: memory leaks", "", "index.js");
    let count = report.counted().count();
    let _ = write!(
        html,
        "<body class=\"index\">\n<script src=\"findings.js\"></script>\n<header>\n<h1>{}</h1>\n\
         <p class=\"sub\">{} units, {} functions in <code>{}</code></p>\n\
         <button id=\"theme\" type=\"button\" title=\"dark or light\">&#9680;</button>\n</header>\n",
        crate::text::leaks(count),
        report.statistics.units,
        report.statistics.functions,
        escape::text(&report.root),
    );
    html.push_str(CONTROLS);
    html.push_str("<footer>\n");
    for line in footer::lines(report) {
        let _ = writeln!(html, "<p>{}</p>", escape::with_code(&line));
    }
    details(&mut html, "Units not read", report.units_not_read.iter().map(|u| format!("{}: {}", u.source, u.reason)));
    details(&mut html, "Functions cut", report.functions_cut.iter().cloned());
    let fixed = report.fixed.iter().map(|k| format!("{}: {} in {} [{}]", k.file, k.variable, k.function, k.rule));
    details(&mut html, "Fixed since the baseline", fixed);
    details(&mut html, "Suppressions", report.complaints.iter().map(|c| format!("{}: {}", c.place, c.text)));
    let _ = write!(html, "<p>caulk {}</p>\n</footer>\n</body>\n</html>\n", env!("CARGO_PKG_VERSION"));
    html
}

fn details(html: &mut String, title: &str, items: impl ExactSizeIterator<Item = String>) {
    if items.len() == 0 {
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
<input id="search" type="search" placeholder="Search: variable, file, function, words of the message  ( / )" autocomplete="off" spellcheck="false">
<div class="filters">
<label>Kind <select id="kind"><option value="">all</option></select></label>
<label>Confidence <select id="confidence"><option value="">all</option></select></label>
<label>File <select id="file"><option value="">all</option></select></label>
<label>Function <select id="function"><option value="">all</option></select></label>
<label>Needs an allocation to fail <select id="failure"><option value="">all</option><option value="no">no</option><option value="yes">yes</option></select></label>
<label>State <select id="state"><option value="">all</option></select></label>
<button id="reset" type="button">Reset</button>
</div>
<p id="counts" role="status"></p>
</nav>
<main>
<table id="findings">
<thead><tr>
<th data-key="kind"><button type="button">Kind</button></th>
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
