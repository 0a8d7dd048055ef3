//! The blocks of expected summaries in the documents: comparing, and writing those of today into them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use caulk_summary::print;

use super::{Ran, Section, SummaryBlock, run};

/// The functions a block names, each with its lines of today.
fn summary_lines(section: &Section, block: &SummaryBlock, ran: &Ran) -> Vec<String> {
    let mut lines = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for line in section.text(&block.lines).iter().filter(|line| !is_comment(line)) {
        let function = function_of(line);
        if done.contains(&function) {
            continue;
        }
        done.push(function);
        let ids = ran.program.functions_named(function);
        let before = lines.len();
        for id in ids.into_iter().filter(|f| ran.program.has_body(*f)) {
            let summary = print::summary(&ran.program, id, ran.analysis.summary(id));
            lines.extend(summary.iter().map(|action| format!("{function}: {action}")));
        }
        if lines.len() == before {
            lines.push(format!("{function}: nothing"));
        }
    }
    lines
}

fn is_comment(line: &str) -> bool {
    line.starts_with('#')
}

fn function_of(line: &str) -> &str {
    line.split_once(": ").map_or(line, |(function, _)| function)
}

/// The new lines of a block with its old comments: each before the line it was before, or before the function of that.
fn with_comments(old: &[String], mut lines: Vec<String>) -> Vec<String> {
    for (index, comment) in old.iter().enumerate().filter(|(_, line)| is_comment(line)) {
        let next = old[index..].iter().find(|line| !is_comment(line));
        let at = next.and_then(|next| {
            let same = lines.iter().position(|line| line == next);
            same.or_else(|| lines.iter().position(|l| !is_comment(l) && function_of(l) == function_of(next)))
        });
        lines.insert(at.unwrap_or(lines.len()), comment.clone());
    }
    lines
}

pub(crate) fn compare_summary(section: &Section, block: &SummaryBlock, ran: &Ran) -> String {
    let expected: Vec<&String> = section.text(&block.lines).iter().filter(|line| !is_comment(line)).collect();
    let actual = summary_lines(section, block, ran);
    if expected.iter().copied().eq(&actual) {
        return String::new();
    }
    let mut text = format!("{}: the summaries are others (-: expected, +: today)\n", section.at(block.lines.start));
    let mut rest = actual.as_slice();
    for line in expected {
        match rest.iter().position(|l| l == line) {
            Some(at) => {
                rest[..at].iter().for_each(|l| writeln!(text, "  + {l}").expect("a string"));
                writeln!(text, "    {line}").expect("a string");
                rest = &rest[at + 1..];
            }
            None => writeln!(text, "  - {line}").expect("a string"),
        }
    }
    rest.iter().for_each(|l| writeln!(text, "  + {l}").expect("a string"));
    text
}

/// Writes the summaries of today into the documents. Candidates stay as they are: what is a leak is for people to say.
pub(crate) fn bless(sections: Vec<Section>) -> ExitCode {
    type Replacement = (std::ops::Range<usize>, Vec<String>);
    let mut documents: BTreeMap<PathBuf, Vec<Replacement>> = BTreeMap::new();
    for section in sections.iter().filter(|s| !s.summaries.is_empty()) {
        match run(section) {
            Ok(ran) => {
                let new = section.summaries.iter().map(|block| {
                    let lines = summary_lines(section, block, &ran);
                    (block.lines.clone(), with_comments(section.text(&block.lines), lines))
                });
                documents.entry(section.document.path.clone()).or_default().extend(new);
            }
            Err(failed) => {
                eprintln!("{}: {}", section.name, failed.message().unwrap_or("failed"));
                return ExitCode::FAILURE;
            }
        }
    }
    for (path, blocks) in documents {
        let Some(section) = sections.iter().find(|s| s.document.path == path) else { continue };
        let mut lines = section.document.lines.clone();
        for (range, new) in blocks.into_iter().rev() {
            lines.splice(range, new);
        }
        if lines != section.document.lines {
            eprintln!("{}", path.display());
            if let Err(e) = std::fs::write(&path, lines.join("\n") + "\n") {
                eprintln!("{}: {e}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
