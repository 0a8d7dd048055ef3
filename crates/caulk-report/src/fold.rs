//! Which steps of a long path are worth showing.

use crate::finding::{Step, StepKind};

/// The steps to keep, by index, at most `max` of them (and never fewer than what happens to the memory itself): what
/// happens to it, then the conditions nearest to the loss, then those nearest to the allocation before it.
pub(crate) fn kept(steps: &[Step], max: usize) -> Vec<usize> {
    if steps.len() <= max {
        return (0..steps.len()).collect();
    }
    let made = steps.iter().position(|s| s.kind == StepKind::Allocated).unwrap_or(0);
    let (mut kept, others): (Vec<usize>, Vec<usize>) = (0..steps.len()).partition(|i| is_essential(steps[*i].kind));
    let (before, after): (Vec<usize>, Vec<usize>) = others.into_iter().partition(|i| *i < made);
    let room = max.saturating_sub(kept.len());
    kept.extend(after.into_iter().rev().chain(before.into_iter().rev()).take(room));
    kept.sort_unstable();
    kept
}

/// Of a path that no engine executed as one, leaves out conditions that come out both true and false: which of the two a run would take is
/// not known.
pub(crate) fn drop_contradictions(steps: &mut Vec<Step>) {
    let condition = |step: &Step| {
        let (text, outcome) = step.text.rsplit_once("` is ")?;
        let whole = text.strip_prefix("`if (").and_then(|text| text.strip_suffix(')'));
        let text = whole.unwrap_or(text.trim_start_matches('`'));
        let outcome = match outcome {
            "taken" => "true",
            "not taken" => "false",
            other => other,
        };
        (step.kind == StepKind::Branch).then(|| (step.site.file.clone(), text.to_owned(), outcome.to_owned()))
    };
    let all: Vec<_> = steps.iter().filter_map(condition).collect();
    let is_both = |step: &Step| {
        let Some((file, text, outcome)) = condition(step) else { return false };
        all.iter().any(|(f, t, o)| (f, t) == (&file, &text) && *o != outcome)
    };
    let kept: Vec<bool> = steps.iter().map(|step| !is_both(step)).collect();
    let mut kept = kept.into_iter();
    steps.retain(|_| kept.next().unwrap_or(true));
}

fn is_essential(kind: StepKind) -> bool {
    match kind {
        StepKind::Allocated
        | StepKind::NotTaken
        | StepKind::Stored
        | StepKind::Overwritten
        | StepKind::FreedWithHolder
        | StepKind::OutOfScope
        | StepKind::Leaked => true,
        StepKind::Branch | StepKind::LoopEntered | StepKind::LoopLeft | StepKind::Case => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Site;

    #[test]
    fn a_condition_that_comes_out_both_ways_is_left_out() {
        let step = |line: u32, text: &str| Step {
            kind: StepKind::Branch,
            site: Site { line, ..Site::default() },
            text: text.to_owned(),
            detail: false,
        };
        let mut steps = vec![step(1, "`a` is true"), step(2, "`b` is null"), step(3, "`a` is false")];
        drop_contradictions(&mut steps);
        assert_eq!(steps, [step(2, "`b` is null")]);
        let mut steps = vec![step(1, "`a` is false"), step(2, "`if (a)` is taken"), step(3, "`if (b)` is not taken")];
        drop_contradictions(&mut steps);
        assert_eq!(steps, [step(3, "`if (b)` is not taken")]);
    }

    #[test]
    fn what_happens_to_the_memory_stays() {
        let step = |kind: StepKind| Step { kind, site: Site::default(), text: String::new(), detail: false };
        let mut steps = vec![step(StepKind::Branch); 20];
        steps[8] = step(StepKind::Allocated);
        steps.push(step(StepKind::Leaked));
        assert_eq!(kept(&steps, 5), [8, 17, 18, 19, 20]);
        assert_eq!(kept(&steps, 14), [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
        assert_eq!(kept(&steps, 1), [8, 20]);
        assert_eq!(kept(&steps, 21).len(), 21);
    }
}
