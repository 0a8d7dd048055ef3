//! `regress`: instruction counts of fixed workloads against those that are kept, so that a slowdown shows whatever else the
//! machine does.

mod baseline;
mod cases;
mod count;
mod generated;
mod workload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::bench::machine::first_line;
use crate::bench::report::{Form, Header, Table, write_json};
use crate::bench::{build, repository};
use baseline::{Baseline, Change, Counted};
use count::Counter;
use workload::Workload;

/// How much more, in percent, is a regression: several times what two runs differ by.
const THRESHOLD: f64 = 2.0;

fn baseline_path() -> PathBuf {
    repository().join("bench/instructions.toml")
}

/// Count instructions of fixed workloads and compare them with those that are kept; exit status 1 when one has grown.
#[derive(Debug, Args)]
pub(crate) struct Regress {
    /// Keep the new counts.
    #[arg(long)]
    pub bless: bool,

    /// How much more, in percent, is a regression.
    #[arg(long, value_name = "PERCENT", default_value_t = THRESHOLD)]
    pub threshold: f64,

    /// Only workloads whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "", conflicts_with = "bless")]
    pub only: String,

    /// Where the counts are kept.
    #[arg(long, value_name = "FILE", default_value_os_t = baseline_path())]
    pub baseline: PathBuf,

    /// Measure this binary; without it, Caulk is built first. How it was built changes the counts.
    #[arg(long, value_name = "PATH")]
    pub caulk: Option<PathBuf>,

    /// The binary given is what `cargo build --release` makes.
    #[arg(long = "release", requires = "caulk")]
    pub is_release: bool,

    /// The clang to give to Caulk. Its own instructions are not counted.
    #[arg(long, value_name = "PATH", default_value = "clang-19")]
    pub clang: PathBuf,

    /// Write the counts to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Regress {
    /// As `regress` runs without options, on a Caulk that is built already.
    pub(crate) fn of(caulk: &Path, clang: &Path, is_release: bool) -> Self {
        Self {
            bless: false,
            threshold: THRESHOLD,
            only: String::new(),
            baseline: baseline_path(),
            caulk: Some(caulk.to_owned()),
            is_release,
            clang: clang.to_owned(),
            json: None,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub header: Header,
    pub threshold_percent: f64,
    pub workloads: Vec<Row>,
    /// What differs, besides Caulk, from what the kept counts were made with.
    pub differences: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub name: String,
    pub instructions: u64,
    pub change: Change,
}

/// Whether nothing has grown.
pub(crate) fn run(arguments: &Regress) -> Result<bool> {
    let report = measure(arguments)?;
    print!("{}", report.table().print(Form::Text));
    report.differences.iter().for_each(|difference| println!("not the same: {difference}"));
    if let Some(path) = &arguments.json {
        write_json(path, &report)?;
    }
    let grown = report.grown();
    if arguments.bless {
        println!("kept in {}", arguments.baseline.display());
    } else if !grown.is_empty() {
        println!("more than {} % slower: {}", arguments.threshold, grown.join(", "));
        println!("callgrind_annotate says where; its files are {}", folder()?.join("*.callgrind").display());
    }
    Ok(arguments.bless || grown.is_empty())
}

/// Counts, compares and, if asked to, keeps.
pub(crate) fn measure(arguments: &Regress) -> Result<Report> {
    ensure!(arguments.threshold >= 0.0, "a threshold of {} percent makes no sense", arguments.threshold);
    let caulk = build::given_or_built(arguments.caulk.as_deref(), &build::target_folder()?)?;
    let header = Header::new(1, &caulk, &arguments.clang);
    let kept = Baseline::read(&arguments.baseline)?.unwrap_or_default();
    let counter = Counter::new(caulk, arguments.clang.clone(), folder()?)?;
    let mut workloads = workload::prepare(&folder()?)?;
    workloads.retain(|workload| workload.name.contains(&arguments.only));
    ensure!(!workloads.is_empty(), "no workload is called {:?}", arguments.only);
    let new = Baseline { made_with: versions(arguments), workload: count(&counter, &workloads)? };
    if arguments.bless {
        new.write(&arguments.baseline)?;
    }
    Ok(Report {
        header,
        threshold_percent: arguments.threshold,
        workloads: rows(&workloads, &new, &kept),
        differences: kept.differences(&new.made_with),
    })
}

/// For what is made: programs, caches, callgrind's files.
fn folder() -> Result<PathBuf> {
    Ok(build::target_folder()?.join("bench/regress"))
}

fn count(counter: &Counter, workloads: &[Workload]) -> Result<BTreeMap<String, Counted>> {
    let mut counts = BTreeMap::new();
    for workload in workloads {
        eprintln!("regress: {}", workload.name);
        let instructions = counter.count(workload)?;
        counts.insert(workload.name.to_owned(), Counted { instructions, sources: workload.hash.clone() });
    }
    Ok(counts)
}

/// What instruction counts depend on besides our own code.
fn versions(arguments: &Regress) -> BTreeMap<String, String> {
    let is_release = arguments.caulk.is_none() || arguments.is_release;
    let all = [
        ("rustc", first_line("rustc", &["--version"])),
        ("valgrind", count::version()),
        ("clang", first_line(&arguments.clang, &["--version"])),
        ("libc", first_line("ldd", &["--version"])),
        ("build", Some(if is_release { "release" } else { "given by --caulk" }.to_owned())),
    ];
    all.into_iter().filter_map(|(what, version)| Some((what.to_owned(), version?))).collect()
}

fn rows(workloads: &[Workload], new: &Baseline, kept: &Baseline) -> Vec<Row> {
    let row = |workload: &Workload| {
        let counted = &new.workload[workload.name];
        let change = kept.change(workload.name, counted);
        Row { name: workload.name.to_owned(), instructions: counted.instructions, change }
    };
    workloads.iter().map(row).collect()
}

impl Report {
    fn grown(&self) -> Vec<&str> {
        let has_grown = |row: &&Row| matches!(row.change, Change::Percent(percent) if percent > self.threshold_percent);
        self.workloads.iter().filter(has_grown).map(|row| row.name.as_str()).collect()
    }

    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new(&["workload", "million instructions", "change"]);
        for row in &self.workloads {
            let change = match row.change {
                Change::Percent(percent) => format!("{percent:+.2} %"),
                Change::New => "new".to_owned(),
                Change::OtherSources => "other sources".to_owned(),
            };
            table.push(vec![row.name.clone(), format!("{:.1}", row.instructions as f64 / 1e6), change]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_grows_beyond_the_threshold_is_a_regression() {
        let row = |name: &str, change| Row { name: name.to_owned(), instructions: 1_234_567, change };
        let workloads = vec![
            row("a", Change::Percent(2.1)),
            row("b", Change::Percent(2.0)),
            row("c", Change::Percent(-9.0)),
            row("d", Change::New),
            row("e", Change::OtherSources),
        ];
        let header = Header::new(1, "true".as_ref(), "true".as_ref());
        let report = Report { header, threshold_percent: 2.0, workloads, differences: Vec::new() };
        assert_eq!(report.grown(), ["a"]);
        let text = report.table().print(Form::Text);
        assert!(text.contains("a                          1.2        +2.10 %\n"), "{text}");
    }
}
