//! Which verdict is about which finding of a run.
//!
//! A fingerprint alone does not tell: findings that are alike are numbered in the order of their places (`0a`, `0a-2`), so
//! when one goes the next takes its name. Verdicts are about fixed versions of projects, so the place must fit as well.

use crate::sarif::{Finding, Place};

use super::file::{Reading, Verdict};

/// A finding, as verdicts name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub fingerprint: String,
    pub place: String,
    /// The further places of loss.
    pub also: Vec<String>,
    pub message: String,
}

impl Named {
    /// None for a finding that is not Caulk's, or has no place.
    pub(crate) fn of(finding: &Finding) -> Option<Self> {
        let lost = finding.main.first()?;
        let variable = finding.variable.as_deref().unwrap_or("-");
        let named = |place: &Place| format!("{}:{} {variable}", place.file, place.line);
        Some(Self {
            fingerprint: finding.fingerprint.clone()?,
            place: named(lost),
            also: finding.also.iter().map(named).collect(),
            message: finding.message.clone(),
        })
    }

    fn places(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.place).chain(&self.also)
    }

    /// A third of all findings, by lot: fingerprints are hashes.
    pub(crate) fn is_read_twice(&self) -> bool {
        u64::from_str_radix(stem(&self.fingerprint), 16).is_ok_and(|number| number % 3 == 0)
    }
}

/// The reading of a finding. One that is real at any of its places is real.
pub(crate) fn find<'r>(readings: &'r [Reading], finding: &Named) -> Option<&'r Reading> {
    let worth = |reading: &&Reading| match reading.verdict {
        Verdict::Real => 0,
        Verdict::Unsure => 1,
        Verdict::False => 2,
    };
    finding.places().filter_map(|place| find_at(readings, finding, place)).min_by_key(worth)
}

/// The reading of a place: that of its fingerprint there, else of its like there, if all of them say the same.
fn find_at<'r>(readings: &'r [Reading], finding: &Named, place: &str) -> Option<&'r Reading> {
    let is_like = |r: &&Reading| stem(&r.fingerprint) == stem(&finding.fingerprint) && r.place == place;
    let like: Vec<&Reading> = readings.iter().filter(is_like).collect();
    let same = like.iter().find(|reading| reading.fingerprint == finding.fingerprint);
    let agree = like.iter().all(|reading| reading.verdict == like[0].verdict);
    same.or(like.first().filter(|_| agree)).copied()
}

/// The readings that are about no finding of a run: it is not reported any more.
pub(crate) fn gone<'r>(readings: &'r [Reading], findings: &[Named]) -> Vec<&'r Reading> {
    let is_found = |reading: &Reading| {
        let is_there = |f: &Named| f.places().any(|place| *place == reading.place);
        findings.iter().any(|f| is_there(f) && stem(&f.fingerprint) == stem(&reading.fingerprint))
    };
    readings.iter().filter(|reading| !is_found(reading)).collect()
}

/// What both readers said, of the findings that were read twice.
pub(crate) fn pairs(first: &[Reading], second: &[Reading], findings: &[Named]) -> Vec<(Verdict, Verdict)> {
    let both = |finding| Some((find(first, finding)?.verdict, find(second, finding)?.verdict));
    findings.iter().filter_map(both).collect()
}

/// A fingerprint without its number among its like.
fn stem(fingerprint: &str) -> &str {
    fingerprint.split_once('-').map_or(fingerprint, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdicts::file::parse;

    fn named(fingerprint: &str, place: &str) -> Named {
        Named { fingerprint: fingerprint.into(), place: place.into(), also: Vec::new(), message: String::new() }
    }

    #[test]
    fn a_finding_that_takes_the_name_of_another_keeps_its_own_verdict() {
        let readings = parse("0a\treal\ta.c:1 p\tx\n0a-2\tfalse\ta.c:9 p\ty\n").unwrap();
        let verdict = |finding| find(&readings, &finding).map(|r| r.verdict);
        assert_eq!(verdict(named("0a", "a.c:1 p")), Some(Verdict::Real));
        assert_eq!(verdict(named("0a", "a.c:9 p")), Some(Verdict::False));
        assert_eq!(verdict(named("0a", "a.c:5 p")), None);
        assert_eq!(verdict(named("0b", "a.c:1 p")), None);
    }

    #[test]
    fn alike_at_one_place_are_distinguished_by_their_numbers_or_not_at_all() {
        let readings = parse("0a\treal\ta.c:1 p\tx\n0a-2\tfalse\ta.c:1 p\ty\n").unwrap();
        let verdict = |fingerprint| find(&readings, &named(fingerprint, "a.c:1 p")).map(|r| r.verdict);
        assert_eq!((verdict("0a-2"), verdict("0a-3")), (Some(Verdict::False), None));
    }

    #[test]
    fn a_finding_is_real_when_one_of_its_places_is() {
        let readings = parse("0a\tfalse\ta.c:1 p\tx\n0a\treal\ta.c:9 p\ty\n").unwrap();
        let several = Named { also: vec!["a.c:5 p".into(), "a.c:9 p".into()], ..named("0a", "a.c:1 p") };
        assert_eq!(find(&readings, &several).map(|r| r.verdict), Some(Verdict::Real));
        assert!(gone(&readings, &[several]).is_empty());
    }

    #[test]
    fn what_is_not_reported_any_more_is_gone() {
        let readings = parse("0a\treal\ta.c:1 p\tx\n0a-2\treal\ta.c:9 p\ty\n").unwrap();
        let left: Vec<_> = gone(&readings, &[named("0a", "a.c:9 p")]);
        assert_eq!(left, [&readings[0]]);
    }

    #[test]
    fn only_findings_that_both_have_read_are_compared() {
        let first = parse("0a\treal\ta.c:1 p\tx\n0b\tfalse\ta.c:2 p\ty\n").unwrap();
        let second = parse("0a\tunsure\ta.c:1 p\tz\n").unwrap();
        let findings = [named("0a", "a.c:1 p"), named("0b", "a.c:2 p")];
        assert_eq!(pairs(&first, &second, &findings), [(Verdict::Real, Verdict::Unsure)]);
    }

    #[test]
    fn every_third_fingerprint_is_drawn() {
        assert!(named("000000000000000c", "").is_read_twice() && named("c-2", "").is_read_twice());
        assert!(!named("000000000000000d", "").is_read_twice() && !named("x", "").is_read_twice());
    }
}
