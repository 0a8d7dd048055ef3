//! `rules`: what each rule of the engines is worth. Every project is checked with all rules, and once without each rule that
//! did something there; what is found then and was not before, and the other way round, is that rule's doing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use caulk_capture::find_database;
use clap::Args;

use crate::bench::report::{Form, Table};
use crate::bench::{build, repository};
use crate::{realleaks, sarif};

/// Measure each rule of the engines: findings and known leaks gained and lost without it. Writes bench/RULES.md,
/// after each project.
#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// A folder with a compile_commands.json (may be given several times). Rules came from those that bench/verdicts has
    /// files for.
    #[arg(long, value_name = "DIR", required_unless_present = "origin")]
    pub project: Vec<PathBuf>,

    /// The same for a project that rules came from, though bench/verdicts has no file for it.
    #[arg(long, value_name = "DIR")]
    pub origin: Vec<PathBuf>,

    /// The known leaks; see `realleaks --help`.
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,

    /// Only these rules [default: all].
    #[arg(long, value_name = "NAME")]
    pub rule: Vec<String>,

    /// How many units to work on at once.
    #[arg(short, long, value_name = "N", default_value = "1")]
    pub jobs: usize,

    /// Measure this binary; without it, Caulk is built first.
    #[arg(long, value_name = "PATH")]
    pub caulk: Option<PathBuf>,

    /// Where to write the table.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What a run on a project found.
#[derive(Debug, Default)]
struct Outcome {
    fingerprints: BTreeSet<String>,
    known: usize,
}

/// What changes without a rule, over some projects.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Change {
    gained: usize,
    lost: usize,
    known_gained: usize,
    known_lost: usize,
}

impl Change {
    fn between(with: &Outcome, without: &Outcome) -> Self {
        Self {
            gained: without.fingerprints.difference(&with.fingerprints).count(),
            lost: with.fingerprints.difference(&without.fingerprints).count(),
            known_gained: without.known.saturating_sub(with.known),
            known_lost: with.known.saturating_sub(without.known),
        }
    }

    /// `+2 -1`, and known leaks in brackets where they differ; nothing where nothing does.
    fn cell(self) -> String {
        let pair = |gained: usize, lost: usize| match (gained, lost) {
            (0, 0) => String::new(),
            (gained, 0) => format!("+{gained}"),
            (0, lost) => format!("-{lost}"),
            (gained, lost) => format!("+{gained} -{lost}"),
        };
        match pair(self.known_gained, self.known_lost) {
            known if known.is_empty() => pair(self.gained, self.lost),
            known => format!("{} (known {known})", pair(self.gained, self.lost)),
        }
    }
}

/// What a rule did with all rules on, and what changes without it on each project, by the project's number.
#[derive(Debug, Default)]
struct Row {
    uses: u64,
    changes: BTreeMap<usize, Change>,
}

struct Project {
    name: String,
    database: PathBuf,
    folder: PathBuf,
    /// Rules were made while its findings were read.
    is_origin: bool,
}

pub(crate) fn run(arguments: &Rules) -> Result<()> {
    let target = build::target_folder()?;
    let caulk = build::given_or_built(arguments.caulk.as_deref(), &target)?;
    let work = target.join("bench/rules");
    let origins = arguments.origin.iter().map(|folder| (folder, true));
    let folders = origins.chain(arguments.project.iter().map(|folder| (folder, false)));
    let projects =
        folders.map(|(folder, is_origin)| Project::new(folder, is_origin, &work)).collect::<Result<Vec<_>>>()?;
    let mut rows: BTreeMap<String, Row> = names(&caulk)?.into_iter().map(|name| (name, Row::default())).collect();
    for name in &arguments.rule {
        ensure!(rows.contains_key(name), "there is no rule {name}; `caulk rules` lists them");
    }
    let mut findings = BTreeMap::new();
    let output = arguments.output.clone().unwrap_or_else(|| repository().join("bench/RULES.md"));
    for (number, project) in projects.iter().enumerate() {
        let runner = Runner { caulk: &caulk, project, arguments };
        let uses = runner.uses()?;
        let with = runner.check(None)?;
        findings.insert(project.name.clone(), (with.fingerprints.len(), with.known));
        // What did nothing changes nothing.
        for (rule, count) in uses.iter().filter(|(rule, _)| arguments.rule.is_empty() || arguments.rule.contains(rule))
        {
            let change = Change::between(&with, &runner.check(Some(rule))?);
            let row = rows.get_mut(rule).with_context(|| format!("a report counts {rule}, which is no rule"))?;
            row.uses += count;
            row.changes.insert(number, change);
            eprintln!("{} without {rule}: {change:?}", project.name);
        }
        // After each project: a run that is broken off keeps what it has measured.
        let document = document(&projects[..=number], &findings, &rows, arguments.known.is_some());
        std::fs::write(&output, document).with_context(|| format!("cannot write {}", output.display()))?;
    }
    Ok(())
}

