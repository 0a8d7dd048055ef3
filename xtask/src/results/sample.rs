//! A small record, for the tests of what is written.

use crate::bench::measure::{Measured, ProjectResult};
use crate::bench::report::Header;
use crate::bench::tools::Sample;
use crate::bench::usage::Usage;
use crate::verdicts::Tally;

use super::record::{Findings, Known, PeerRun, ProjectRecord, ProjectRun, Record};

pub(crate) fn header(commit: &str) -> Header {
    Header {
        date: "2026-01-01 10:00 UTC".into(),
        machine: "2 cores".into(),
        jobs: 2,
        commit: commit.into(),
        versions: vec!["caulk 1".into(), "clang 19".into()],
        command: "cargo xtask results".into(),
    }
}

fn measured(tool: &str, cpu_seconds: f64) -> Measured {
    let usage = Usage { wall_seconds: 1.0, cpu_seconds, peak_kilobytes: 1000, own_peak_kilobytes: None };
    Measured { tool: tool.into(), runs: vec![Sample { usage, leaks: Some(3), ..Sample::default() }] }
}

/// One project with everything, measured at two commits.
pub(crate) fn record() -> Record {
    let tools = vec![
        measured("clang, bitcode only", 2.0),
        measured("caulk check, cold, new cache", 3.0),
        measured("caulk check, warm", 0.5),
    ];
    let result = ProjectResult { project: "p".into(), units: 2, lines: 1234, others_cores: Some(0.0), tools };
    let known = Some(Known { leaks: 4, exact: 2, named: 3 });
    let project = ProjectRecord {
        name: "p".into(),
        findings: Some(Findings { header: header("a1"), project: "p".into(), version: Some("v1".into()), known }),
        verdicts: Some(Tally {
            findings: 10,
            real: 6,
            wrong: 2,
            unread: 2,
            read_twice: 3,
            agreed: 2,
            ..Tally::default()
        }),
        cost: Some(ProjectRun { header: header("b2"), result }),
        peers: vec![PeerRun {
            header: header("a1"),
            version: "Cppcheck 2".into(),
            others_cores: Some(0.5),
            measured: measured("cppcheck", 8.0),
        }],
    };
    Record { juliet: None, growth: None, regress: None, projects: vec![project] }
}
