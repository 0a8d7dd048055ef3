//! The figures that `juliet` prints and keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::score::{Score, Tally};
use super::suite::Case;
use crate::bench::report::{Form, Header, Table};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub header: Header,
    /// All test cases, and parts of them.
    pub groups: Vec<Group>,
    /// By flow variant.
    pub variants: Vec<Group>,
    /// Test cases on which Caulk failed; they count as missed.
    pub failed: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Group {
    pub name: String,
    #[serde(flatten)]
    pub tally: Tally,
}

impl Report {
    pub(crate) fn of(header: Header, cases: &[Case], scores: &[Score], failed: usize) -> Self {
        let pairs = || cases.iter().zip(scores.iter().copied());
        let group = |name: &str, keep: &dyn Fn(&Case) -> bool| Group {
            name: name.to_owned(),
            tally: Tally::of(pairs().filter(|(c, _)| keep(c)).map(|(_, s)| s)),
        };
        let groups = vec![
            group("all", &|_| true),
            group("without wchar_t", &|c| !c.is_wide),
            group("C", &|c| !c.is_cxx),
            group("C++", &|c| c.is_cxx),
        ];
        let mut variants: BTreeMap<&str, Vec<Score>> = BTreeMap::new();
        for (case, score) in pairs() {
            variants.entry(&case.variant).or_default().push(score);
        }
        let by_variant = |(variant, scores): (&str, Vec<Score>)| Group {
            name: format!("variant {variant}"),
            tally: Tally::of(scores.into_iter()),
        };
        Self { header, groups, variants: variants.into_iter().map(by_variant).collect(), failed }
    }

    /// With all variants, or only those that are not perfect.
    pub(crate) fn table(&self, all_variants: bool) -> Table {
        let mut table = Table::new(&["test cases", "units", "TP", "FP", "TN", "FN", "F1", "exact", "TP, no FP"]);
        let shown = self.variants.iter().filter(|group| all_variants || !group.tally.is_perfect());
        for Group { name, tally } in self.groups.iter().chain(shown) {
            let counts = [
                tally.units,
                tally.true_positives,
                tally.false_positives,
                tally.units - tally.false_positives,
                tally.units - tally.true_positives,
            ];
            let mut row = vec![name.clone()];
            row.extend(counts.map(|count| count.to_string()));
            row.extend([format!("{:.3}", tally.f1()), tally.exact.to_string(), tally.clean.to_string()]);
            table.push(row);
        }
        table
    }

    pub(crate) fn print(&self, all_variants: bool) -> String {
        self.table(all_variants).print(Form::Markdown)
    }
}

/// The names of test cases that are missed, and of those with false findings.
pub(crate) fn list(cases: &[Case], scores: &[Score]) {
    let names = |what: &str, keep: fn(&Score) -> bool| {
        let chosen = cases.iter().zip(scores).filter(|(_, score)| keep(score));
        chosen.for_each(|(case, _)| println!("{what}: {}", case.name));
    };
    names("missed", |score| !score.found);
    names("false", |score| score.is_false);
}
