//! Functions of the system that a harness does not simply call.

/// They change the world outside of the process, or leave it: in a harness they fail, unless a plan says otherwise.
pub(crate) const FORBIDDEN: &[&str] = &[
    "kill",
    "killpg",
    "tgkill",
    "reboot",
    "system",
    "popen",
    "execl",
    "execlp",
    "execle",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "fexecve",
    "posix_spawn",
    "posix_spawnp",
    "fork",
    "vfork",
    "daemon",
    "forkpty",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "remove",
    "truncate",
    "ftruncate",
    "chmod",
    "fchmod",
    "fchmodat",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "mkdir",
    "mkdirat",
    "symlink",
    "symlinkat",
    "link",
    "linkat",
    "mknod",
    "mkfifo",
    "chroot",
    "mount",
    "umount",
    "umount2",
    "setuid",
    "setgid",
    "seteuid",
    "setegid",
    "setreuid",
    "setregid",
    "setresuid",
    "setresgid",
    "setgroups",
    "initgroups",
    "ptrace",
    "prctl",
    "socket",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "sethostname",
    "settimeofday",
    "clock_settime",
    "syslog",
    "shutdown",
    "sleep",
    "usleep",
    "nanosleep",
    "pause",
    "select",
    "poll",
    "epoll_wait",
    "wait",
    "waitpid",
    "wait4",
    "setsid",
    "tcsetattr",
    "pthread_create",
    "pthread_kill",
    "sigsuspend",
    "close_range",
    "closefrom",
];

/// Functions that end the process.
pub(crate) const ENDING: &[&str] = &["exit", "_exit", "_Exit", "quick_exit"];

/// Allocators that can be made to fail, and how many arguments they have.
pub(crate) const ALLOCATORS: &[(&str, usize)] = &[
    ("malloc", 1),
    ("calloc", 2),
    ("realloc", 2),
    ("reallocarray", 3),
    ("strdup", 1),
    ("strndup", 2),
    ("aligned_alloc", 2),
];

/// They are given memory of the harness, too: what a parameter points to.
pub(crate) const DEALLOCATORS: &[&str] = &["free", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"];

/// Functions whose result depends on nothing but their arguments and memory: a plan must not decide it. Those of `<string.h>` and the like
/// that the compiler does not mark.
pub fn may_be_scripted(name: &str) -> bool {
    let is_text = ["str", "mem", "wcs", "to", "is", "ato"].iter().any(|prefix| name.starts_with(prefix));
    let is_known = ENDING.contains(&name) || ALLOCATORS.iter().any(|(own, _)| *own == name);
    let is_printing = name.ends_with("printf") || name.starts_with("__") || name == "free" || name.starts_with("_Z");
    !(is_text || is_known || is_printing)
}
