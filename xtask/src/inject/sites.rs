//! Which release to delete: one of each function that has any, chosen by a seed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use regex::Regex;
use serde::Deserialize;

use super::source::{Function, blanked, call_line, declares, functions, operand};

/// What is released: a variable of the function, part of a structure, or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Kind {
    Local,
    Field,
    Param,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Local => "local",
            Kind::Field => "field",
            Kind::Param => "param",
        }
    }
}

/// A release that can be deleted.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub file: PathBuf,
    pub function: Function,
    /// Counts from 1.
    pub line: usize,
    pub kind: Kind,
    /// What is released, for the list.
    pub what: String,
}

/// Which functions release what: the number of the argument. 0 where only a name is known.
#[derive(Debug)]
pub(crate) struct Releases {
    arguments: BTreeMap<String, usize>,
    also: Option<Regex>,
}

/// A function of `caulk summaries --format json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    name: String,
    kinds: Vec<String>,
    /// None: the compiler made it.
    file: Option<PathBuf>,
    line: usize,
    parameter_objects: Vec<ParameterObject>,
}

#[derive(Debug, Deserialize)]
struct ParameterObject {
    path: String,
    action: String,
    conditional: bool,
}

impl Releases {
    /// Those that Caulk itself finds in the program, what the language has, and names that match `also`. A function counts that
    /// frees an argument, or what the argument leads to, whatever happens, and keeps nothing it is given.
    pub(crate) fn new(summaries: &str, also: Option<Regex>) -> Result<Self> {
        let summaries: Vec<Summary> = serde_json::from_str(summaries).context("`caulk summaries` has another form")?;
        let mut arguments = BTreeMap::from([("free".to_owned(), 0), ("delete".to_owned(), 0)]);
        let mut texts: BTreeMap<PathBuf, Vec<Function>> = BTreeMap::new();
        for summary in summaries {
            let releases = summary.kinds.iter().any(|kind| kind == "deallocator");
            let keeps = summary.parameter_objects.iter().any(|object| object.action != "freed");
            let freed = summary.parameter_objects.iter().find(|o| o.action == "freed" && !o.conditional);
            let (true, false, Some(freed), Some(file)) = (releases, keeps, freed, &summary.file) else { continue };
            let known = texts.entry(file.clone()).or_insert_with(|| {
                let bytes = std::fs::read(file).unwrap_or_default();
                functions(&blanked(&String::from_utf8_lossy(&bytes)))
            });
            let is_defined_there = |f: &&Function| f.name == summary.name && (f.first..=f.last).contains(&summary.line);
            let index = known.iter().find(is_defined_there).and_then(|f| root_index(&freed.path, &f.parameters));
            if let Some(index) = index {
                arguments.insert(summary.name, index);
            }
        }
        Ok(Self { arguments, also })
    }

    /// The number of the argument that a function releases.
    fn argument(&self, callee: &str) -> Option<usize> {
        let is_also = || self.also.as_ref().is_some_and(|regex| regex.is_match(callee)).then_some(0);
        self.arguments.get(callee).copied().or_else(is_also)
    }

    pub(crate) fn count(&self) -> usize {
        self.arguments.len()
    }
}

/// Which parameter a path such as `*list->head` starts at.
fn root_index(path: &str, parameters: &[String]) -> Option<usize> {
    let path = path.trim_start_matches(['*', '(', '&']);
    let end = path.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(path.len());
    parameters.iter().position(|name| *name == path[..end])
}

/// All releases of a file, by function.
pub(crate) fn sites(file: &Path, text: &str, releases: &Releases) -> Vec<Vec<Site>> {
    let blank = blanked(text);
    let lines: Vec<&str> = blank.lines().collect();
    let originals: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    // Findings in generated code are shown in what it was made from.
    if originals.iter().any(|line| line.starts_with("#line ")) {
        return found;
    }
    for function in functions(&blank) {
        // What a program still holds when it ends is no leak to speak of.
        if function.name == "main" || function.last > lines.len() {
            continue;
        }
        let body = lines[function.first - 1..function.last].join("\n");
        let in_function = (function.first..function.last).filter_map(|line| {
            if originals.get(line - 1).is_some_and(|original| original.contains('\\')) {
                return None;
            }
            let call = call_line(lines[line - 1])?;
            let argument = call.arguments.get(releases.argument(call.callee)?)?;
            let (root, rest) = operand(argument)?;
            let kind = match rest.is_empty() {
                false => Kind::Field,
                true if function.parameters.iter().any(|p| p == root) => Kind::Param,
                true if declares(&body, root) => Kind::Local,
                true => return None,
            };
            let what = format!("{root}{rest}");
            Some(Site { file: file.to_owned(), function: function.clone(), line, kind, what })
        });
        let in_function: Vec<Site> = in_function.collect();
        if !in_function.is_empty() {
            found.push(in_function);
        }
    }
    found
}

