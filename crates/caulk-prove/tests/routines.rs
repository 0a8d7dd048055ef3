//! The nineteen routines of Figure 6 of the paper, in our own words: which probes are proved, and which warnings are real.
//! What is real is told by runs on small heaps, well-formed or not. `CAULK_BLESS=1` writes the table of today.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use caulk_models::Models;
use caulk_program::{FuncId, Program};
use caulk_prove::{Extensions, Judgement, Outcome, ProveConfig, TypedRegions, World, judge_all};
use support::generator::Random;
use support::heaps::losing_lines;

/// Heaps that each routine is run on.
const HEAPS: usize = 2_500;

/// Name, and from the paper: probes, warnings, real leaks, median and longest trace.
const ROUTINES: [(&str, [u32; 5]); 19] = [
    ("si-create", [5, 0, 0, 2, 6]),
    ("si-delete", [11, 0, 0, 10, 29]),
    ("si-insert", [13, 1, 0, 2, 130]),
    ("si-reverse", [9, 0, 0, 1, 6]),
    ("si-rotate", [6, 1, 1, 2, 10]),
    ("si-merge", [16, 0, 0, 12, 200]),
    ("sr-append", [11, 0, 0, 2, 57]),
    ("sr-insert", [11, 2, 0, 13, 114]),
    ("sr-reverse", [11, 0, 0, 1, 82]),
    ("sr-rev-leak", [13, 1, 1, 1, 95]),
    ("di-delete", [9, 2, 2, 6, 89]),
    ("di-prepend", [7, 1, 1, 7, 15]),
    ("di-reverse", [7, 0, 0, 1, 12]),
    ("di-merge", [19, 0, 0, 1, 24]),
    ("avl-rotate", [6, 0, 0, 1, 2]),
    ("avl-balance", [6, 1, 0, 22, 803]),
    ("avl-insert", [31, 2, 0, 2, 1627]),
    ("dsw-list", [14, 0, 0, 2, 91]),
    ("dsw-tree", [18, 1, 0, 15, 1367]),
];

struct Row {
    probes: usize,
    warnings: usize,
    /// Warnings at lines where no run loses anything.
    wrong: usize,
    transfers: Vec<usize>,
    /// Lines that lose cells.
    real: BTreeSet<u32>,
    is_proved: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/prove")
}

fn compile(name: &str) -> Program {
    let folder = folder();
    support::compile(&[folder.join(format!("{name}.c"))], &folder)
}

/// One routine, with what its runs say of it.
fn row(program: &Program, real: BTreeSet<u32>, models: &Models, extensions: Extensions) -> Row {
    let regions = TypedRegions::new(program);
    let config = ProveConfig { arguments_are_held: false, extensions, ..ProveConfig::default() };
    let world = World::new(program, models, &regions, config);
    let functions: Vec<FuncId> = program.functions().filter(|f| program.has_body(*f)).collect();
    let judged = judge_all(&world, &functions);
    let all = judged.iter().flat_map(|j| &j.probes);
    let mut transfers: Vec<usize> = all.clone().map(|(_, answer)| answer.transfers).collect();
    transfers.sort_unstable();
    let open: Vec<u32> = all
        .filter(|(_, answer)| answer.outcome != Outcome::Proved)
        .map(|(probe, _)| {
            let body = program.body(probe.function).expect("a function that was judged has a body");
            body.place(probe.place).line
        })
        .collect();
    Row {
        probes: transfers.len(),
        warnings: open.len(),
        wrong: open.iter().filter(|line| !real.contains(line)).count(),
        transfers,
        real,
        is_proved: judged.iter().all(|j| j.verdict() == Judgement::Proved),
    }
}

fn real_lines(program: &Program) -> BTreeSet<u32> {
    let is_public = |f: &FuncId| program.function(*f).declaration.linkage == caulk_ir::Linkage::External;
    let lines = |f: FuncId| losing_lines(program, f, HEAPS, &mut Random::new(1));
    program.functions().filter(|f| program.has_body(*f)).filter(is_public).flat_map(lines).collect()
}

