//! `bench growth`: time and memory against the size of the program.

mod fit;
mod plot;
mod sizes;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

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
#[derive(Debug, Clone, Serialize)]
pub struct Point {
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
#[derive(Debug, Serialize)]
pub struct Exponents {
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

    /// `larger` are the exponents among the larger sizes only: what is the same for every size, such as the memory LLVM's
    /// own library takes, hides growth among the small ones.
    fn print(&self, larger: &Exponents) -> String {
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
        table.print(Form::Text)
    }
}

#[derive(Debug, Serialize)]
struct Report {
    header: Header,
    points: Vec<Point>,
    exponents: Exponents,
    exponents_of_larger_half: Exponents,
    /// All runs behind the points.
    sizes: Vec<ProjectResult>,
}

pub fn run(arguments: &Growth) -> Result<()> {
    let common = &arguments.common;
    let ground = Ground::lay(common)?;
    let header = ground.header();
    let projects = project::load(common, &Choice::All, &ground.work)?;
    let programs = sizes::programs(projects, arguments.from.get(), arguments.sizes.get(), &ground.work)?;
    ensure!(programs.len() >= MIN_SIZES, "only {} sizes: give more projects, or a smaller --from", programs.len());
    let mut entries = ground.entries(arguments.runs.get(), &[CacheUse::None]);
    let mut sizes = Vec::new();
    for program in &programs {
        sizes.push(measure(program, &mut entries, &ground.setting)?);
    }
    let points: Vec<Point> = sizes.iter().map(Point::from).collect();
    let fitted = |points: &[Point]| Exponents::of(points).context("nothing grows: sizes are all alike");
    let (exponents, larger) = (fitted(&points)?, fitted(&points[(points.len() - 1) / 2..])?);
    let svg = ground.work.join("growth.svg");
    std::fs::write(&svg, plot::draw(&points, &exponents))?;
    print!("{}\n{}\n{}", header.print(Form::Text), table(&points).print(Form::Text), exponents.print(&larger));
    println!("plot: {}", svg.display());
    let report = Report { header, points, exponents, exponents_of_larger_half: larger, sizes };
    common.json.as_ref().map_or(Ok(()), |path| write_json(path, &report))
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
