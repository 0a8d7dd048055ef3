//! The exponent b of y = a x^b, by least squares on logarithms.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fit {
    pub factor: f64,
    pub exponent: f64,
    /// 1 when the points lie on the line.
    pub r_squared: f64,
}

impl Fit {
    pub(crate) fn at(&self, x: f64) -> f64 {
        self.factor * x.powf(self.exponent)
    }
}

/// Nothing for fewer than two different, positive points.
pub(crate) fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / count;
    let sum = |f: &dyn Fn(f64, f64) -> f64| logs.iter().map(|(x, y)| f(x - mean_x, y - mean_y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    if logs.len() < 2 || xx == 0.0 {
        return None;
    }
    let exponent = xy / xx;
    let factor = (mean_y - exponent * mean_x).exp();
    let r_squared = if yy == 0.0 { 1.0 } else { xy * xy / (xx * yy) };
    Some(Fit { factor, exponent, r_squared })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_found_again() {
        let points: Vec<(f64, f64)> = [1e4, 3e4, 1e5, 1e6].iter().map(|&x: &f64| (x, 0.25 * x.powf(1.3))).collect();
        let fit = fit(&points).unwrap();
        assert!((fit.exponent - 1.3).abs() < 1e-9 && (fit.factor - 0.25).abs() < 1e-9);
        assert!((fit.r_squared - 1.0).abs() < 1e-9);
        assert!((fit.at(100.0) - 0.25 * 100f64.powf(1.3)).abs() < 1e-6);
    }

    #[test]
    fn noise_shows() {
        let fit = fit(&[(1.0, 1.0), (10.0, 30.0), (100.0, 40.0), (1000.0, 1000.0)]).unwrap();
        assert!(fit.r_squared > 0.8 && fit.r_squared < 0.99);
    }

    #[test]
    fn one_size_has_no_exponent() {
        assert_eq!(fit(&[(5.0, 1.0), (5.0, 2.0)]), None);
        assert_eq!(fit(&[(5.0, 1.0), (0.0, 2.0)]), None);
        assert_eq!(fit(&[]), None);
    }
}
