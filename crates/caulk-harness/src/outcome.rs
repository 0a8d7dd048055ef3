//! What came of running a finding, and why it was not confirmed.

use std::fmt;

/// How one run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The function returned, after so many allocations, and LeakSanitizer looked.
    Returned {
        allocations: u32,
    },
    /// By a signal, at an address of the harness, and in which call of the function, by the number of its stub.
    Crashed {
        signal: i32,
        at: u64,
        call: Option<usize>,
    },
    /// The program called `exit` or a function like it, in this call of the function.
    Exited {
        call: Option<usize>,
    },
    TimedOut,
    /// LeakSanitizer could not do its work.
    Sanitizer(String),
    /// Anything else: the harness itself gave up, or was killed.
    Failed(String),
}

/// Why a finding was not confirmed by execution.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// What the finding rests on is no call of one function.
    NotOnePath(String),
    /// The function cannot be called from outside.
    Unsupported(String),
    DidNotCompile(String),
    DidNotLink(String),
    /// LeakSanitizer is not installed, or does not run here.
    NoSanitizer(String),
    /// No run ended within so many seconds.
    TimedOut(u64),
    /// The function crashed on all inputs that were tried; where.
    Crashed(String),
    /// It ended the process on all inputs that were tried.
    Exited,
    /// A stub was given the memory: whether the function that it stands for takes it is not known.
    HandedToStub(String),
    /// It returned, and the memory was not allocated there, or not lost; where the run that came farthest left the path.
    NotLost(String),
    /// The harness could not be made or run.
    Failed(String),
}

impl Reason {
    /// A few words by which reasons are counted together.
    pub fn group(&self) -> &'static str {
        match self {
            Reason::NotOnePath(_) => "not a leak of one call",
            Reason::Unsupported(_) => "the function cannot be called from outside",
            Reason::DidNotCompile(_) => "did not compile",
            Reason::DidNotLink(_) => "did not link",
            Reason::NoSanitizer(_) => "no LeakSanitizer",
            Reason::TimedOut(_) => "did not end in time",
            Reason::Crashed(_) => "crashed",
            Reason::Exited => "ended the process",
            Reason::HandedToStub(_) => "handed to a stub",
            Reason::NotLost(_) => "ran without that leak",
            Reason::Failed(_) => "the harness failed",
        }
    }

    /// What is particular to this finding.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Reason::NotOnePath(text)
            | Reason::Unsupported(text)
            | Reason::DidNotCompile(text)
            | Reason::DidNotLink(text)
            | Reason::NoSanitizer(text)
            | Reason::Crashed(text)
            | Reason::NotLost(text)
            | Reason::HandedToStub(text)
            | Reason::Failed(text) => Some(text),
            Reason::TimedOut(_) | Reason::Exited => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.detail()) {
            (Reason::TimedOut(seconds), _) => write!(f, "did not end within {seconds} s"),
            (_, Some("")) | (_, None) => f.write_str(self.group()),
            (_, Some(detail)) => write!(f, "{}: {detail}", self.group()),
        }
    }
}

/// What came of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// LeakSanitizer reported memory that was allocated at the finding's place.
    Confirmed {
        /// Bytes of one such block.
        bytes: u64,
        /// Functions that were called and replaced by stubs, by name.
        stubs: Vec<String>,
        /// Those of them that were given the memory: that they leave it to their caller is what the analysis says.
        trusted: Vec<String>,
        /// Those of the project's own functions that stubs stood for: that they may return this is what the analysis says.
        assumed: Vec<String>,
    },
    NotConfirmed(Reason),
}
