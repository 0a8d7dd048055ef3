//! Whether a store still answers. One that failed several times in a row is left alone for the rest of the run, so that a
//! server that hangs costs a few timeouts and not one for each unit.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Failures in a row after which no more is tried. Other threads may be waiting for an answer at that time.
const MAX_IN_A_ROW: usize = 3;
/// Longest reason that is kept.
const MAX_REASON: usize = 300;

#[derive(Debug, Default)]
pub(crate) struct Health {
    in_a_row: AtomicUsize,
    failed: AtomicUsize,
    first: OnceLock<String>,
}

impl Health {
    pub(crate) fn is_up(&self) -> bool {
        self.in_a_row.load(Ordering::Relaxed) < MAX_IN_A_ROW
    }

    /// Notes how an operation ended.
    pub(crate) fn note<T>(&self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => {
                // Once it is down it stays down, also for operations that were still waiting.
                if self.is_up() {
                    self.in_a_row.store(0, Ordering::Relaxed);
                }
                Some(value)
            }
            Err(reason) => {
                self.in_a_row.fetch_add(1, Ordering::Relaxed);
                self.failed.fetch_add(1, Ordering::Relaxed);
                let _ = self.first.set(shortened(&reason));
                None
            }
        }
    }

    /// What went wrong, in words: how often, and the first reason.
    pub(crate) fn trouble(&self, verb: &str) -> Option<String> {
        let first = self.first.get()?;
        let failed = self.failed.load(Ordering::Relaxed);
        let times = if failed == 1 { "once".to_owned() } else { format!("{failed} times") };
        let end = if self.is_up() { "" } else { "; it was left alone from then on" };
        Some(format!("{verb} failed {times} ({first}){end}"))
    }
}

fn shortened(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    line.chars().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_fails_again_and_again_is_left_alone() {
        let health = Health::default();
        let fail = || health.note::<()>(Err("no route\nto it".to_owned()));
        assert_eq!(health.trouble("reading"), None);
        fail();
        fail();
        health.note(Ok(()));
        assert!(health.is_up());
        assert_eq!(health.trouble("reading").as_deref(), Some("reading failed 2 times (no route)"));
        (0..3).for_each(|_| assert_eq!(fail(), None));
        assert!(!health.is_up());
        health.note(Ok(()));
        assert!(!health.is_up());
        assert!(health.trouble("reading").is_some_and(|text| text.ends_with("left alone from then on")));
    }
}
