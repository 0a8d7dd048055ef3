//! Runs a target on many damaged inputs, and says which one it did not survive.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::mutate::Mutator;

/// Where inputs are kept that a target did not survive; the variable names a folder.
const KEEP_VARIABLE: &str = "CAULK_FUZZ_KEEP";
/// So many seconds for each target, with a seed from the clock, in the place of the fixed number of inputs.
const SECONDS_VARIABLE: &str = "CAULK_FUZZ_SECONDS";
/// Changes what inputs are made of a fixed number.
const SEED_VARIABLE: &str = "CAULK_FUZZ_SEED";
const FIXED_SEED: u64 = 0x00ca_5317;
/// Inputs that take longer are named in the summary.
const SLOW: Duration = Duration::from_secs(2);

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    Inputs(usize),
    Time(Duration),
}

#[derive(Clone, Debug)]
pub struct Summary {
    pub inputs: usize,
    pub seed: u64,
    /// The time of the slowest input.
    pub slowest: Duration,
    /// What a target did not survive: the message of the panic, and the input.
    pub failures: Vec<(String, Vec<u8>)>,
}

/// Drives a target: first with the seeds as they are, then with what is made of them. Without other orders in the
/// environment it tries `smoke_inputs` inputs, always the same.
///
/// # Panics
/// When the target panics, with the input that did it.
pub fn run(name: &str, seeds: Vec<Vec<u8>>, smoke_inputs: usize, drive: impl Fn(&[u8])) {
    let (limit, seed) = orders(smoke_inputs);
    let summary = attempt(name, seeds, limit, seed, drive);
    println!(
        "{name}: {} inputs from seed {}, slowest {:?}, {} failures",
        summary.inputs,
        summary.seed,
        summary.slowest,
        summary.failures.len()
    );
    if let Some((message, input)) = summary.failures.first() {
        panic!("{name}: {message}\non the input {:?}", String::from_utf8_lossy(input));
    }
}

fn orders(smoke_inputs: usize) -> (Limit, u64) {
    let number = |variable| std::env::var(variable).ok().and_then(|text| text.parse::<u64>().ok());
    let given = number(SEED_VARIABLE);
    match number(SECONDS_VARIABLE) {
        None => (Limit::Inputs(smoke_inputs), given.unwrap_or(FIXED_SEED)),
        Some(seconds) => {
            let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            (Limit::Time(Duration::from_secs(seconds)), given.unwrap_or(clock.as_nanos() as u64))
        }
    }
}

fn attempt(name: &str, seeds: Vec<Vec<u8>>, limit: Limit, seed: u64, drive: impl Fn(&[u8])) -> Summary {
    let mut summary = Summary { inputs: 0, seed, slowest: Duration::ZERO, failures: Vec::new() };
    let start = Instant::now();
    let keep = std::env::var_os(KEEP_VARIABLE).map(PathBuf::from);
    let sound = seeds.clone();
    let mut mutator = Mutator::new(seeds, seed);
    let mut inputs = sound.into_iter().chain(std::iter::repeat_with(|| mutator.next_input()));
    while let Some(input) = inputs.next().filter(|_| match limit {
        Limit::Inputs(most) => summary.inputs < most,
        Limit::Time(most) => start.elapsed() < most,
    }) {
        if let Some(folder) = &keep {
            // Written before: nothing can be written after an overflow of the stack.
            let _ = std::fs::write(folder.join(format!("{name}.last")), &input);
        }
        let begun = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| drive(&input)));
        let took = begun.elapsed();
        summary.inputs += 1;
        if took > SLOW {
            eprintln!("{name}: input {} took {took:?}", summary.inputs);
            keep_input(keep.as_ref(), &format!("{name}.slow.{}", summary.inputs), &input);
        }
        summary.slowest = summary.slowest.max(took);
        if let Err(panic) = result {
            keep_input(keep.as_ref(), &format!("{name}.{}", summary.failures.len()), &input);
            summary.failures.push((message(&*panic), input));
            if summary.failures.len() == MAX_FAILURES {
                break;
            }
        }
    }
    summary
}

/// A run ends after so many failures.
const MAX_FAILURES: usize = 20;

fn keep_input(folder: Option<&PathBuf>, name: &str, input: &[u8]) {
    if let Some(folder) = folder {
        let _ = std::fs::write(folder.join(name), input);
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_panics_is_noticed() {
        let drive = |input: &[u8]| assert!(!input.contains(&b'!'), "a mark");
        let seeds = || vec![b"ab!cd".to_vec(), b"abcd".to_vec()];
        let summary = attempt("test", seeds(), Limit::Inputs(100), 1, drive);
        assert!(summary.failures.len() > 1 && summary.failures[0] == ("a mark".to_owned(), b"ab!cd".to_vec()));
        let summary = attempt("test", seeds(), Limit::Inputs(100), 1, |_| {});
        assert_eq!((summary.inputs, summary.failures.len()), (100, 0));
    }
}