/// SplitMix64: the same choice on every machine.
#[derive(Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }

    /// One release of each of `count` functions, at most.
    pub(crate) fn choose(&mut self, mut by_function: Vec<Vec<Site>>, count: usize, kinds: &[Kind]) -> Vec<Site> {
        for sites in &mut by_function {
            sites.retain(|site| kinds.is_empty() || kinds.contains(&site.kind));
        }
        by_function.retain(|sites| !sites.is_empty());
        for end in (1..by_function.len()).rev() {
            by_function.swap(end, self.below(end + 1));
        }
        by_function.truncate(count);
        let mut chosen: Vec<Site> =
            by_function.into_iter().map(|mut sites| sites.swap_remove(self.below(sites.len()))).collect();
        chosen.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
void drop(int how, struct s *s) {
    free(s->name);
    free(s);
}
int use(char *given) {
    char *own = make();
    struct s s;
    drop(1, &s);
    free(own);
    free(given);
    xfree(own);
    free(elsewhere);
    return 0;
}
int main(void) {
    char *p = make();
    free(p);
}
";

    fn releases(also: Option<&str>) -> Releases {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let file = folder.path().join("a.c");
        std::fs::write(&file, TEXT).expect("the folder is new");
        let object =
            |path: &str, action: &str| serde_json::json!({ "path": path, "action": action, "conditional": false });
        let summary = |name: &str, objects: &[serde_json::Value]| serde_json::json!({ "name": name, "file": file, "line": 1, "kinds": ["deallocator"], "parameterObjects": objects });
        let summaries = serde_json::json!([
            summary("drop", &[object("s->name", "freed"), object("s", "freed")]),
            summary("put", &[object("s", "freed"), object("t", "kept")]),
        ]);
        let also = also.map(|regex| Regex::new(regex).expect("a regex"));
        Releases::new(&summaries.to_string(), also).expect("the form of `caulk summaries`")
    }

    fn found(also: Option<&str>) -> Vec<(usize, Kind, String)> {
        let sites = sites(Path::new("a.c"), TEXT, &releases(also)).into_iter().flatten();
        sites.map(|site| (site.line, site.kind, site.what)).collect()
    }

    #[test]
    fn releases_are_found_by_what_caulk_says_of_their_functions() {
        let expected: Vec<(usize, Kind, String)> = vec![
            (2, Kind::Field, "s->name".to_owned()),
            (3, Kind::Param, "s".to_owned()),
            (8, Kind::Local, "s".to_owned()),
            (9, Kind::Local, "own".to_owned()),
            (10, Kind::Param, "given".to_owned()),
        ];
        assert_eq!(found(None), expected);
        let also: Vec<usize> = found(Some("^xfree$")).into_iter().map(|site| site.0).collect();
        assert_eq!(also, [2, 3, 8, 9, 10, 11]);
        assert_eq!(releases(None).count(), 3);
    }

    #[test]
    fn one_release_of_each_function_is_chosen_by_the_seed() {
        let by_function = || sites(Path::new("a.c"), TEXT, &releases(None));
        let chosen = |seed, count, kinds: &[Kind]| -> Vec<usize> {
            Random(seed).choose(by_function(), count, kinds).iter().map(|site| site.line).collect()
        };
        assert_eq!(chosen(1, 10, &[]).len(), 2);
        assert_eq!(chosen(7, 1, &[]).len(), 1);
        assert_eq!(chosen(3, 10, &[]), chosen(3, 10, &[]));
        assert_eq!(chosen(1, 10, &[Kind::Field]), [2]);
        let all: std::collections::BTreeSet<Vec<usize>> = (0..40).map(|seed| chosen(seed, 10, &[])).collect();
        assert_eq!(all.len(), 6, "{all:?}");
    }
}
