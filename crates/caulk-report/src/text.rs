//! The report for a terminal: findings grouped by file, then what was counted and what was hidden.

use std::fmt::Write as _;

use annotate_snippets::Renderer;

use crate::baseline::Known;
use crate::finding::Finding;
use crate::footer;
use crate::layout;
use crate::overview;
use crate::report::Report;
use crate::snippet::Picture;
use crate::source::Sources;
use crate::terminal;

/// Columns of a page that is no terminal, for lines of source.
const PAGE_WIDTH: usize = 120;
/// Narrower than this nothing can be laid out.
const MIN_WIDTH: usize = 40;
/// Steps of a path that are shown at most.
const MAX_STEPS: usize = 14;
/// What the second line of a sentence is moved in by.
const INDENT: &str = "    ";

#[derive(Clone, Debug)]
pub struct TextOptions {
    pub colour: bool,
    /// Columns of the terminal; None where the reader is none, so that programs find each sentence on one line.
    pub width: Option<usize>,
    /// Rows of the terminal: a finding that needs more of them shows fewer steps.
    pub rows: Option<usize>,
    /// Steps of a path shown before some are left out.
    pub max_steps: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { colour: false, width: None, rows: None, max_steps: MAX_STEPS }
    }
}

impl TextOptions {
    /// For a terminal: lines that fit, and as many steps as leave a finding on one screen.
    pub fn for_terminal(columns: usize, rows: usize) -> Self {
        Self { colour: false, width: Some(columns.max(MIN_WIDTH)), rows: Some(rows), max_steps: MAX_STEPS }
    }
}

/// One line a finding, which editors can jump to.
pub fn short(report: &Report) -> String {
    let mut text = String::new();
    for finding in report.counted() {
        let Finding { loss, .. } = finding;
        let line = format!("{loss}: {} [{}]; {}", finding.message(), finding.rules(), finding.certainty());
        let _ = writeln!(text, "{}", terminal::line(&line));
    }
    text
}

/// Every finding with its source and path.
pub fn render(report: &Report, sources: &Sources, options: &TextOptions) -> String {
    let renderer = if options.colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(options.width.unwrap_or(PAGE_WIDTH));
    let max_steps = options.max_steps.max(2);
    let picture = Picture { sources, renderer: &renderer, max_steps, width: options.width, rows: options.rows };
    let mut text = String::new();
    let findings: Vec<&Finding> = report.counted().collect();
    for group in findings.chunk_by(|a, b| a.loss.file == b.loss.file) {
        let _ = writeln!(text, "{}\n", terminal::line(&format!("{}: {}", group[0].loss.file, overview::counts(group))));
        for finding in group {
            text.push_str(&picture.draw(finding));
            text.push('\n');
        }
    }
    for line in total(report).lines() {
        text.push_str(&fitted(line, options.width));
    }
    text
}

/// A sentence in lines that fit, the second and further ones moved in.
fn fitted(line: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| line.chars().count() > *width) else { return format!("{line}\n") };
    let start: String = line.chars().take_while(|c| *c == ' ').collect();
    let lines = layout::wrap(line.trim_start(), width.saturating_sub(start.len() + INDENT.len()));
    lines.iter().enumerate().map(|(i, part)| format!("{start}{}{part}\n", if i == 0 { "" } else { INDENT })).collect()
}

fn total(report: &Report) -> String {
    let mut text = String::new();
    for line in overview::lines(report) {
        let _ = writeln!(text, "{}", terminal::line(&line));
    }
    for known in &report.fixed {
        let Known { file, function, variable, rule, .. } = known;
        let _ = writeln!(text, "{}", terminal::line(&format!("fixed: {file}: {variable} in {function} [{rule}]")));
    }
    for complaint in report.complaints.iter().chain(&report.warnings) {
        let _ = writeln!(text, "{}", terminal::line(&format!("{}: {}", complaint.place, complaint.text)));
    }
    for line in footer::lines(report).into_iter().chain(overview::blind_spots(report)) {
        let _ = writeln!(text, "{}", terminal::line(&line));
    }
    text
}
