//! `bench growth`: time and memory against the size of the program.

mod fit;
mod plot;
mod sizes;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::bench::Ground;
use crate::bench::arguments::Growth;
use crate::bench::corpora::Choice;
use crate::bench::measure::{ProjectResult, measure};
use crate::bench::project;
use crate::bench::report::{Form, Header, Table, write_json};
use crate::bench::tools::CacheUse;
use fit::{Fit, fit};

/// With fewer, a fitted line says nothing.
const MIN_SIZES: usize = 3;

/// One size.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Point {
    pub lines: usize,
    pub units: usize,
    pub clang_cpu_seconds: f64,
    pub cpu_seconds: f64,
    pub wall_seconds: f64,
    /// Of Caulk itself.
    pub peak_megabytes: f64,
    /// How many cores others kept busy.
    pub others_cores: Option<f64>,
}

impl Point {
    fn from(result: &ProjectResult) -> Self {
        let [clang, caulk] = &result.tools[..] else { unreachable!("clang and one Caulk are measured") };
        let peak = caulk.own_peak_kilobytes().unwrap_or_else(|| caulk.peak_kilobytes());
        Self {
            lines: result.lines,
            units: result.units,
            clang_cpu_seconds: clang.cpu(),
            cpu_seconds: caulk.cpu(),
            wall_seconds: caulk.wall(),
            peak_megabytes: peak as f64 / 1e3 * 1.024,
            others_cores: result.others_cores,
        }
    }
}

/// Exponents of what grows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Exponents {
    pub cpu_by_lines: Fit,
    pub clang_cpu_by_lines: Fit,
    /// Lines differ in weight; this one does not depend on what a line is.
    pub cpu_by_clang_cpu: Fit,
    pub memory_by_lines: Fit,
}

impl Exponents {
    fn of(points: &[Point]) -> Option<Self> {
        let by = |x: fn(&Point) -> f64, y: fn(&Point) -> f64| {
            fit(&points.iter().map(|point| (x(point), y(point))).collect::<Vec<_>>())
        };
        let lines = |point: &Point| point.lines as f64;
        Some(Self {
            cpu_by_lines: by(lines, |p| p.cpu_seconds)?,
            clang_cpu_by_lines: by(lines, |p| p.clang_cpu_seconds)?,
            cpu_by_clang_cpu: by(|p| p.clang_cpu_seconds, |p| p.cpu_seconds)?,
            memory_by_lines: by(lines, |p| p.peak_megabytes)?,
        })
    }

    fn table(&self, larger: &Exponents) -> Table {
        let mut table = Table::new(&["exponent", "all sizes", "R²", "larger half"]);
        let mut push = |what: &str, all: &Fit, larger: &Fit| {
            table.push(vec![
                what.to_owned(),
                format!("{:.2}", all.exponent),
                format!("{:.3}", all.r_squared),
                format!("{:.2}", larger.exponent),
            ]);
        };
        push("CPU of Caulk by lines", &self.cpu_by_lines, &larger.cpu_by_lines);
        push("CPU of clang by lines", &self.clang_cpu_by_lines, &larger.clang_cpu_by_lines);
        push("CPU of Caulk by CPU of clang", &self.cpu_by_clang_cpu, &larger.cpu_by_clang_cpu);
        push("memory of Caulk by lines", &self.memory_by_lines, &larger.memory_by_lines);
        table
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub header: Header,
    pub points: Vec<Point>,
    pub exponents: Exponents,
    /// Among the larger sizes only: what is the same for every size, such as the memory LLVM's own library takes, hides
    /// growth among the small ones.
    pub exponents_of_larger_half: Exponents,
    /// All runs behind the points.
    sizes: Vec<ProjectResult>,
}

impl Report {
    fn of(header: Header, sizes: Vec<ProjectResult>) -> Result<Self> {
        let points: Vec<Point> = sizes.iter().map(Point::from).collect();
        let fitted = |points: &[Point]| Exponents::of(points).context("nothing grows: sizes are all alike");
        let exponents = fitted(&points)?;
        let exponents_of_larger_half = fitted(&points[(points.len() - 1) / 2..])?;
        Ok(Self { header, points, exponents, exponents_of_larger_half, sizes })
    }

    /// The sizes, and the exponents.
    pub(crate) fn print(&self, form: Form) -> String {
        let exponents = self.exponents.table(&self.exponents_of_larger_half);
        format!("{}\n{}", table(&self.points).print(form), exponents.print(form))
    }

    pub(crate) fn draw(&self) -> String {
        plot::draw(&self.points, &self.exponents)
    }
}

pub(crate) fn run(arguments: &Growth) -> Result<()> {
    let ground = Ground::lay(&arguments.common)?;
    let report = measure_sizes(arguments, &ground)?;
    let svg = ground.work.join("growth.svg");
    std::fs::write(&svg, report.draw()).with_context(|| format!("cannot write {}", svg.display()))?;
    print!("{}\n{}", report.header.print(Form::Text), report.print(Form::Text));
    println!("plot: {}", svg.display());
    arguments.common.json.as_ref().map_or(Ok(()), |path| write_json(path, &report))
}

pub(crate) fn measure_sizes(arguments: &Growth, ground: &Ground) -> Result<Report> {
    let header = ground.header();
    let projects = project::load(&arguments.common, &Choice::All, &ground.work)?;
    let programs = sizes::programs(projects, arguments.from.get(), arguments.sizes.get(), &ground.work)?;
    ensure!(programs.len() >= MIN_SIZES, "only {} sizes: give more projects, or a smaller --from", programs.len());
    let mut entries = ground.entries(arguments.runs.get(), &[CacheUse::None]);
    let mut sizes = Vec::new();
    for program in &programs {
        sizes.push(measure(program, &mut entries, &ground.setting)?);
    }
    Report::of(header, sizes)
}

fn table(points: &[Point]) -> Table {
    let mut table =
        Table::new(&["lines", "units", "clang CPU s", "caulk CPU s", "× clang", "wall s", "own MB", "others"]);
    for point in points {
        table.push(vec![
            point.lines.to_string(),
            point.units.to_string(),
            format!("{:.2}", point.clang_cpu_seconds),
            format!("{:.2}", point.cpu_seconds),
            format!("{:.2}", point.cpu_seconds / point.clang_cpu_seconds),
            format!("{:.2}", point.wall_seconds),
            format!("{:.0}", point.peak_megabytes),
            point.others_cores.map_or_else(String::new, |cores| format!("{cores:.1}")),
        ]);
    }
    table
}
