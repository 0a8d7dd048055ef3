//! Runs a program to its end, or to the end of its time.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::attend::attend;
use crate::confine::{attach, confine};
use crate::find::only_absolute;
use crate::lifeline::{Lifeline, Tie};
use crate::limits::Limits;
use crate::sandbox::isolate;

/// How children are run.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    pub limits: Limits,
    pub lifeline: Lifeline,
}

/// What a child left.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    /// The beginning of each, as much as the limits let be kept.
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// It was ended because its time was over.
    pub is_overdue: bool,
}

impl Runner {
    /// Runs a program within the limits. Whatever it started and left behind in its process group ends with it.
    pub fn run(&self, command: Command) -> io::Result<Finished> {
        self.run_to_end(command, &self.limits)
    }

    /// Runs code of the project, as the user has asked for: in an existing folder, without network and without another file that it could
    /// write, where the system allows that. The limit of memory is one of memory that is written; addresses are free.
    pub fn run_isolated(&self, mut command: Command, scratch: &Path) -> io::Result<Finished> {
        isolate(&mut command, scratch, self.limits.memory_bytes)?;
        self.run_to_end(command, &Limits { memory_bytes: u64::MAX, ..self.limits.clone() })
    }

    fn run_to_end(&self, mut command: Command, limits: &Limits) -> io::Result<Finished> {
        let path = only_absolute(&std::env::var_os("PATH").unwrap_or_default());
        command.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        confine(&mut command, limits);
        let mut child = command.spawn()?;
        let pid = pid_of(&child)?;
        self.lifeline.enter(pid, Tie::Group);
        let heard = attend(&mut child, pid, limits);
        let status = self.lifeline.leave(child, pid, Tie::Group)?;
        let heard = heard?;
        Ok(Finished { status, stdout: heard.stdout, stderr: heard.stderr, is_overdue: heard.is_overdue })
    }
}

impl Lifeline {
    /// Runs a program of the user's own on the user's terminal, without limits. Signals that end Caulk reach it too.
    pub fn run_attached(&self, mut command: Command) -> io::Result<ExitStatus> {
        attach(&mut command);
        let child = command.spawn()?;
        let pid = pid_of(&child)?;
        self.enter(pid, Tie::Attached);
        // The zombie keeps its number until it is off the list.
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {
        }
        self.leave(child, pid, Tie::Attached)
    }
}

fn pid_of(child: &Child) -> io::Result<Pid> {
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    number.ok_or_else(|| io::Error::other("the child has no process number"))
}
