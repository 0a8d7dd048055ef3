//! Runs one command for each unit, several at once, as Caulk does.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::bench::usage::{self, Usage, Watch};

#[derive(Debug)]
pub(crate) struct Finished {
    /// Processor time is summed, wall time is that of the whole.
    pub usage: Usage,
    /// Whether the unit was done, in order.
    pub succeeded: Vec<bool>,
    /// The time was up before all units were done.
    pub is_cut_off: bool,
}

impl Finished {
    pub(crate) fn failed_units(&self) -> usize {
        self.succeeded.iter().filter(|done| !**done).count()
    }
}

/// Where what the command for a unit says is kept.
pub(crate) fn messages(folder: &Path, unit: usize) -> std::path::PathBuf {
    folder.join(format!("{unit}.stderr"))
}

/// Runs `command(0)` to `command(units - 1)`; standard error goes to files in `folder` (see [`messages`]).
pub(crate) fn run(
    units: usize,
    threads: usize,
    folder: &Path,
    limit: Option<Duration>,
    command: &(dyn Fn(usize) -> Command + Sync),
) -> Result<Finished> {
    let start = Instant::now();
    let deadline = limit.map(|limit| start + limit);
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Usage::default(), vec![false; units]));
    let work = || -> Result<()> {
        loop {
            let unit = next.fetch_add(1, Ordering::Relaxed);
            if unit >= units || is_late() {
                return Ok(());
            }
            let (succeeded, usage) = run_one(command(unit), &messages(folder, unit), deadline)?;
            let mut done = done.lock().expect("no thread panics while it adds up");
            done.0 = done.0.then(usage);
            done.1[unit] = succeeded;
        }
    };
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a worker does not panic"))
    })?;
    let (mut usage, succeeded) = done.into_inner().expect("no thread panics while it adds up");
    usage.wall_seconds = start.elapsed().as_secs_f64();
    Ok(Finished { usage, succeeded, is_cut_off: is_late() })
}

fn run_one(mut command: Command, messages: &Path, deadline: Option<Instant>) -> Result<(bool, Usage)> {
    let stderr = File::create(messages).with_context(|| format!("cannot write {}", messages.display()))?;
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let name = command.get_program().to_string_lossy().into_owned();
    let watch = Watch { own_memory: false, deadline };
    let (status, usage) = usage::run(&mut command, watch).with_context(|| format!("cannot run {name}"))?;
    Ok((status.success(), usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_unit_is_started_when_the_time_is_up() {
        let folder = tempfile::tempdir().unwrap();
        let finished = run(4, 2, folder.path(), Some(Duration::ZERO), &|_| Command::new("true")).unwrap();
        assert!(finished.is_cut_off);
        assert_eq!(finished.failed_units(), 4);
    }

    #[test]
    fn every_unit_is_run_once_and_failures_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let command = |unit: usize| {
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("echo unit {unit} >&2; test {unit} -ne 2"));
            command
        };
        let finished = run(4, 2, folder.path(), None, &command).unwrap();
        assert_eq!(finished.succeeded, [true, true, false, true]);
        assert_eq!(std::fs::read_to_string(messages(folder.path(), 3)).unwrap(), "unit 3\n");
    }
}
