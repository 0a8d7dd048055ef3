//! `inject`: a measure without end. Releases are deleted from a copy of a project, one in each of some functions that a seed chooses,
//! and it is counted how many of them a run names that a run before did not name.
//!
//! Not every deleted release is a leak (what is released may be kept elsewhere, or be null there), so all of them is not to be had. Seeds
//! that none of us has looked at measure what was not tuned for.

mod peers;
mod sites;
mod source;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use regex::Regex;

use crate::bench::build;
use crate::bench::project;
use crate::bench::report::{Form, Table};
use crate::sarif::{self, Finding};
use peers::Peer;
use sites::{Kind, Random, Releases, Site};
use tree::Tree;

/// Delete releases from a copy of a project, and count how many of them Caulk (and its peers) name. Prints a table in Markdown.
#[derive(Debug, Args)]
pub(crate) struct Inject {
    /// A folder with a compile_commands.json (may be given several times). It is copied first, and never changed.
    #[arg(long, value_name = "DIR")]
    pub project: Vec<PathBuf>,

    /// One of bench/corpora.toml (may be given several times).
    #[arg(long, value_name = "NAME")]
    pub corpus: Vec<String>,

    /// How many functions lose a release, in each project.
    #[arg(short, long, value_name = "N", default_value = "100")]
    pub number: usize,

    /// Which ones.
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,

    /// Only releases of this kind (may be given several times).
    #[arg(long, value_enum)]
    pub kind: Vec<Kind>,

    /// Functions that release their first argument, besides those that Caulk knows by their code.
    #[arg(long, value_name = "REGEX")]
    pub release: Option<Regex>,

    /// Run clang --analyze, gcc -fanalyzer and cppcheck on the changed files too, as far as they are installed.
    #[arg(long)]
    pub peers: bool,

    /// Put each release back that was named, alone, and count the findings that then stay or come. One run for each: slow.
    #[arg(long)]
    pub back: bool,

    /// List every release and whether it was named.
    #[arg(short, long)]
    pub verbose: bool,

    /// How many units to work on at once.
    #[arg(short, long, value_name = "N", default_value = "2")]
    pub jobs: NonZeroUsize,

    /// Measure this binary; without it, Caulk is built first.
    #[arg(long, value_name = "PATH")]
    pub caulk: Option<PathBuf>,
}

/// How many releases of a kind were deleted, and how many each tool named; the first is Caulk.
type Counts = BTreeMap<Kind, (usize, Vec<usize>)>;

pub(crate) fn run(arguments: &Inject) -> Result<()> {
    let target = build::target_folder()?;
    let caulk = build::given_or_built(arguments.caulk.as_deref(), &target)?;
    let work = target.join("bench/inject");
    ensure!(!arguments.project.is_empty() || !arguments.corpus.is_empty(), "name a --project or a --corpus");
    let peers = if arguments.peers { Peer::installed() } else { Vec::new() };
    let mut columns = vec!["project", "kind", "deleted", "Caulk"];
    columns.extend(peers.iter().map(|peer| peer.name()));
    let mut table = Table::new(&columns);
    for project in project::named(&arguments.project, &arguments.corpus, &target.join("bench"))? {
        let tree = Tree::copy(&project, &work)?;
        let measure = Measure { arguments, caulk: &caulk, tree: &tree, peers: &peers };
        for (kind, (deleted, named)) in measure.run()? {
            let mut cells = vec![project.name.clone(), kind.name().to_owned(), deleted.to_string()];
            cells.extend(named.iter().map(usize::to_string));
            table.push(cells);
        }
    }
    print!("{}", table.print(Form::Markdown));
    Ok(())
}

struct Measure<'a> {
    arguments: &'a Inject,
    caulk: &'a Path,
    tree: &'a Tree,
    peers: &'a [Peer],
}

