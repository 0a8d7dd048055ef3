//! The tables that `juliet` prints.

use std::collections::BTreeMap;

use super::score::{Score, Tally};
use super::suite::Case;

pub fn print(cases: &[Case], scores: &[Score], all_variants: bool, list: bool) {
    let pairs = || cases.iter().zip(scores.iter().copied());
    let some = |keep: &dyn Fn(&Case) -> bool| Tally::of(pairs().filter(|(c, _)| keep(c)).map(|(_, s)| s));
    println!("| test cases | units | TP | FP | TN | FN | F1 | exact | TP, no FP |");
    println!("|---|---|---|---|---|---|---|---|---|");
    row("all", some(&|_| true));
    row("without wchar_t", some(&|c| !c.is_wide));
    row("C", some(&|c| !c.is_cxx));
    row("C++", some(&|c| c.is_cxx));
    let mut variants: BTreeMap<&str, Vec<Score>> = BTreeMap::new();
    for (case, score) in pairs() {
        variants.entry(&case.variant).or_default().push(score);
    }
    let tallies = variants.into_iter().map(|(variant, scores)| (variant, Tally::of(scores.into_iter())));
    for (variant, tally) in tallies.filter(|(_, tally)| all_variants || !tally.is_perfect()) {
        row(&format!("variant {variant}"), tally);
    }
    if list {
        names("missed", pairs().filter(|(_, s)| !s.found).map(|(c, _)| c));
        names("false", pairs().filter(|(_, s)| s.is_false).map(|(c, _)| c));
    }
}

fn row(name: &str, t: Tally) {
    println!(
        "| {name} | {} | {} | {} | {} | {} | {:.3} | {} | {} |",
        t.units,
        t.true_positives,
        t.false_positives,
        t.units - t.false_positives,
        t.units - t.true_positives,
        t.f1(),
        t.exact,
        t.clean
    );
}

fn names<'a>(what: &str, cases: impl Iterator<Item = &'a Case>) {
    cases.for_each(|case| println!("{what}: {}", case.name));
}
