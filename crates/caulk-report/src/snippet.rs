//! One finding with its source around it, numbered step by step: drawn by `annotate-snippets`, which has rustc's look.

use std::collections::BTreeSet;
use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use crate::finding::{Confidence, Finding, Site, Step, StepKind};
use crate::fold;
use crate::layout::{self, columns};
use crate::source::{SourceFile, Sources};
use crate::terminal::{self, piece};

/// Bytes of a source line that are shown: generated lines may be very long.
const MAX_LINE: usize = 400;

/// Steps of a path that are shown however few rows there are.
const MIN_STEPS: usize = 3;
/// Columns for a label beside a mark.
const LABEL_ROOM: usize = 20;

pub(crate) struct Picture<'a> {
    pub sources: &'a Sources,
    pub renderer: &'a Renderer,
    /// Steps of a path shown before some are left out.
    pub max_steps: usize,
    /// Columns of the terminal. None: the reader is no terminal, and lines are as long as they are.
    pub width: Option<usize>,
    /// Rows of the terminal.
    pub rows: Option<usize>,
}

impl Picture<'_> {
    /// With as many steps as leave the finding on one screen.
    pub(crate) fn draw(&self, finding: &Finding) -> String {
        let mut max_steps = self.max_steps;
        loop {
            let shown = self.folded(&finding.steps, max_steps);
            let text = self.drawn(finding, &shown);
            let is_too_long = self.rows.is_some_and(|rows| text.lines().count() >= rows) && max_steps != usize::MAX;
            if !is_too_long || shown.len() < max_steps.min(MIN_STEPS + 1) || max_steps <= MIN_STEPS {
                return text;
            }
            max_steps = max_steps.min(shown.len()) - 1;
        }
    }

    fn drawn(&self, finding: &Finding, shown: &[(usize, &Step)]) -> String {
        let level = match finding.confidence {
            _ if finding.is_note() => Level::NOTE,
            Confidence::Low => Level::WARNING.with_name(name_of(finding)),
            Confidence::Medium | Confidence::High => Level::ERROR.with_name(name_of(finding)),
        };
        let Site { file, line, function, .. } = &finding.loss;
        let title = piece(&format!("{} (in {function}, {file}:{line})", finding.title()));
        let before = format!("{}[{}]: ", name_of(finding), finding.rules());
        let title = level.primary_title(self.wrapped(&title, before.len())).id(finding.rules());
        let quoted = self.quoted(finding, shown);
        // The numbers of lines and the bar beside them.
        let gutter = quoted.iter().map(Quoted::last_line).max().unwrap_or(1).to_string().len() + " | ".len();
        let room = self.width.map(|width| width.saturating_sub(gutter));
        let mut group = title.elements(quoted.iter().map(|file| file.snippet(room)));
        for (level, text) in self.notes(finding, shown) {
            let before = gutter + "note: ".len();
            group = group.element(level.message(self.wrapped(&text, before)));
        }
        self.render(group)
    }

    /// Text in lines that fit beside what stands before the first.
    fn wrapped(&self, text: &str, before: usize) -> String {
        match self.width {
            Some(width) => layout::wrap(text, width.saturating_sub(before)).join("\n"),
            None => text.to_owned(),
        }
    }

    fn render(&self, group: Group<'_>) -> String {
        let mut text = self.renderer.render(&[group]);
        text.push('\n');
        text
    }

    /// The steps to show, with their numbers.
    fn folded<'f>(&self, steps: &'f [Step], max_steps: usize) -> Vec<(usize, &'f Step)> {
        let is_shown = |i: &usize| max_steps == usize::MAX || !steps[*i].detail;
        let shown: Vec<Step> = (0..steps.len()).filter(is_shown).map(|i| steps[i].clone()).collect();
        let at: Vec<usize> = (0..steps.len()).filter(is_shown).collect();
        let kept = fold::kept(&shown, max_steps);
        kept.into_iter().enumerate().map(|(number, i)| (number + 1, &steps[at[i]])).collect()
    }

    /// Files with the steps that can be pointed at in them. The file of the loss comes first, as the heading names it.
    fn quoted(&self, finding: &Finding, shown: &[(usize, &Step)]) -> Vec<Quoted> {
        let mut files: Vec<Quoted> = Vec::new();
        for (number, step) in shown.iter().rev() {
            let Some(span) = self.line(&step.site) else { continue };
            let at = files.iter().position(|f| f.path == step.site.file).unwrap_or_else(|| {
                files.push(Quoted { path: step.site.file.clone(), marks: Vec::new(), text: Vec::new(), first: 0 });
                files.len() - 1
            });
            let marks = &mut files[at].marks;
            let is_same =
                |m: &&mut Mark| m.line == step.site.line && m.span == span && m.text == text_of(finding, step);
            match marks.iter_mut().find(is_same) {
                // Another iteration of a loop.
                Some(mark) => mark.numbers.insert(0, *number),
                None => marks.push(Mark {
                    line: step.site.line,
                    span,
                    numbers: vec![*number],
                    text: text_of(finding, step).to_owned(),
                    is_end: false,
                }),
            }
        }
        if let Some(end) = files.first_mut().and_then(|file| file.marks.first_mut()) {
            end.is_end = true;
        }
        for file in &mut files {
            file.marks.sort_by_key(|m| m.numbers[0]);
            let lines = file.marks.iter().map(|m| m.line);
            let (first, last) = (lines.clone().min().unwrap_or(1), lines.max().unwrap_or(1));
            let source = self.sources.get(&file.path);
            file.first = first;
            let gutter = last.to_string().len() + " | ".len();
            let shown = |n: u32| {
                let line = source.as_ref().map_or_else(String::new, |s| shown_line(s, n));
                let marked = file
                    .marks
                    .iter()
                    .filter(|m| m.line == n)
                    .map(|m| after_first(&line, m.span.start))
                    .max()
                    .unwrap_or(0);
                self.cut(line, marked, gutter)
            };
            file.text = (first..=last).map(shown).collect();
            self.bring_near(file, gutter);
        }
        files
    }

    /// Marks too far to the right to be shown with others to their left point at the dots that stand for the rest of the line.
    fn bring_near(&self, file: &mut Quoted, gutter: usize) {
        let Some(room) = self.width.map(|width| width.saturating_sub(gutter + LABEL_ROOM)) else { return };
        let start = |mark: &Mark| {
            let line = &file.text[(mark.line - file.first) as usize];
            columns(&line[..boundary(line, mark.span.start)])
        };
        let starts: Vec<usize> = file.marks.iter().map(start).collect();
        let least = starts.iter().min().copied().unwrap_or(0);
        let far = file.marks.iter().zip(starts).filter(|(_, start)| start - least > room);
        let lines: BTreeSet<u32> = far.map(|(mark, _)| mark.line).collect();
        for number in lines {
            let line = &mut file.text[(number - file.first) as usize];
            line.truncate(layout::prefix(line, room.saturating_sub(layout::ELLIPSIS.len())));
            let dots = line.len()..line.len() + layout::ELLIPSIS.len();
            line.push_str(layout::ELLIPSIS);
            let is_beyond = |mark: &&mut Mark| mark.line == number && mark.span.end > dots.start;
            file.marks.iter_mut().filter(is_beyond).for_each(|mark| mark.span = dots.clone());
        }
    }

    /// A line of source without what no reader of a narrow terminal needs: its end, after all that is marked in it.
    fn cut(&self, mut line: String, marked: usize, gutter: usize) -> String {
        let Some(width) = self.width else { return line };
        let end = layout::prefix(&line, width.saturating_sub(gutter));
        if end < line.len() {
            let end = layout::prefix(&line, width.saturating_sub(gutter + layout::ELLIPSIS.len()));
            line.truncate(end.max(marked));
            line.push_str(layout::ELLIPSIS);
        }
        line
    }

    /// What to underline in the line of a place; None if it cannot be shown.
    fn line(&self, site: &Site) -> Option<Range<usize>> {
        let source = self.sources.get(&site.file)?;
        let line = source.line(site.line)?;
        let column = (site.column as usize).saturating_sub(1);
        if column >= line.len().min(MAX_LINE) {
            return None;
        }
        let word = crate::tokens::tokens(&line[column..line.len().min(MAX_LINE)]);
        let length = word.first().filter(|t| t.start == 0).map_or(1, |t| t.end);
        let before = shown(&line[..column]).len();
        let under = shown(&line[column..column + length]).len();
        Some(before..before + under)
    }

    fn notes(&self, finding: &Finding, shown: &[(usize, &Step)]) -> Vec<(Level<'static>, String)> {
        let mut notes = Vec::new();
        for (number, step) in shown.iter().filter(|(_, step)| self.line(&step.site).is_none()) {
            let text = format!("{number}. {}, at {}", text_of(finding, step), step.site);
            notes.push((Level::NOTE, text));
        }
        if shown.len() < finding.steps.len() {
            let count = finding.steps.len() - shown.len();
            let steps = if count == 1 { "1 step is".to_owned() } else { format!("{count} steps are") };
            notes.push((Level::NOTE, format!("{steps} left out; --full-path shows all")));
        }
        if !finding.chain.is_empty() {
            notes.push((Level::NOTE, chain(finding)));
        }
        if let Some(also) = finding.also() {
            notes.push((Level::NOTE, format!("{also}; --report-level 0 shows the path to each")));
        }
        if let Some(related) = finding.related() {
            notes.push((Level::NOTE, format!("{related}; --report-level 0 shows each")));
        }
        notes.push((Level::NOTE, finding.certainty()));
        if let Some(advice) = &finding.advice {
            notes.push((Level::HELP, advice.clone()));
        }
        if finding.needs_alloc_failure {
            notes.push((Level::NOTE, "this needs another allocation to fail".to_owned()));
        }
        notes.into_iter().map(|(level, text)| (level, piece(&text))).collect()
    }
}

