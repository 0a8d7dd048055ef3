//! What a process used: time and memory, with all its children.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// How often the peak of the process itself is read while it runs. The kernel keeps the peak, so only what is added in
/// the time just before the end can be missed.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub wall_seconds: f64,
    /// User and system time of the process and of every child it waited for.
    pub cpu_seconds: f64,
    /// The largest of all processes.
    pub peak_kilobytes: u64,
    /// The process that was started, without its children; only where asked for.
    pub own_peak_kilobytes: Option<u64>,
}

impl Usage {
    /// Two things done one after the other.
    pub(crate) fn then(self, later: Usage) -> Usage {
        Usage {
            wall_seconds: self.wall_seconds + later.wall_seconds,
            cpu_seconds: self.cpu_seconds + later.cpu_seconds,
            peak_kilobytes: self.peak_kilobytes.max(later.peak_kilobytes),
            own_peak_kilobytes: self.own_peak_kilobytes.max(later.own_peak_kilobytes),
        }
    }
}

/// Bounds for each process of a peer, so that one odd unit does not hold up a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub cpu_seconds: u64,
    pub memory_bytes: u64,
}

impl Limits {
    pub(crate) fn apply(self, command: &mut Command) {
        let set = move || {
            set_limit(libc::RLIMIT_CPU, self.cpu_seconds)?;
            set_limit(libc::RLIMIT_AS, self.memory_bytes)
        };
        // SAFETY: between fork and exec only setrlimit is called, which is async-signal-safe.
        unsafe { command.pre_exec(set) };
    }
}

fn set_limit(resource: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: `limit` outlives the call.
    if unsafe { libc::setrlimit(resource, &limit) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What [`run`] does besides running.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    /// Watch the memory of the process itself, too.
    pub own_memory: bool,
    /// End the process and its children then.
    pub deadline: Option<Instant>,
}

/// Runs a command to its end, or to the deadline.
pub(crate) fn run(command: &mut Command, watch: Watch) -> io::Result<(ExitStatus, Usage)> {
    let start = Instant::now();
    if watch.deadline.is_some() {
        own_group(command);
    }
    let pid = command.spawn()?.id();
    let ended = AtomicBool::new(false);
    let (waited, own_peak_kilobytes, cpu_until_deadline) = std::thread::scope(|scope| {
        let sampler = watch.own_memory.then(|| scope.spawn(|| sample_peak(pid, &ended)));
        let ended_flag = &ended;
        let guard = watch.deadline.map(|deadline| scope.spawn(move || end_at(deadline, pid, ended_flag)));
        let waited = wait(pid).map(|(status, rusage)| (status, rusage, start.elapsed()));
        ended.store(true, Ordering::Relaxed);
        let own = sampler.and_then(|thread| thread.join().ok()).flatten();
        (waited, own, guard.and_then(|thread| thread.join().ok()).flatten())
    });
    let (status, rusage, wall) = waited?;
    let usage = Usage {
        wall_seconds: wall.as_secs_f64(),
        // Children that were ended with their parent were not waited for, and are missing from what it used.
        cpu_seconds: (seconds(rusage.ru_utime) + seconds(rusage.ru_stime)).max(cpu_until_deadline.unwrap_or(0.0)),
        peak_kilobytes: u64::try_from(rusage.ru_maxrss).unwrap_or(0),
        own_peak_kilobytes,
    };
    Ok((status, usage))
}

/// `Child::wait` does not tell what was used.
fn wait(pid: u32) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    let mut rusage = MaybeUninit::zeroed();
    loop {
        // SAFETY: both pointers are to locals, and nothing else waits for this child.
        let waited = unsafe { libc::wait4(pid as libc::pid_t, &mut status, 0, rusage.as_mut_ptr()) };
        if waited >= 0 {
            // SAFETY: wait4 succeeded and has filled it in.
            return Ok((ExitStatus::from_raw(status), unsafe { rusage.assume_init() }));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// A group of its own, so that its children can be ended with it. A terminal does not reach it any more, so the kernel is
/// asked to end it when we are.
fn own_group(command: &mut Command) {
    command.process_group(0);
    let set = || {
        // SAFETY: takes numbers only, and may be called between fork and exec.
        let done = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec only prctl is called.
    unsafe { command.pre_exec(set) };
}

/// What the whole group had used when it was ended; none when it ended by itself.
fn end_at(deadline: Instant, pid: u32, ended: &AtomicBool) -> Option<f64> {
    while !ended.load(Ordering::Relaxed) {
        if Instant::now() >= deadline {
            let used = crate::bench::machine::group_cpu_seconds(pid);
            // SAFETY: a call without pointers. The group is that of the child, which was not waited for yet, or which has
            // just ended; then there is no such group.
            unsafe { libc::killpg(pid as libc::pid_t, libc::SIGKILL) };
            return Some(used);
        }
        std::thread::sleep(SAMPLE_INTERVAL);
    }
    None
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

fn sample_peak(pid: u32, ended: &AtomicBool) -> Option<u64> {
    let path = format!("/proc/{pid}/status");
    let mut peak = None;
    while !ended.load(Ordering::Relaxed) {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        peak = peak.max(high_water_mark(&status));
        std::thread::sleep(SAMPLE_INTERVAL);
    }
    peak
}

fn high_water_mark(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    value.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_count() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; exit 3"]);
        let (status, usage) = run(&mut shell, Watch { own_memory: true, deadline: None }).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(usage.cpu_seconds > 0.0 && usage.wall_seconds > 0.0);
        assert!(usage.peak_kilobytes > 100);
        assert!(usage.own_peak_kilobytes.is_some_and(|own| own <= usage.peak_kilobytes));
    }

    #[test]
    fn a_deadline_ends_children_too() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sh -c 'while :; do :; done'; exit 0"]);
        let deadline = Some(Instant::now() + Duration::from_millis(500));
        let (status, usage) = run(&mut shell, Watch { own_memory: false, deadline }).unwrap();
        assert!(!status.success() && usage.wall_seconds < 30.0);
        assert!(usage.cpu_seconds > 0.02, "the child's time is missing: {usage:?}");
    }

    #[test]
    fn limits_reach_the_child() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "test \"$(ulimit -t)\" = 7"]);
        Limits { cpu_seconds: 7, memory_bytes: 1 << 30 }.apply(&mut shell);
        assert!(run(&mut shell, Watch::default()).unwrap().0.success());
    }

    #[test]
    fn the_peak_is_read_in_kilobytes() {
        assert_eq!(high_water_mark("VmPeak:\t  300 kB\nVmHWM:\t   1234 kB\n"), Some(1234));
        assert_eq!(high_water_mark("State:\tZ (zombie)\n"), None);
    }
}
