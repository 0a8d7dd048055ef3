//! The plot: two panels, time and memory, with logarithmic axes.

use std::fmt::Write;

use super::fit::Fit;
use super::{Exponents, Point};

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 400.0;
/// Room around a panel for its axes.
const MARGIN: f64 = 60.0;
const CAULK: &str = "#1f6f8b";
const CLANG: &str = "#999999";

/// A curve: its points, and the line fitted to them.
struct Series<'a> {
    name: String,
    colour: &'a str,
    points: Vec<(f64, f64)>,
    fit: Fit,
}

/// One panel, and what maps figures to places in it.
struct Panel {
    left: f64,
    width: f64,
    x: (f64, f64),
    y: (f64, f64),
}

impl Panel {
    fn new(left: f64, series: &[Series]) -> Self {
        let all = || series.iter().flat_map(|series| &series.points);
        let x = decades(all().map(|point| point.0));
        let y = decades(all().map(|point| point.1));
        Self { left: left + MARGIN, width: WIDTH / 2.0 - 1.5 * MARGIN, x, y }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.width * (value.log10() - self.x.0) / (self.x.1 - self.x.0)
    }

    fn y(&self, value: f64) -> f64 {
        let height = HEIGHT - 2.0 * MARGIN;
        HEIGHT - MARGIN - height * (value.log10() - self.y.0) / (self.y.1 - self.y.0)
    }

    fn draw(&self, svg: &mut String, title: &str, series: &[Series]) {
        let (left, right, top, bottom) = (self.left, self.left + self.width, MARGIN, HEIGHT - MARGIN);
        text(svg, left, top - 36.0, "start", title, "font-weight=\"bold\"");
        for power in powers(self.x) {
            let x = self.x(10f64.powi(power));
            line(svg, (x, top), (x, bottom), "#dddddd", "");
            text(svg, x, bottom + 18.0, "middle", &figure(power), "");
        }
        for power in powers(self.y) {
            let y = self.y(10f64.powi(power));
            line(svg, (left, y), (right, y), "#dddddd", "");
            text(svg, left - 6.0, y + 4.0, "end", &figure(power), "");
        }
        text(svg, (left + right) / 2.0, bottom + 38.0, "middle", "lines of code", "");
        for (at, series) in series.iter().enumerate() {
            self.draw_series(svg, series);
            let label = format!("{}: exponent {:.2}", series.name, series.fit.exponent);
            text(svg, left, top - 20.0 + 14.0 * at as f64, "start", &label, &format!("fill=\"{}\"", series.colour));
        }
    }

    fn draw_series(&self, svg: &mut String, series: &Series) {
        let ends = [series.points.first(), series.points.last()].map(|end| end.map_or(1.0, |point| point.0));
        let [from, to] = ends.map(|x| (self.x(x), self.y(series.fit.at(x))));
        line(svg, from, to, series.colour, "stroke-dasharray=\"5 4\"");
        for &(x, y) in &series.points {
            let (x, y) = (self.x(x), self.y(y));
            let _ = writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{}"/>"#, series.colour);
        }
    }
}

pub(crate) fn draw(points: &[Point], exponents: &Exponents) -> String {
    let series = |name: &str, colour: &'static str, fit: Fit, value: fn(&Point) -> f64| Series {
        name: name.to_owned(),
        colour,
        points: points.iter().map(|point| (point.lines as f64, value(point))).collect(),
        fit,
    };
    let time = [
        series("Caulk", CAULK, exponents.cpu_by_lines, |point| point.cpu_seconds),
        series("clang, bitcode only", CLANG, exponents.clang_cpu_by_lines, |point| point.clang_cpu_seconds),
    ];
    let memory = [series("Caulk", CAULK, exponents.memory_by_lines, |point| point.peak_megabytes)];
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    Panel::new(0.0, &time).draw(&mut svg, "processor time, s", &time);
    Panel::new(WIDTH / 2.0, &memory).draw(&mut svg, "peak memory, MB", &memory);
    svg.push_str("</svg>\n");
    svg
}

/// The powers of ten around all values, as exponents.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let low = least.log10().floor();
    (low, most.log10().ceil().max(low + 1.0))
}

fn powers((low, high): (f64, f64)) -> std::ops::RangeInclusive<i32> {
    low as i32..=high as i32
}

fn figure(power: i32) -> String {
    match power {
        6..9 => format!("{} M", 10u32.pow(power as u32 - 6)),
        3..6 => format!("{} k", 10u32.pow(power as u32 - 3)),
        _ => format!("{}", 10f64.powi(power)),
    }
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, more: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(svg, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}" {more}/>"#);
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str, more: &str) {
    let _ = writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" {more}>{words}</text>"#);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_reach_the_next_power_of_ten() {
        assert_eq!(decades([12_000.0, 900_000.0].into_iter()), (4.0, 6.0));
        assert_eq!(decades([100.0, 100.0].into_iter()), (2.0, 3.0));
        assert_eq!([-1, 4, 6, 7].map(figure), ["0.1", "10 k", "1 M", "10 M"]);
    }

    #[test]
    fn every_point_is_drawn() {
        let point = |lines, cpu_seconds| Point {
            lines,
            units: 1,
            clang_cpu_seconds: cpu_seconds / 2.0,
            cpu_seconds,
            wall_seconds: cpu_seconds,
            peak_megabytes: 10.0 * cpu_seconds,
            others_cores: None,
        };
        let points = [point(10_000, 1.0), point(100_000, 11.0), point(1_000_000, 130.0)];
        let svg = draw(&points, &Exponents::of(&points).unwrap());
        assert_eq!(svg.matches("<circle").count(), 9);
        assert!(svg.contains("Caulk: exponent 1.06") && svg.ends_with("</svg>\n"));
    }
}