struct Mark {
    line: u32,
    /// Bytes in the shown line.
    span: Range<usize>,
    /// The steps that are alike here.
    numbers: Vec<usize>,
    text: String,
    is_end: bool,
}

struct Quoted {
    path: String,
    marks: Vec<Mark>,
    /// Lines from the first that is marked to the last.
    text: Vec<String>,
    first: u32,
}

impl Quoted {
    fn last_line(&self) -> u32 {
        self.first + self.text.len().saturating_sub(1) as u32
    }

    /// `room`: columns beside the numbers of lines.
    fn snippet(&self, room: Option<usize>) -> Snippet<'_, Annotation<'_>> {
        let mut starts = vec![0];
        for line in &self.text {
            starts.push(starts.last().copied().unwrap_or(0) + line.len() + 1);
        }
        let annotations = self.marks.iter().map(|mark| {
            let at = (mark.line - self.first) as usize;
            let start = starts[at];
            let (span, label) = mark.fitted(&self.text[at], room);
            let kind = if mark.is_end { AnnotationKind::Primary } else { AnnotationKind::Context };
            kind.span(start + span.start..start + span.end).label(label)
        });
        Snippet::source(self.text.join("\n"))
            .line_start(self.first as usize)
            .path(piece(&self.path))
            .annotations(annotations)
    }
}

