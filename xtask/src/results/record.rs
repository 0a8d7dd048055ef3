//! The forms in which measures are kept that have no form of their own, and everything that was kept.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::bench::growth;
use crate::bench::measure::{Measured, ProjectResult};
use crate::bench::report::Header;
use crate::verdicts::{self, Tally};
use crate::{juliet, realleaks, regress};

use super::store::Store;

/// What Caulk finds on a project; the report itself is a file beside this one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Findings {
    pub header: Header,
    pub project: String,
    /// Of the project.
    pub version: Option<String>,
    pub known: Option<Known>,
}

/// How many known leaks of a project are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    pub leaks: usize,
    pub exact: usize,
    pub named: usize,
}

impl Known {
    /// None when the list knows no leak of the project.
    pub(crate) fn of(count: realleaks::Count) -> Option<Self> {
        (count.leaks > 0).then_some(Self { leaks: count.leaks, exact: count.exact, named: count.named })
    }
}

/// What Caulk and clang cost on a project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProjectRun {
    pub header: Header,
    pub result: ProjectResult,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PeerRun {
    pub header: Header,
    pub version: String,
    pub others_cores: Option<f64>,
    pub measured: Measured,
}

/// All that is known of one project.
#[derive(Debug)]
pub(crate) struct ProjectRecord {
    pub name: String,
    pub findings: Option<Findings>,
    pub verdicts: Option<Tally>,
    pub cost: Option<ProjectRun>,
    pub peers: Vec<PeerRun>,
}

/// Everything that was kept.
#[derive(Debug)]
pub(crate) struct Record {
    pub juliet: Option<juliet::Report>,
    pub growth: Option<growth::Report>,
    pub regress: Option<regress::Report>,
    pub projects: Vec<ProjectRecord>,
}

/// In the order in which their columns are shown.
pub(crate) const PEERS: [&str; 4] = ["cppcheck", "gcc-fanalyzer", "clang-analyze", "saber-leak"];

impl Record {
    pub(crate) fn read(store: &Store, projects: &[String]) -> Result<Self> {
        let read = projects.iter().map(|name| ProjectRecord::read(store, name)).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            juliet: store.get("juliet"),
            growth: store.get("growth"),
            regress: store.get("regress"),
            projects: read.into_iter().filter(|project| !project.is_empty()).collect(),
        })
    }

    /// Of every measure of Caulk itself.
    pub(crate) fn headers(&self) -> Vec<&Header> {
        let mut headers: Vec<&Header> = Vec::new();
        headers.extend(self.juliet.iter().map(|report| &report.header));
        headers.extend(self.growth.iter().map(|report| &report.header));
        headers.extend(self.regress.iter().map(|report| &report.header));
        for project in &self.projects {
            headers.extend(project.findings.iter().map(|findings| &findings.header));
            headers.extend(project.cost.iter().map(|run| &run.header));
        }
        headers
    }
}

impl ProjectRecord {
    fn is_empty(&self) -> bool {
        self.verdicts.is_none() && self.cost.is_none() && self.peers.is_empty()
    }

    fn read(store: &Store, name: &str) -> Result<Self> {
        let report = store.path(&format!("{name}.sarif"));
        let verdicts = match report.exists() {
            true => Some(verdicts::Case::read(&verdicts::folder(), name, &report)?.tally()),
            false => None,
        };
        Ok(Self {
            name: name.to_owned(),
            findings: store.get(&format!("findings-{name}")),
            verdicts,
            cost: store.get(&format!("cost-{name}")),
            peers: PEERS.iter().filter_map(|peer| store.get(&format!("peer-{name}-{peer}"))).collect(),
        })
    }

    /// Caulk and its peers side by side.
    pub(crate) fn side_by_side(&self) -> Option<ProjectResult> {
        let mut result = self.cost.as_ref()?.result.clone();
        result.tools.extend(self.peers.iter().map(|peer| peer.measured.clone()));
        let disturbed = self.peers.iter().filter_map(|peer| peer.others_cores).chain(result.others_cores);
        result.others_cores = disturbed.reduce(f64::max);
        Some(result)
    }
}
