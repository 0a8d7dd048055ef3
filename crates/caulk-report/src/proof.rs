//! What the prover said of functions, in words of the source, for programs to read. Nothing of the IR is left in it.

use serde::Serialize;

use crate::finding::Site;
use crate::report::LostUnit;

/// The answer of `caulk prove`; `--format json` prints it as it is.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    pub functions: Vec<ProvedFunction>,
    /// What paths are relative to.
    #[serde(skip)]
    pub root: String,
    #[serde(skip)]
    pub units_not_read: Vec<LostUnit>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvedFunction {
    pub name: String,
    pub file: String,
    pub line: u32,
    /// Places where a reference goes, and the answer to the question whether it is the last.
    pub probes: usize,
    pub proved: usize,
    pub may_leak: usize,
    pub abandoned: usize,
    pub verdict: ProofVerdict,
    /// All that was not proved.
    pub traces: Vec<ProofTrace>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofVerdict {
    Proved,
    MayLeak,
    Abandoned,
    /// The function breaks what proofs rest on.
    Outside,
}

/// One question that was not answered with a proof.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofTrace {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// What goes, and how.
    pub message: String,
    pub outcome: ProofVerdict,
    /// Where the block may come from, or why there is no answer.
    pub because: String,
    /// From where the block comes from to where it may be lost.
    pub steps: Vec<Site>,
    /// What the answer cost, in applications of transfer functions.
    pub transfers: usize,
}

/// How many there are of each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofCounts {
    pub proved: usize,
    pub may_leak: usize,
    pub abandoned: usize,
    pub outside: usize,
}

impl Proof {
    pub fn count_functions(&self) -> ProofCounts {
        let mut counts = ProofCounts::default();
        for function in &self.functions {
            *match function.verdict {
                ProofVerdict::Proved => &mut counts.proved,
                ProofVerdict::MayLeak => &mut counts.may_leak,
                ProofVerdict::Abandoned => &mut counts.abandoned,
                ProofVerdict::Outside => &mut counts.outside,
            } += 1;
        }
        counts
    }

    /// Probes of a function that breaks the rules are outside, unless they have another answer than a proof.
    pub fn count_probes(&self) -> ProofCounts {
        let mut counts = ProofCounts::default();
        for function in &self.functions {
            counts.proved += function.proved;
            counts.may_leak += function.may_leak;
            counts.abandoned += function.abandoned;
            counts.outside += function.probes - function.proved - function.may_leak - function.abandoned;
        }
        counts
    }

    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("strings and numbers always serialise");
        text.push('\n');
        text
    }
}

impl ProvedFunction {
    pub fn site(&self) -> Site {
        Site { file: self.file.clone(), line: self.line, column: 0, function: self.name.clone() }
    }
}

impl ProofTrace {
    pub fn site(&self, function: &str) -> Site {
        Site { file: self.file.clone(), line: self.line, column: self.column, function: function.to_owned() }
    }
}
