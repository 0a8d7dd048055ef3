//! `if`, `else if`, `else if`: the conditions of one ladder are one step, the one at which the path leaves it.

use crate::branches::is_refusal;
use crate::finding::{Step, StepKind};
use crate::source::Sources;
use crate::words::{self, Rung};

/// Conditions of a ladder that the path comes past are details. Where it takes none, the last says so.
pub(crate) fn fold(steps: &mut [Step], sources: &Sources) {
    let rungs: Vec<Option<Rung>> = steps.iter().map(|step| rung(step, sources)).collect();
    let branches: Vec<usize> = (0..steps.len()).filter(|i| is_branch(steps[*i].kind)).collect();
    let mut start = 0;
    while start < branches.len() {
        let mut end = start + 1;
        while end < branches.len() && goes_on(steps, &rungs, branches[end - 1], branches[end]) {
            end += 1;
        }
        one_step(steps, &rungs, &branches[start..end]);
        start = end;
    }
}

/// What ends a ladder too: a loop between two conditions.
fn is_branch(kind: StepKind) -> bool {
    matches!(kind, StepKind::Branch | StepKind::LoopEntered | StepKind::LoopLeft | StepKind::Case)
}

fn rung(step: &Step, sources: &Sources) -> Option<Rung> {
    let file = sources.get(&step.site.file).filter(|_| step.kind == StepKind::Branch)?;
    words::rung(&file, step.site.line, step.site.column)
}

/// Whether a branch belongs to the same condition as the one before it, or to the `else if` behind that.
fn goes_on(steps: &[Step], rungs: &[Option<Rung>], before: usize, next: usize) -> bool {
    let (Some(last), Some(rung)) = (rungs[before], rungs[next]) else { return false };
    let (a, b) = (&steps[before].site, &steps[next].site);
    let is_same = last.keyword == rung.keyword;
    let is_below = rung.is_else && last.keyword < rung.keyword && is_refusal(&steps[before].text);
    (&a.file, &a.function) == (&b.file, &b.function) && (is_same || is_below)
}

fn one_step(steps: &mut [Step], rungs: &[Option<Rung>], branches: &[usize]) {
    let Some(&last) = branches.last() else { return };
    let passed: Vec<usize> = branches.iter().copied().filter(|i| rungs[*i] != rungs[last]).collect();
    if passed.is_empty() {
        return;
    }
    let is_none = is_refusal(&steps[last].text);
    let is_shown = passed.iter().any(|i| !steps[*i].detail);
    passed.iter().for_each(|i| steps[*i].detail = true);
    if is_none && is_shown {
        steps[last].text.push_str(", nor any `if` before it");
        steps[last].detail = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Site;

    /// Which steps are shown, and the text of the last, for conditions at the marks and how they came out.
    fn folded(marked: &str, outcomes: &[&str]) -> (Vec<bool>, String) {
        let mut columns = Vec::new();
        let mut text = String::new();
        for c in marked.chars() {
            match c {
                '@' => columns.push(text.len() as u32 + 1),
                other => text.push(other),
            }
        }
        let sources = Sources::new(std::path::Path::new("/"), 1 << 20);
        sources.put("a.c", text.into_bytes());
        let step = |(column, outcome): (&u32, &&str)| Step {
            kind: StepKind::Branch,
            site: Site { file: "a.c".to_owned(), line: 1, column: *column, function: "f".to_owned() },
            text: format!("`x` {outcome}"),
            detail: false,
        };
        let mut steps: Vec<Step> = columns.iter().zip(outcomes).map(step).collect();
        fold(&mut steps, &sources);
        let last = steps.last().map(|step| step.text.clone()).unwrap_or_default();
        (steps.iter().map(|step| !step.detail).collect(), last)
    }

    #[test]
    fn a_ladder_is_one_step() {
        let ladder = "if (@a) x; else if (@b) y; else if (@c) z; else w;";
        let none = folded(ladder, &["is not taken", "is not taken", "is not taken"]);
        assert_eq!(none, (vec![false, false, true], "`x` is not taken, nor any `if` before it".to_owned()));
        let third = folded(ladder, &["is not taken", "is not taken", "is taken"]);
        assert_eq!(third, (vec![false, false, true], "`x` is taken".to_owned()));
    }

    #[test]
    fn conditions_of_their_own_stay() {
        let two = folded("if (@a) x; if (@b) y;", &["is not taken", "is taken"]);
        assert_eq!(two.0, [true, true]);
        let nested = folded("if (@a) x; else { if (@b) y; }", &["is not taken", "is taken"]);
        assert_eq!(nested.0, [true, true]);
        let parts = folded("if (a @&& @b) x; else if (@c) y;", &["is true", "is false", "is taken"]);
        assert_eq!(parts.0, [false, false, true]);
    }
}
