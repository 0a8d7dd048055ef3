//! Progress on a terminal; nothing elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet || !std::io::stderr().is_terminal() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

/// For work that does not say how far it is.
pub(crate) fn spinner(what: &'static str, quiet: bool) -> ProgressBar {
    const TICK: Duration = Duration::from_millis(120);
    let style = ProgressStyle::with_template("{prefix:>9} {spinner} {elapsed}")
        .expect("the template is a constant and well formed");
    let spinner = ProgressBar::with_draw_target(None, target(quiet)).with_style(style).with_prefix(what);
    spinner.enable_steady_tick(TICK);
    spinner
}

pub(crate) fn bar(length: usize, what: &'static str, quiet: bool) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:>9} [{bar:30}] {pos}/{len} {wide_msg}")
        .expect("the template is a constant and well formed")
        .progress_chars("=> ");
    ProgressBar::with_draw_target(Some(length as u64), target(quiet)).with_style(style).with_prefix(what)
}
