//! What a child does to itself between fork and exec: it takes its limits, and ties its life to ours.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal, getpid, getppid, getrlimit, setrlimit};

use crate::limits::Limits;

/// A process group of its own, limits, and an end with Caulk.
pub(crate) fn confine(command: &mut Command, limits: &Limits) {
    let seconds = limits.time.as_secs().saturating_add(1);
    let signalled = limits.processor_time.map(|time| time.as_secs().max(1).min(seconds));
    let bounds = [
        (Resource::As, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        // For what the child starts: that does not end when the child is ended from outside.
        (Resource::Cpu, seconds),
        // A crash must not leave a core file in the project.
        (Resource::Core, 0),
    ];
    command.process_group(0);
    let parent = getpid();
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken.
    unsafe {
        command.pre_exec(move || {
            bounds.iter().try_for_each(|(resource, most)| lower(*resource, *most))?;
            signalled.map_or(Ok(()), signal_after)?;
            die_with(parent, Signal::KILL)
        });
    }
}

/// An end with Caulk, and nothing else: for a build that the user watches.
pub(crate) fn attach(command: &mut Command) {
    let parent = getpid();
    // SAFETY: as above.
    unsafe {
        command.pre_exec(move || die_with(parent, Signal::TERM));
    }
}

/// A limit can be lowered below what the user's shell has set, and never raised.
fn lower(resource: Resource, most: u64) -> io::Result<()> {
    let hard = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) })?)
}

/// The kernel sends `SIGXCPU` after so many seconds of processor time. The hard limit stays, and its end is `SIGKILL`.
fn signal_after(seconds: u64) -> io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Cpu);
    let current = maximum.map_or(seconds, |maximum| maximum.min(seconds));
    Ok(setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum })?)
}

/// The kernel sends `signal` when the thread that started the child ends. That thread waits for the child, so it ends
/// early only together with the whole process.
#[cfg(target_os = "linux")]
fn die_with(parent: Pid, signal: Signal) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    // The parent may have ended before the request was made.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from(io::ErrorKind::Interrupted)) }
}

#[cfg(not(target_os = "linux"))]
fn die_with(parent: Pid, _: Signal) -> io::Result<()> {
    if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from(io::ErrorKind::Interrupted)) }
}
