//! How much a child may use.

use std::time::Duration;

/// How much a child may use. Every bound also holds for what the child starts itself, by inheritance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time; the same amount of processor time is a second bound. The slowest units of large C++ projects take
    /// about a minute on one core.
    pub time: Duration,
    /// Processor time after which the child gets `SIGXCPU`. Unlike wall-clock time it does not depend on what else the machine does.
    pub processor_time: Option<Duration>,
    /// Address space. The largest units that are met take about 2 GiB.
    pub memory_bytes: u64,
    /// The longest file it may write: a full disk hurts more than a lost unit.
    pub file_bytes: u64,
    /// How much of each of standard output and standard error is kept. The rest is read and dropped.
    pub kept_output_bytes: usize,
}

impl Limits {
    pub const DEFAULT: Limits = Limits {
        time: Duration::from_secs(300),
        processor_time: None,
        memory_bytes: 4 << 30,
        file_bytes: 1 << 30,
        kept_output_bytes: 256 << 10,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
