//! SIGINT, SIGTERM and SIGHUP: children end and temporary folders go before Caulk does.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use crate::lifeline::Lifeline;

impl Lifeline {
    /// From now on the signals that end a program first end its children and remove its temporary folders. A second one
    /// ends it at once. What the caller of Caulk ignores (`nohup`) stays ignored.
    pub fn cut_by_signals(&self) -> io::Result<()> {
        let ignored = ignored_signals();
        let wanted: Vec<i32> =
            [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect();
        let is_second = Arc::new(AtomicBool::new(false));
        for signal in &wanted {
            flag::register_conditional_default(*signal, Arc::clone(&is_second))?;
        }
        let mut signals = Signals::new(&wanted)?;
        let lifeline = self.clone();
        let wait = move || {
            if let Some(signal) = signals.forever().next() {
                is_second.store(true, Ordering::SeqCst);
                lifeline.cut(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
                // Ends the process as if there were no handler, so that the caller sees the signal.
                let _ = low_level::emulate_default_handler(signal);
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
        Ok(())
    }
}

/// The signals that were ignored when Caulk was started, as a bit set; none where the system does not tell.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