#[test]
fn routines_of_figure_6() {
    let models = Models::bundled();
    let programs: Vec<Program> = ROUTINES.iter().map(|(name, _)| compile(name)).collect();
    let real: Vec<BTreeSet<u32>> = programs.iter().map(real_lines).collect();
    let rows_with = |extensions: Extensions| -> Vec<Row> {
        programs.iter().zip(&real).map(|(program, real)| row(program, real.clone(), &models, extensions)).collect()
    };
    let all: Vec<(&str, Vec<Row>)> = settings().into_iter().map(|(name, e)| (name, rows_with(e))).collect();
    for (setting, rows) in &all {
        for ((name, _), row) in ROUTINES.iter().zip(rows) {
            assert!(!row.is_proved || row.real.is_empty(), "{setting}: {name} is proved and leaks at {:?}", row.real);
        }
    }
    let rows = &all[0].1;
    let wrong: usize = rows.iter().map(|row| row.wrong).sum();
    let of_paper: u32 = ROUTINES.iter().map(|(_, paper)| paper[1] - paper[2]).sum();
    assert_eq!(of_paper, 7);
    let table = format!("{}\n{}", table(rows), table_of_settings(&all));
    assert!(wrong < 7, "{wrong} false warnings, no fewer than the paper's\n{table}");
    let path = folder().join("README.md");
    let document = std::fs::read_to_string(&path).expect("tests/prove has a README.md");
    let (before, rest) = document.split_once("<!-- table -->\n").expect("the document has a table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the table has an end");
    let now = format!("{before}<!-- table -->\n{table}<!-- end -->{after}");
    if std::env::var_os("CAULK_BLESS").is_some() {
        std::fs::write(&path, now).expect("the document can be written");
    } else {
        assert!(
            document == now,
            "tests/prove/README.md is not what comes out today (CAULK_BLESS=1 writes it):\n{table}"
        );
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| routine | probes | warnings | real | false | median | longest | paper: probes | warnings | real | false | median | longest |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut sums = [0usize; 6];
    for ((name, paper), row) in ROUTINES.iter().zip(rows) {
        let median = row.transfers.get(row.transfers.len() / 2).copied().unwrap_or(0);
        let longest = row.transfers.last().copied().unwrap_or(0);
        let [probes, warnings, leaks, paper_median, paper_longest] = *paper;
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {median} | {longest} | {probes} | {warnings} | {leaks} | {} | {paper_median} | \
             {paper_longest} |",
            row.probes,
            row.warnings,
            row.warnings - row.wrong,
            row.wrong,
            warnings - leaks
        );
        let now =
            [row.probes, row.warnings, row.wrong, probes as usize, warnings as usize, (warnings - leaks) as usize];
        sums.iter_mut().zip(now).for_each(|(sum, n)| *sum += n);
    }
    let [a, b, c, d, e, f] = sums;
    let _ = writeln!(text, "| all | {a} | {b} | {} | {c} | | | {d} | {e} | {} | {f} | | |", b - c, e - f);
    text
}

/// All extensions of section 4.8, and without each.
fn settings() -> [(&'static str, Extensions); 5] {
    let all = Extensions::default();
    [
        ("all extensions", all),
        ("without types", Extensions { typed_growth: false, ..all }),
        ("without removal", Extensions { region_removal: false, ..all }),
        ("without separation", Extensions { separated: false, ..all }),
        ("without any", Extensions { typed_growth: false, region_removal: false, separated: false }),
    ]
}

fn table_of_settings(all: &[(&str, Vec<Row>)]) -> String {
    let mut text = String::from(
        "| nineteen routines | probes | warnings | false | routines proved | transfers |\n|---|---|---|---|---|---|\n",
    );
    for (name, rows) in all {
        let sum = |count: fn(&Row) -> usize| rows.iter().map(count).sum::<usize>();
        let [probes, warnings, wrong] = [sum(|r| r.probes), sum(|r| r.warnings), sum(|r| r.wrong)];
        let [proved, transfers] = [sum(|r| usize::from(r.is_proved)), sum(|r| r.transfers.iter().sum())];
        let _ = writeln!(text, "| {name} | {probes} | {warnings} | {wrong} | {proved} | {transfers} |");
    }
    text
}
