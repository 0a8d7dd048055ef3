//! What a child that runs the project's own code does to itself besides taking its limits: it gives up the network and the right to write
//! files, where the system lets it, and bounds its memory by what is written, not by addresses (LeakSanitizer reserves terabytes of these).

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getgid, getrlimit, getuid, setrlimit};

/// How much a child may write to its scratch folder.
#[cfg(target_os = "linux")]
const SCRATCH_OPTIONS: &CStr = c"size=16m";

/// Keeps a child from the network and from writing files. Systems that do not let an ordinary user do so run it with its limits alone.
/// The child runs in `scratch`: what it writes there goes with it.
pub(crate) fn isolate(command: &mut Command, scratch: &Path, data_bytes: u64) -> io::Result<()> {
    let scratch = CString::new(scratch.as_os_str().as_bytes())?;
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let users = CString::new(format!("{user} {user} 1"))?;
    let groups = CString::new(format!("{group} {group} 1"))?;
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken. The path is a string with its zero.
    unsafe {
        command.pre_exec(move || {
            let hard = getrlimit(Resource::Data).maximum.map_or(data_bytes, |maximum| maximum.min(data_bytes));
            setrlimit(Resource::Data, Rlimit { current: Some(hard), maximum: Some(hard) })?;
            fix_addresses();
            namespaces(&scratch, &users, &groups);
            if libc::chdir(scratch.as_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    Ok(())
}

/// Memory lies at the same addresses in every run, so that the same inputs show the same. Where that is forbidden, it does not.
#[cfg(target_os = "linux")]
fn fix_addresses() {
    // SAFETY: a system call that changes nothing but how the next program is loaded.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
}

#[cfg(not(target_os = "linux"))]
fn fix_addresses() {}

/// Whether that worked: all that is mounted is read-only, and an empty file system in memory lies over `scratch`.
#[cfg(target_os = "linux")]
fn namespaces(scratch: &CStr, users: &CStr, groups: &CStr) -> bool {
    let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
    // SAFETY: no memory is shared with another thread after a fork.
    if unsafe { libc::unshare(flags) } != 0 {
        return false;
    }
    // A user without a name in the namespace can make no file.
    put(c"/proc/self/setgroups", c"deny");
    put(c"/proc/self/uid_map", users);
    put(c"/proc/self/gid_map", groups);
    // mount_setattr(2), which neither libc nor rustix wraps.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        userns: u64,
    }
    const READ_ONLY: u64 = 1;
    let attributes = Attributes { set: READ_ONLY, clear: 0, propagation: libc::MS_PRIVATE, userns: 0 };
    // SAFETY: the path is a string with its zero, and the structure has the size that is named.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    // SAFETY: all are strings with their zero.
    let mounted = unsafe {
        libc::mount(c"scratch".as_ptr(), scratch.as_ptr(), c"tmpfs".as_ptr(), flags, SCRATCH_OPTIONS.as_ptr().cast())
    };
    result == 0 && mounted == 0
}

/// Writes a short text to a file that is there. What fails shows when the next step does.
#[cfg(target_os = "linux")]
fn put(file: &CStr, text: &CStr) {
    // SAFETY: both are strings with their zero, and so many bytes of the second are written.
    unsafe {
        let opened = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if opened >= 0 {
            libc::write(opened, text.as_ptr().cast(), text.count_bytes());
            libc::close(opened);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn namespaces(_: &CStr, _: &CStr, _: &CStr) -> bool {
    false
}
