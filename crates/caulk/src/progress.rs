//! A progress bar on a terminal; nothing elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub fn bar(length: usize, what: &'static str, quiet: bool) -> ProgressBar {
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let style = ProgressStyle::with_template("{prefix:>9} [{bar:30}] {pos}/{len} {wide_msg}")
        .expect("the template is a constant and well formed")
        .progress_chars("=> ");
    ProgressBar::with_draw_target(Some(length as u64), target).with_style(style).with_prefix(what)
}