impl Mark {
    /// What to underline in the line as it is shown, and the label beside it. Where both do not fit, less is underlined.
    fn fitted(&self, line: &str, room: Option<usize>) -> (Range<usize>, String) {
        let start = boundary(line, self.span.start);
        let least = after_first(line, start);
        let end = boundary(line, self.span.end).max(least);
        let Some(room) = room else { return (start..end, self.label()) };
        let before = columns(&line[..start]) + " ".len();
        let beside = |end: usize| room.saturating_sub(before + columns(&line[start..end]));
        let label = layout::shorten(&self.label(), beside(end));
        if columns(&label) <= beside(end) {
            return (start..end, label);
        }
        let label = layout::shorten(&self.label(), beside(least));
        let underlined = layout::prefix(&line[start..end], room.saturating_sub(before + columns(&label)));
        (start..(start + underlined).max(least), label)
    }

    /// `2, 9. the loop goes on`.
    fn label(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(usize::to_string).collect();
        piece(&format!("{}. {}", numbers.join(", "), self.text))
    }
}

/// The beginning of the character at a place of a line: what is not UTF-8 in a source may put a mark inside of one.
fn boundary(line: &str, at: usize) -> usize {
    (0..=at.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0)
}

/// Where the character at a place of a line ends.
fn after_first(line: &str, at: usize) -> usize {
    let start = boundary(line, at);
    start + line[start..].chars().next().map_or(0, char::len_utf8)
}

/// How the title begins.
fn name_of(finding: &Finding) -> &'static str {
    match finding.confidence {
        _ if finding.is_note() => "note",
        Confidence::Low => "possible leak",
        Confidence::Medium | Confidence::High => "leak",
    }
}

/// The title says why it is leaked, or that it is no leak.
fn text_of<'s>(finding: &Finding, step: &'s Step) -> &'s str {
    match step.kind {
        StepKind::Leaked if finding.is_note() => "still held here",
        StepKind::Leaked => "leaked here",
        _ => &step.text,
    }
}

/// `next_word() allocates through xstrndup() (config.c:78) > malloc() (util.c:9)`.
fn chain(finding: &Finding) -> String {
    let calls = finding.chain.iter().map(|c| format!("{} ({}:{})", c.callee, c.site.file, c.site.line));
    let calls: Vec<String> = calls.collect();
    format!("{} allocates through {}", finding.allocation.callee, calls.join(" > "))
}

fn shown_line(source: &SourceFile, number: u32) -> String {
    let line = source.line(number).unwrap_or_default();
    shown(&line[..line.len().min(MAX_LINE)])
}

fn shown(source: &[u8]) -> String {
    terminal::source(&String::from_utf8_lossy(source))
}
