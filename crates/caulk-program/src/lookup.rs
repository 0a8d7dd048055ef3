//! Finds functions by what users write: a name, or a place in the source.

use rayon::prelude::*;

use crate::ids::FuncId;
use crate::program::Program;

/// Functions in the orders needed for searching; the strings stay in the units.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    by_symbol: Vec<FuncId>,
    by_name: Vec<FuncId>,
    /// Functions with a body and a place, by file and line.
    by_place: Vec<FuncId>,
}

impl Lookup {
    pub(crate) fn new(program: &Program) -> Self {
        let all: Vec<FuncId> = program.functions().collect();
        let mut by_symbol = all.clone();
        by_symbol.par_sort_by_key(|&f| (program.function(f).symbol, f));
        let mut by_name = all.clone();
        by_name.par_sort_by_key(|&f| (program.function(f).name, f));
        let mut by_place: Vec<FuncId> =
            all.into_iter().filter(|&f| program.has_body(f) && program.function(f).file.is_some()).collect();
        by_place.par_sort_by_key(|&f| {
            let info = program.function(f);
            (info.file, info.line, f)
        });
        Self { by_symbol, by_name, by_place }
    }

    pub(crate) fn named(&self, program: &Program, name: &str) -> Vec<FuncId> {
        let mut found: Vec<FuncId> = run(&self.by_symbol, |f| program.function(f).symbol, name).to_vec();
        found.extend_from_slice(run(&self.by_name, |f| program.function(f).name, name));
        found.sort_unstable();
        found.dedup();
        found
    }

    pub(crate) fn at(&self, program: &Program, file: &str, line: u32) -> Vec<FuncId> {
        let covers = |f: FuncId| {
            let info = program.function(f);
            info.line <= line && line <= info.last_line.max(info.line)
        };
        let mut found = Vec::new();
        let mut rest = self.by_place.as_slice();
        while let Some(&first) = rest.first() {
            let path = program.function(first).file;
            let (here, others) = rest.split_at(rest.partition_point(|&f| program.function(f).file == path));
            rest = others;
            if path.is_some_and(|p| is_path_end(p, file)) {
                found.extend(here.iter().copied().filter(|&f| covers(f)));
            }
        }
        found.sort_by_key(|&f| (std::cmp::Reverse(program.function(f).line), f));
        found
    }
}

/// The entries with that key, in a list sorted by it.
fn run<'a>(list: &'a [FuncId], key: impl Fn(FuncId) -> &'a str, wanted: &str) -> &'a [FuncId] {
    let start = list.partition_point(|&f| key(f) < wanted);
    let rest = &list[start..];
    &rest[..rest.partition_point(|&f| key(f) == wanted)]
}

/// Whether a path ends in the components given.
fn is_path_end(path: &str, end: &str) -> bool {
    let end = end.strip_prefix("./").unwrap_or(end);
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/') || end.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::is_path_end;

    #[test]
    fn paths_match_by_whole_components() {
        assert!(is_path_end("/p/src/x.c", "x.c"));
        assert!(is_path_end("/p/src/x.c", "./src/x.c"));
        assert!(is_path_end("/p/src/x.c", "/p/src/x.c"));
        assert!(!is_path_end("/p/src/xx.c", "x.c"));
    }
}