impl Measure<'_> {
    fn run(&self) -> Result<Counts> {
        let releases = Releases::new(&self.summaries()?, self.arguments.release.clone())?;
        let chosen = self.choose(&releases)?;
        let before = self.check("before")?;
        let peers_before = self.ask_peers(&chosen)?;
        for site in &chosen {
            blank_line(&site.file, site.line)?;
        }
        let after = self.check("after")?;
        let peers_after = self.ask_peers(&chosen)?;
        let mut counts = Counts::new();
        let mut named = Vec::new();
        for site in &chosen {
            let is_named = self.names(site, &before, &after);
            let entry = counts.entry(site.kind).or_insert_with(|| (0, vec![0; 1 + self.peers.len()]));
            entry.0 += 1;
            entry.1[0] += usize::from(is_named);
            for (index, (old, new)) in peers_before.iter().zip(&peers_after).enumerate() {
                entry.1[1 + index] += usize::from(count_places(new, site) > count_places(old, site));
            }
            named.extend(is_named.then_some(site));
            if self.arguments.verbose {
                let word = if is_named { "named" } else { "missed" };
                let place = site.file.strip_prefix(&self.tree.root).unwrap_or(&site.file).display();
                println!("{word} {} {place}:{} {} {}", site.kind.name(), site.line, site.function.name, site.what);
            }
        }
        let (name, known) = (&self.tree.project.name, releases.count());
        eprintln!("{name}: {known} functions release; {} findings before, {} after", before.len(), after.len());
        if self.arguments.back {
            self.put_back(&named, &after)?;
        }
        Ok(counts)
    }

    fn choose(&self, releases: &Releases) -> Result<Vec<Site>> {
        let files: BTreeSet<&Path> = self.tree.project.jobs.iter().map(|job| job.source.as_path()).collect();
        let mut by_function = Vec::new();
        for file in files.into_iter().filter(|file| file.starts_with(&self.tree.root)) {
            let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            by_function.extend(sites::sites(file, &String::from_utf8_lossy(&bytes), releases));
        }
        Ok(Random(self.arguments.seed).choose(by_function, self.arguments.number, &self.arguments.kind))
    }

    fn caulk(&self, command: &str) -> Command {
        let folder = &self.tree.project.folder;
        let mut caulk = Command::new(self.caulk);
        caulk.current_dir(folder).args([command, "--no-config", "-q", "-p"]).arg(&self.tree.project.database);
        caulk.arg("--root").arg(&self.tree.root).arg("--cache").arg(folder.join("cache"));
        caulk.args(["--jobs", &self.arguments.jobs.to_string()]);
        caulk
    }

    fn summaries(&self) -> Result<String> {
        let output = self.caulk("summaries").args(["--format", "json"]).output().context("cannot run Caulk")?;
        if output.stdout.is_empty() {
            bail!("`caulk summaries` failed: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn check(&self, name: &str) -> Result<Vec<Finding>> {
        let path = self.tree.project.folder.join(format!("{name}.sarif"));
        let output = self.caulk("check").args(["--format", "sarif", "-o"]).arg(&path).output()?;
        // Everything read, leaks found, some units not read.
        if !matches!(output.status.code(), Some(0 | 1 | 3)) {
            bail!("`caulk check` failed: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        // A unit that cannot be compiled without the release hides all that was deleted in it.
        for line in String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("not read")) {
            eprintln!("{name}: {line}");
        }
        sarif::read(&path)
    }

    fn ask_peers(&self, chosen: &[Site]) -> Result<Vec<BTreeSet<(PathBuf, usize)>>> {
        let files: BTreeSet<&Path> = chosen.iter().map(|site| site.file.as_path()).collect();
        let mut jobs: Vec<_> =
            self.tree.project.jobs.iter().filter(|job| files.contains(job.source.as_path())).collect();
        jobs.dedup_by_key(|job| &job.source);
        self.peers.iter().map(|peer| peer.run(&jobs, self.arguments.jobs.get())).collect()
    }

    /// Whether a run names a release that is gone: more is lost in the function than before; or, for fields and parameters, something new
    /// is lost on a path through it.
    fn names(&self, site: &Site, before: &[Finding], after: &[Finding]) -> bool {
        let lost_here =
            |findings: &[Finding]| findings.iter().filter(|f| f.main.iter().any(|p| self.is_in(p, site))).count();
        if lost_here(after) > lost_here(before) {
            return true;
        }
        let call = format!("{}()", site.function.name);
        let goes_through = |f: &&Finding| {
            f.message.contains(&call) || f.related.iter().chain(&f.flow).any(|place| self.is_in(place, site))
        };
        site.kind != Kind::Local && new_findings(before, after).iter().any(goes_through)
    }

    fn is_in(&self, place: &sarif::Place, site: &Site) -> bool {
        let lines = site.function.first..=site.function.last;
        lines.contains(&(place.line as usize)) && self.tree.root.join(&place.file) == site.file
    }

    /// The other direction: with one release back in its place the finding must go, and no other may come.
    fn put_back(&self, named: &[&Site], all: &[Finding]) -> Result<()> {
        let (mut stays, mut comes) = (0, 0);
        for site in named {
            let changed = std::fs::read(&site.file).with_context(|| format!("cannot read {}", site.file.display()))?;
            restore_line(&site.file, site.line)?;
            let with = self.check("back")?;
            std::fs::write(&site.file, changed).with_context(|| format!("cannot write {}", site.file.display()))?;
            stays += usize::from(with.len() >= all.len());
            comes += usize::from(!new_findings(all, &with).is_empty());
        }
        println!(
            "{}: of {} releases put back, {stays} findings stay, {comes} new ones come\n",
            self.tree.project.name,
            named.len()
        );
        Ok(())
    }
}

/// Findings that were not there before, by what they say and where.
fn new_findings<'f>(before: &[Finding], after: &'f [Finding]) -> Vec<&'f Finding> {
    let key = |finding: &Finding| {
        let place = finding.main.first().map(|place| (place.file.clone(), place.line));
        (place, finding.message.clone())
    };
    let mut old: BTreeMap<_, usize> = BTreeMap::new();
    before.iter().for_each(|finding| *old.entry(key(finding)).or_default() += 1);
    let is_new = |finding: &&Finding| match old.get_mut(&key(finding)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    after.iter().filter(is_new).collect()
}

fn count_places(places: &BTreeSet<(PathBuf, usize)>, site: &Site) -> usize {
    let lines = site.function.first..=site.function.last;
    places.iter().filter(|(file, line)| *file == site.file && lines.contains(line)).count()
}

/// What a deleted release is put behind. The line stays, so that all others keep their numbers.
const MARK: &[u8] = b"; //caulk-injected ";

fn blank_line(file: &Path, line: usize) -> Result<()> {
    change_line(file, line, |text| [MARK, text].concat())
}

fn restore_line(file: &Path, line: usize) -> Result<()> {
    change_line(file, line, |text| text.strip_prefix(MARK).unwrap_or(text).to_vec())
}

fn change_line(file: &Path, line: usize, change: impl Fn(&[u8]) -> Vec<u8>) -> Result<()> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let text = lines.get_mut(line - 1).with_context(|| format!("{} has no line {line}", file.display()))?;
    *text = change(text);
    std::fs::write(file, lines.join(&b'\n')).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sarif::Place;

    fn finding(line: u32, message: &str) -> Finding {
        let main = vec![Place { file: "a.c".to_owned(), line }];
        Finding { main, message: message.to_owned(), ..Finding::default() }
    }

    #[test]
    fn what_was_said_before_is_not_new() {
        let before = [finding(1, "a"), finding(2, "b")];
        let after = [finding(1, "a"), finding(1, "a"), finding(2, "c")];
        let new: Vec<&str> = new_findings(&before, &after).iter().map(|f| f.message.as_str()).collect();
        assert_eq!(new, ["a", "c"]);
    }

    #[test]
    fn a_line_is_deleted_and_put_back() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let file = folder.path().join("a.c");
        std::fs::write(&file, "int f(void)\n    free(p);\n}\n").expect("the folder is new");
        blank_line(&file, 2).expect("it has two lines");
        let text = std::fs::read_to_string(&file).expect("it is there");
        assert_eq!(text, "int f(void)\n; //caulk-injected     free(p);\n}\n");
        restore_line(&file, 2).expect("it has two lines");
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "int f(void)\n    free(p);\n}\n");
        assert!(blank_line(&file, 9).is_err());
    }
}
