//! Which lines of a file are meant to leak. The suite never shares a source or sink between flows but copies them, so a
//! function, class or file belongs to the flow its name speaks of.

use std::path::Path;

use anyhow::{Context, Result};

use super::regions::{Region, blank, is_word, regions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Leaks.
    Bad,
    /// Does not.
    Good,
}

#[derive(Debug)]
pub(crate) struct FileTruth {
    regions: Vec<(Region, Option<Flow>)>,
    whole: Option<Flow>,
    /// Lines that allocate what the flow is about.
    allocations: Vec<u32>,
}

impl FileTruth {
    pub(crate) fn read(path: &Path, suffix: &str) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let source = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        Self::new(&source, suffix).with_context(|| format!("the braces of {} do not match", path.display()))
    }

    fn new(source: &str, suffix: &str) -> Option<Self> {
        let blanked = blank(source);
        let whole = flow_of(suffix);
        let labelled = regions(&blanked)?.into_iter().map(|region| {
            let flow = flow_of(&region.name).or(whole.filter(|_| !is_shared(&region.name)));
            (region, flow)
        });
        let allocations = blanked.lines().zip(1..).filter(|(line, _)| allocates(line)).map(|(_, number)| number);
        Some(Self { regions: labelled.collect(), whole, allocations: allocations.collect() })
    }

    /// The flow a line belongs to: the innermost labelled function or class, else the file.
    pub(crate) fn flow_at(&self, line: u32) -> Option<Flow> {
        let around = self.regions.iter().filter(|(r, _)| r.first <= line && line <= r.last);
        match around.max_by_key(|(r, _)| r.first) {
            Some((_, Some(flow))) => Some(*flow),
            Some((region, None)) if region.is_function => None,
            _ => self.whole,
        }
    }

    pub(crate) fn allocates_in(&self, flow: Flow, line: u32) -> bool {
        self.allocations.contains(&line) && self.flow_at(line) == Some(flow)
    }
}

fn flow_of(name: &str) -> Option<Flow> {
    let name = name.to_lowercase();
    if name.contains("bad") { Some(Flow::Bad) } else { name.contains("good").then_some(Flow::Good) }
}

/// Functions that belong to no flow, also in the file of one.
fn is_shared(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    ["main", "staticReturnsTrue", "staticReturnsFalse"].contains(&last)
}

/// Whether a line allocates. The objects that some variants make only to call their methods are freed by the test itself.
fn allocates(line: &str) -> bool {
    const CALLS: [&str; 7] = ["malloc", "calloc", "realloc", "strdup", "wcsdup", "_strdup", "_wcsdup"];
    let mut words = line.split(|c: char| !is_word(c)).filter(|w| !w.is_empty());
    let calls = CALLS.iter().any(|call| {
        line.match_indices(call).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(is_word) && line[at + call.len()..].trim_start().starts_with('(')
        })
    });
    let made = words.find(|w| *w == "new").map(|_| words.next().unwrap_or_default());
    let is_helper = made.is_some_and(|class| ["CWE401_", "Bad", "Good"].iter().any(|p| class.starts_with(p)));
    (calls || made.is_some()) && !is_helper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_belong_to_the_flow_their_function_is_named_after() {
        let source = "static int staticReturnsTrue() { return 1; }\nvoid x_bad() {\n p = malloc(8);\n}\nvoid goodG2B() {\n p = 0;\n}\nint main() {\n}\n";
        let truth = FileTruth::new(source, "").expect("braces match");
        let flows: Vec<Option<Flow>> = (1..=9).map(|line| truth.flow_at(line)).collect();
        let (bad, good) = (Some(Flow::Bad), Some(Flow::Good));
        assert_eq!(flows, [None, bad, bad, bad, good, good, good, None, None]);
        assert!(truth.allocates_in(Flow::Bad, 3) && !truth.allocates_in(Flow::Good, 3));
    }

    #[test]
    fn a_whole_file_may_belong_to_one() {
        let truth = FileTruth::new("void A::action() {\n free(p);\n}\n", "goodB2G").expect("braces match");
        assert_eq!((truth.flow_at(2), truth.flow_at(4)), (Some(Flow::Good), Some(Flow::Good)));
    }

    #[test]
    fn allocating_lines() {
        assert!(allocates("data = new int[4];") && allocates("p = (char *)malloc (8);"));
        assert!(!allocates("b = new CWE401_x_bad;") && !allocates("my_malloc(8)") && !allocates("renew(p)"));
    }
}
