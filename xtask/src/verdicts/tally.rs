//! How many findings of a run are real, as far as they were read.

use serde::Serialize;

use super::file::{Reading, Verdict};
use super::matching::{self, Named};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub findings: usize,
    pub real: usize,
    #[serde(rename = "false")]
    pub wrong: usize,
    pub unsure: usize,
    pub unread: usize,
    /// Read a second time, without sight of the first verdict, ...
    pub read_twice: usize,
    /// ... with the same verdict.
    pub agreed: usize,
    /// Verdicts on what is not reported any more, ...
    pub gone: usize,
    /// ... and those of them that say it was a leak.
    pub gone_real: usize,
}

impl Tally {
    pub(crate) fn of(first: &[Reading], second: &[Reading], findings: &[Named]) -> Self {
        let mut tally = Self { findings: findings.len(), ..Self::default() };
        for finding in findings {
            match matching::find(first, finding).map(|reading| reading.verdict) {
                Some(Verdict::Real) => tally.real += 1,
                Some(Verdict::False) => tally.wrong += 1,
                Some(Verdict::Unsure) => tally.unsure += 1,
                None => tally.unread += 1,
            }
        }
        let pairs = matching::pairs(first, second, findings);
        tally.read_twice = pairs.len();
        tally.agreed = pairs.iter().filter(|(one, other)| one == other).count();
        let gone = matching::gone(first, findings);
        tally.gone = gone.len();
        tally.gone_real = gone.iter().filter(|reading| reading.verdict == Verdict::Real).count();
        tally
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.findings += other.findings;
        self.real += other.real;
        self.wrong += other.wrong;
        self.unsure += other.unsure;
        self.unread += other.unread;
        self.read_twice += other.read_twice;
        self.agreed += other.agreed;
        self.gone += other.gone;
        self.gone_real += other.gone_real;
    }

    /// Real ones among those read; one of which no reader is sure counts as not real.
    pub(crate) fn precision(&self) -> Option<f64> {
        let read = self.findings - self.unread;
        (read > 0).then(|| self.real as f64 / read as f64)
    }

    pub(crate) fn print(&self, project: &str) -> String {
        let percent = self.precision().map_or_else(String::new, |p| format!(" ({:.0} % of those read)", p * 100.0));
        format!(
            "{project}: {} findings: {} real{percent}, {} false, {} unsure, {} unread\n\
             {project}: {} read twice, {} agree; {} verdicts on what is not reported any more, {} of them real\n",
            self.findings,
            self.real,
            self.wrong,
            self.unsure,
            self.unread,
            self.read_twice,
            self.agreed,
            self.gone,
            self.gone_real
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdicts::file::parse;

    #[test]
    fn figures_add_up() {
        let first = "0a\treal\ta.c:1 p\tx\n0b\tfalse\ta.c:2 p\tx\n0c\tunsure\ta.c:3 p\tx\n0d\treal\ta.c:4 p\tx\n";
        let second = "0a\treal\ta.c:1 p\tx\n0b\treal\ta.c:2 p\tx\n";
        let named = |line: usize| Named {
            fingerprint: ["0a", "0b", "0c", "0e"][line - 1].into(),
            place: format!("a.c:{line} p"),
            also: Vec::new(),
            message: String::new(),
        };
        let findings: Vec<Named> = (1..=4).map(named).collect();
        let tally = Tally::of(&parse(first).unwrap(), &parse(second).unwrap(), &findings);
        let expected = Tally {
            findings: 4,
            real: 1,
            wrong: 1,
            unsure: 1,
            unread: 1,
            read_twice: 2,
            agreed: 1,
            gone: 1,
            gone_real: 1,
        };
        assert_eq!(tally, expected);
        assert!(
            tally.print("a").starts_with("a: 4 findings: 1 real (33 % of those read), 1 false, 1 unsure, 1 unread\n")
        );
        let mut sum = tally;
        sum.add(&tally);
        assert_eq!((sum.findings, sum.gone_real), (8, 2));
        assert_eq!(Tally::default().precision(), None);
    }
}
