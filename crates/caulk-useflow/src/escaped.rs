//! Which unknown functions objects escaped to: those a user should write models for.

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::InstId;
use caulk_models::Models;
use caulk_program::{FuncId, Program};
use rustc_hash::FxHashSet;

use crate::schedule::Analysis;

/// How many objects escaped, and to which functions, most first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Escaped {
    pub objects: usize,
    /// A function, or where a pointer is called that leads nowhere, and how many objects it took.
    pub by: Vec<(String, usize)>,
}

pub fn escaped(program: &Program, models: &Models, analysis: &Analysis) -> Escaped {
    let mut result = Escaped::default();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (function, report) in analysis.reports.iter() {
        for call in &report.escaped {
            let mut search = Search { program, models, analysis, found: BTreeSet::new(), seen: FxHashSet::default() };
            search.follow(function, *call);
            result.objects += usize::from(!search.found.is_empty());
            search.found.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
        }
    }
    result.by = counts.into_iter().collect();
    result.by.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    result
}

/// From a call by which something escaped down to the functions without a body that it ends up in.
struct Search<'a> {
    program: &'a Program,
    models: &'a Models,
    analysis: &'a Analysis,
    found: BTreeSet<String>,
    seen: FxHashSet<(FuncId, InstId)>,
}

impl Search<'_> {
    fn follow(&mut self, function: FuncId, call: InstId) {
        let mut work = vec![(function, call)];
        while let Some((function, call)) = work.pop() {
            if !self.seen.insert((function, call)) {
                continue;
            }
            let Some(site) = self.program.call_site(function, call) else { continue };
            let targets = self.program.targets(site);
            if targets.is_empty() {
                self.found.insert(format!("a function pointer in {}", self.program.function(function).name));
            }
            for &target in targets {
                if self.program.has_body(target) {
                    let passed_on = &self.analysis.reports[target].given_away;
                    work.extend(passed_on.iter().map(|inst| (target, *inst)));
                } else if self.models.get(self.program.function(target).symbol).is_none() {
                    self.found.insert(self.program.function(target).name.to_owned());
                }
            }
        }
    }
}