/// The names of all rules.
fn names(caulk: &Path) -> Result<Vec<String>> {
    let output =
        Command::new(caulk).arg("rules").output().with_context(|| format!("cannot run {}", caulk.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<String> =
        text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    ensure!(!names.is_empty(), "`{} rules` lists nothing", caulk.display());
    Ok(names)
}

impl Project {
    fn new(folder: &Path, is_origin: bool, work: &Path) -> Result<Self> {
        let folder = folder.canonicalize().with_context(|| format!("no folder {}", folder.display()))?;
        let Some(name) = folder.file_name() else { bail!("{} has no name", folder.display()) };
        let name = name.to_string_lossy().into_owned();
        let is_origin = is_origin || repository().join(format!("bench/verdicts/{name}.tsv")).exists();
        let own = work.join(&name);
        std::fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
        Ok(Self { database: find_database(&folder)?, folder: own, name, is_origin })
    }
}

struct Runner<'a> {
    caulk: &'a Path,
    project: &'a Project,
    arguments: &'a Rules,
}

impl Runner<'_> {
    fn run(&self, format: &str, without: Option<&str>) -> Result<PathBuf> {
        let output = self.project.folder.join(format!("report.{format}"));
        let mut command = Command::new(self.caulk);
        command.current_dir(&self.project.folder).args(["check", "--no-config", "-q", "--format", format]);
        command.arg("-p").arg(&self.project.database).arg("--cache").arg(self.project.folder.join("cache"));
        command.arg("-o").arg(&output).args(["--jobs", &self.arguments.jobs.to_string()]);
        command.args(without.map(|rule| format!("--without-rule={rule}")));
        let done = command.output().with_context(|| format!("cannot run {}", self.caulk.display()))?;
        // Everything read, leaks found, some units not read.
        if !matches!(done.status.code(), Some(0 | 1 | 3)) {
            bail!("Caulk failed on {}: {}", self.project.name, String::from_utf8_lossy(&done.stderr).trim_end());
        }
        Ok(output)
    }

    /// How often each rule did something.
    fn uses(&self) -> Result<BTreeMap<String, u64>> {
        let path = self.run("json", None)?;
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let report: serde_json::Value = serde_json::from_str(&text)?;
        Ok(serde_json::from_value(report["statistics"]["rules"].clone())?)
    }

    fn check(&self, without: Option<&str>) -> Result<Outcome> {
        let path = self.run("sarif", without)?;
        let findings = sarif::read(&path)?;
        let known = match &self.arguments.known {
            Some(list) => realleaks::count(list, &path, &self.project.name)?.exact,
            None => 0,
        };
        Ok(Outcome { fingerprints: findings.into_iter().filter_map(|f| f.fingerprint).collect(), known })
    }
}

fn document(
    projects: &[Project],
    findings: &BTreeMap<String, (usize, usize)>,
    rows: &BTreeMap<String, Row>,
    has_known: bool,
) -> String {
    let list = |is_origin: bool| {
        let named = projects.iter().filter(|p| p.is_origin == is_origin).map(|p| {
            let (count, known) = findings.get(&p.name).copied().unwrap_or_default();
            format!("{} ({count} findings, {known} known leaks found exactly)", p.name)
        });
        let named: Vec<String> = named.collect();
        if named.is_empty() { "none".to_owned() } else { named.join(", ") }
    };
    let mut text = String::from("# What each rule is worth\n\n");
    text.push_str("Written by `cargo xtask rules`; `caulk rules` says what each rule is for. `+a -b`: without the rule there are a\n");
    text.push_str("findings that were not there with it, and b of those with it are gone; `-`: it did nothing there. *Uses* is how often it did something.\n\n");
    let _ = writeln!(text, "- Projects that rules came from: {}.", list(true));
    let _ = writeln!(text, "- Projects that they did not come from: {}.", list(false));
    if !has_known {
        text.push_str("- Known leaks were not compared: no list was given.\n");
    }
    text.push('\n');
    let mut columns = vec!["rule", "uses"];
    columns.extend(projects.iter().map(|p| p.name.as_str()));
    let mut table = Table::new(&columns);
    for (name, row) in rows {
        let mut cells = vec![name.clone(), row.uses.to_string()];
        cells.extend((0..projects.len()).map(|number| match row.changes.get(&number) {
            None => "-".to_owned(),
            Some(change) if *change == Change::default() => "0".to_owned(),
            Some(change) => change.cell(),
        }));
        table.push(cells);
    }
    text.push_str(&table.print(Form::Markdown));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(fingerprints: &[&str], known: usize) -> Outcome {
        Outcome { fingerprints: fingerprints.iter().map(|f| (*f).to_owned()).collect(), known }
    }

    #[test]
    fn what_changes_is_counted_in_both_directions() {
        let change = Change::between(&outcome(&["a", "b"], 2), &outcome(&["b", "c", "d"], 1));
        assert_eq!(change, Change { gained: 2, lost: 1, known_gained: 0, known_lost: 1 });
        assert_eq!(change.cell(), "+2 -1 (known -1)");
        assert_eq!(Change { lost: 3, ..Change::default() }.cell(), "-3");
    }

    #[test]
    fn projects_are_divided() {
        let project = |name: &str, is_origin| Project {
            name: name.to_owned(),
            database: PathBuf::new(),
            folder: PathBuf::new(),
            is_origin,
        };
        let findings = BTreeMap::from([("a".to_owned(), (3, 1))]);
        let changes = BTreeMap::from([(0, Change { gained: 1, ..Change::default() })]);
        let rows = BTreeMap::from([("carriers".to_owned(), Row { uses: 4, changes })]);
        let text = document(&[project("a", true)], &findings, &rows, true);
        assert!(text.contains("came from: a (3 findings, 1 known leaks found exactly)."), "{text}");
        assert!(text.contains("did not come from: none."), "{text}");
        assert!(text.contains("| carriers |    4 | +1 |"), "{text}");
    }
}
