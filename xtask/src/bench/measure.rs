//! Runs tools in turns over a project, so that what disturbs the machine disturbs them alike.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::bench::machine;
use crate::bench::project::Project;
use crate::bench::tools::{Sample, Setting, Tool};

/// A tool, and how often it runs on each project.
pub(crate) struct Entry {
    pub tool: Box<dyn Tool>,
    pub runs: usize,
}

/// All runs of one tool on one project. There is at least one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub tool: String,
    pub runs: Vec<Sample>,
}

impl Measured {
    /// The fastest run is the one least disturbed.
    pub(crate) fn cpu(&self) -> f64 {
        self.runs.iter().map(|run| run.usage.cpu_seconds).fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn wall(&self) -> f64 {
        self.runs.iter().map(|run| run.usage.wall_seconds).fold(f64::INFINITY, f64::min)
    }

    /// How much more processor time the slowest run took than the fastest, as a part of it.
    pub(crate) fn spread(&self) -> f64 {
        let most = self.runs.iter().map(|run| run.usage.cpu_seconds).fold(0.0, f64::max);
        most / self.cpu() - 1.0
    }

    /// The largest of all runs: memory is not disturbed by others, only at random.
    pub(crate) fn peak_kilobytes(&self) -> u64 {
        self.runs.iter().map(|run| run.usage.peak_kilobytes).max().unwrap_or(0)
    }

    pub(crate) fn own_peak_kilobytes(&self) -> Option<u64> {
        self.runs.iter().filter_map(|run| run.usage.own_peak_kilobytes).max()
    }

    pub(crate) fn leaks(&self) -> Option<usize> {
        self.runs.last().and_then(|run| run.leaks)
    }

    pub(crate) fn is_cut_off(&self) -> bool {
        self.runs.iter().any(|run| run.is_cut_off)
    }

    pub(crate) fn failed_units(&self) -> usize {
        self.runs.iter().map(|run| run.failed_units).max().unwrap_or(0)
    }
}

/// Everything measured on one project; the first tool is clang alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProjectResult {
    pub project: String,
    pub units: usize,
    pub lines: usize,
    /// How many cores others kept busy meanwhile, on average.
    pub others_cores: Option<f64>,
    pub tools: Vec<Measured>,
}

impl ProjectResult {
    /// Processor time relative to clang alone.
    pub(crate) fn ratio(&self, tool: &Measured) -> f64 {
        tool.cpu() / self.tools[0].cpu()
    }
}

pub(crate) fn measure(project: &Project, entries: &mut [Entry], setting: &Setting) -> Result<ProjectResult> {
    for entry in entries.iter_mut() {
        let tool = &mut entry.tool;
        tool.prepare(project, setting).with_context(|| format!("preparing {} on {}", tool.name(), project.name))?;
    }
    let mut tools: Vec<Measured> =
        entries.iter().map(|entry| Measured { tool: entry.tool.name(), runs: Vec::new() }).collect();
    let mut others = Others::default();
    let iterations = entries.iter().map(|entry| entry.runs).max().unwrap_or(0);
    for iteration in 0..iterations {
        for (entry, measured) in entries.iter().zip(&mut tools).filter(|(entry, _)| iteration < entry.runs) {
            eprintln!("bench: {}: {} ({} of {})", project.name, measured.tool, iteration + 1, entry.runs);
            let before = machine::busy_seconds();
            let sample = entry.tool.run(project, setting)?;
            others.add(before, &sample);
            measured.runs.push(sample);
        }
    }
    Ok(ProjectResult {
        project: project.name.clone(),
        units: project.jobs.len(),
        lines: project.total_lines(),
        others_cores: others.cores(),
        tools,
    })
}

/// What processes that are not ours used while ours ran.
#[derive(Debug, Default)]
struct Others {
    cpu_seconds: f64,
    wall_seconds: f64,
}

impl Others {
    fn add(&mut self, busy_before: Option<f64>, sample: &Sample) {
        if let (Some(before), Some(after)) = (busy_before, machine::busy_seconds()) {
            self.cpu_seconds += (after - before - sample.usage.cpu_seconds).max(0.0);
            self.wall_seconds += sample.usage.wall_seconds;
        }
    }

    fn cores(&self) -> Option<f64> {
        (self.wall_seconds > 0.0).then(|| self.cpu_seconds / self.wall_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::usage::Usage;

    #[test]
    fn the_fastest_run_counts_for_time_and_the_largest_for_memory() {
        let run = |cpu_seconds, wall_seconds, peak_kilobytes| Sample {
            usage: Usage { cpu_seconds, wall_seconds, peak_kilobytes, own_peak_kilobytes: None },
            ..Sample::default()
        };
        let measured = Measured { tool: "t".into(), runs: vec![run(2.0, 1.5, 10), run(2.5, 1.0, 30)] };
        assert_eq!((measured.cpu(), measured.wall(), measured.spread()), (2.0, 1.0, 0.25));
        assert_eq!(measured.peak_kilobytes(), 30);
    }
}
