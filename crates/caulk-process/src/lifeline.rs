//! What must not outlive Caulk: children and temporary folders.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Tries to remove a folder into which a dying child may still write.
const REMOVALS: usize = 50;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(10);

/// The children that run and the folders that are in use. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Lifeline(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    /// Leaders of process groups.
    groups: BTreeSet<i32>,
    /// Processes that share the terminal with us.
    attached: BTreeSet<i32>,
    folders: BTreeSet<PathBuf>,
}

/// A temporary folder that goes when this does, or when a signal ends Caulk.
#[derive(Debug)]
pub struct TempFolder {
    /// Taken when it is dropped.
    folder: Option<tempfile::TempDir>,
    path: PathBuf,
    lifeline: Lifeline,
}

impl TempFolder {
    /// Absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Removed under the lock: off the list and still there, a signal would leave it behind.
        let mut state = self.lifeline.state();
        if let Some(folder) = self.folder.take() {
            state.folders.remove(folder.path());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// The leader of a process group of its own.
    Group,
    /// In our own group.
    Attached,
}

impl Lifeline {
    pub fn temp_folder(&self) -> io::Result<TempFolder> {
        // Under the lock, so that no folder is made after the last look at the list.
        let mut state = self.running_state();
        let folder = tempfile::Builder::new().prefix("caulk-").tempdir()?;
        state.folders.insert(folder.path().to_owned());
        let path = folder.path().canonicalize()?;
        drop(state);
        Ok(TempFolder { folder: Some(folder), path, lifeline: self.clone() })
    }

    /// Ends all children and removes all temporary folders. Threads that have to do with children stop for good.
    pub(crate) fn cut(&self, signal: Signal) {
        let mut state = self.state();
        state.is_over = true;
        for pid in state.groups.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        for pid in state.attached.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, signal);
        }
        state.folders.iter().for_each(|folder| remove(folder));
    }

    pub(crate) fn enter(&self, pid: Pid, tie: Tie) {
        let mut state = self.running_state();
        match tie {
            Tie::Group => state.groups.insert(pid.as_raw_nonzero().get()),
            Tie::Attached => state.attached.insert(pid.as_raw_nonzero().get()),
        };
    }

    /// Ends what is left of the child's group and reaps it. The number is taken off the list before it can mean another
    /// process.
    pub(crate) fn leave(&self, mut child: Child, pid: Pid, tie: Tie) -> io::Result<ExitStatus> {
        let mut state = self.running_state();
        if tie == Tie::Group {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let status = child.wait();
        state.groups.remove(&pid.as_raw_nonzero().get());
        state.attached.remove(&pid.as_raw_nonzero().get());
        status
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list while Caulk runs. When it is about to end by a signal this does not return: a thread that went on would
    /// report units as lost whose clang was ended by ourselves.
    fn running_state(&self) -> MutexGuard<'_, State> {
        let state = self.state();
        if !state.is_over {
            return state;
        }
        drop(state);
        loop {
            std::thread::park();
        }
    }
}

fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(BETWEEN_REMOVALS),
            _ => return,
        }
    }
}
