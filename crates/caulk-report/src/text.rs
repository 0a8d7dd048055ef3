//! The report for a terminal: findings grouped by file, then what was counted and what was hidden.

use std::fmt::Write as _;

use annotate_snippets::Renderer;

use crate::baseline::Known;
use crate::finding::Finding;
use crate::footer;
use crate::overview;
use crate::report::Report;
use crate::snippet::Picture;
use crate::source::Sources;
use crate::terminal;

#[derive(Clone, Debug)]
pub struct TextOptions {
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Steps of a path shown before some are left out.
    pub max_steps: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { colour: false, width: 120, max_steps: 14 }
    }
}

/// One line a finding, which editors can jump to.
pub fn short(report: &Report) -> String {
    let mut text = String::new();
    for finding in report.counted() {
        let Finding { loss, .. } = finding;
        let line = format!("{loss}: {} [{}]; {}", finding.message(), finding.rules(), finding.certainty_in_short());
        let _ = writeln!(text, "{}", terminal::line(&line));
    }
    text
}

/// Every finding with its source and path.
pub fn render(report: &Report, sources: &Sources, options: &TextOptions) -> String {
    let renderer = if options.colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(options.width);
    let picture = Picture { sources, renderer: &renderer, max_steps: options.max_steps.max(2) };
    let mut text = String::new();
    let findings: Vec<&Finding> = report.counted().collect();
    for group in findings.chunk_by(|a, b| a.loss.file == b.loss.file) {
        let _ = writeln!(text, "{}\n", terminal::line(&format!("{}: {}", group[0].loss.file, overview::counts(group))));
        for finding in group {
            text.push_str(&picture.draw(finding));
            text.push('\n');
        }
    }
    text.push_str(&total(report));
    text
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
