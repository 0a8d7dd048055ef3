//! Looks after a running child: reads what it says, and notices when it ends or is overdue.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::limits::Limits;

/// How often a child is looked at where the kernel cannot tell that it has ended.
const TICK: Duration = Duration::from_millis(10);
/// Reads of one pipe before the clock is looked at again.
const READS_IN_A_ROW: usize = 16;

/// What was heard from a child until it ended or was overdue. It is not yet reaped.
#[derive(Default)]
pub(crate) struct Heard {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub is_overdue: bool,
}

/// Waits until the child has ended, or its time is over.
pub(crate) fn attend(child: &mut Child, pid: Pid, limits: &Limits) -> io::Result<Heard> {
    let started = Instant::now();
    let end = End::of(pid);
    let mut stdout = Pipe::<ChildStdout>::new(child.stdout.take(), limits.kept_output_bytes)?;
    let mut stderr = Pipe::<ChildStderr>::new(child.stderr.take(), limits.kept_output_bytes)?;
    let mut is_overdue = false;
    loop {
        let left = limits.time.saturating_sub(started.elapsed());
        if left.is_zero() {
            is_overdue = true;
            break;
        }
        wait_for_news(&stdout, &stderr, &end, left)?;
        // Asked before reading, so that what was written before the end is read.
        let has_ended = end.has_come(pid)?;
        stdout.drain()?;
        stderr.drain()?;
        if has_ended {
            break;
        }
    }
    Ok(Heard { stdout: stdout.kept, stderr: stderr.kept, is_overdue })
}

fn wait_for_news(stdout: &Pipe<ChildStdout>, stderr: &Pipe<ChildStderr>, end: &End, left: Duration) -> io::Result<()> {
    let mut fds = Vec::with_capacity(3);
    fds.extend(stdout.file.as_ref().map(|f| PollFd::new(f, PollFlags::IN)));
    fds.extend(stderr.file.as_ref().map(|f| PollFd::new(f, PollFlags::IN)));
    fds.extend(end.0.as_ref().map(|f| PollFd::new(f, PollFlags::IN)));
    let time = if end.0.is_some() { left } else { left.min(TICK) };
    let time =
        Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() };
    match poll(&mut fds, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The end of a child, as something to wait for, where the kernel has that.
struct End(Option<OwnedFd>);

impl End {
    #[cfg(target_os = "linux")]
    fn of(pid: Pid) -> Self {
        Self(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok())
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_: Pid) -> Self {
        Self(None)
    }

    /// The child stays a zombie, so its number is not given to another process before its group has been ended.
    fn has_come(&self, pid: Pid) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), options) {
            Ok(status) => Ok(status.is_some()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// One pipe from a child, of which the beginning is kept.
struct Pipe<F> {
    file: Option<F>,
    kept: Vec<u8>,
    most: usize,
}

impl<F: Read + AsFd> Pipe<F> {
    fn new(file: Option<F>, most: usize) -> io::Result<Self> {
        if let Some(file) = &file {
            rustix::io::ioctl_fionbio(file, true)?;
        }
        Ok(Self { file, kept: Vec::new(), most })
    }

    fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        for _ in 0..READS_IN_A_ROW {
            let Some(file) = &mut self.file else { return Ok(()) };
            match file.read(&mut buffer) {
                Ok(0) => self.file = None,
                Ok(read) => {
                    let room = self.most.saturating_sub(self.kept.len());
                    self.kept.extend_from_slice(&buffer[..read.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
