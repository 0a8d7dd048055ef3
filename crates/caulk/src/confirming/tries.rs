//! The inputs that are tried for a finding, one after the other: what the path needs, on top of memory that is filled in several ways.

use super::memory::Filling;

/// What stubs return that the path says nothing of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StubResults {
    pub number: i64,
    /// Pointers lead to fresh memory, and are null otherwise.
    pub pointers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Try<'a> {
    pub filling: Filling<'a>,
    pub results: StubResults,
    /// What the path needs is put on top.
    pub follows_path: bool,
    /// Results of the project's own functions are those of the path, too: they are not called then.
    pub decides_results: bool,
}

/// What the code compares with, which inputs may have to be equal to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    pub numbers: Vec<u64>,
    /// Those that the path finds something equal to.
    pub words: Vec<String>,
    pub texts: Vec<String>,
}

const DEPTHS: [u32; 4] = [2, 1, 3, 0];
const RESULTS: [StubResults; 4] = [
    StubResults { number: 0, pointers: true },
    StubResults { number: 1, pointers: true },
    StubResults { number: -1, pointers: false },
    StubResults { number: 0, pointers: false },
];
const NUMBERS: [u64; 3] = [0, 1, u64::MAX];
const TEXTS: [&str; 3] = ["", "a", "1"];
/// Tries that differ from the first in more things are not made.
const MAX_DISTANCE: usize = 4;

/// All tries, the most promising first: what differs from the first in one thing comes before what differs in several.
pub(crate) fn tries(constants: &Constants) -> Vec<Try<'_>> {
    let numbers: Vec<u64> = NUMBERS.into_iter().chain(constants.numbers.iter().copied()).collect();
    let plain = TEXTS.into_iter().skip(1).chain(constants.texts.iter().map(String::as_str));
    let words = constants.words.iter().map(String::as_str);
    let mut texts: Vec<&str> = TEXTS[..1].to_vec();
    for text in words.chain(plain) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let mut ranked: Vec<(usize, Try<'_>)> = Vec::new();
    for (d, depth) in DEPTHS.into_iter().enumerate() {
        for (v, variables) in [true, false].into_iter().enumerate() {
            for (r, results) in RESULTS.into_iter().enumerate() {
                for (n, &number) in numbers.iter().enumerate() {
                    for (t, &text) in texts.iter().enumerate() {
                        // Constants of the code are all as good as each other.
                        let distance = d + v + r + n.min(2) + t.min(2);
                        let filling = Filling { depth, number, variables, text };
                        let one = Try { filling, results, follows_path: true, decides_results: false };
                        ranked.push((distance, one));
                        ranked.push((distance + 1, Try { decides_results: true, ..one }));
                        if n == 0 || t == 0 {
                            ranked.push((distance + 2, Try { follows_path: false, ..one }));
                        }
                    }
                }
            }
        }
    }
    ranked.retain(|(distance, _)| *distance <= MAX_DISTANCE);
    ranked.sort_by_key(|(distance, _)| *distance);
    ranked.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plainest_try_comes_first_and_each_once() {
        let constants = Constants { numbers: vec![7], words: vec!["--name".to_owned()], texts: vec!["yes".to_owned()] };
        let tries = tries(&constants);
        assert_eq!((tries[0].filling.depth, tries[0].filling.number, tries[0].results.number), (2, 0, 0));
        let is_repeated = |(at, one): (usize, &Try<'_>)| tries[..at].contains(one);
        assert!(!tries.iter().enumerate().any(is_repeated));
        let place = |text: &str| tries.iter().position(|one| one.filling.text == text);
        assert!(place("--name") < place("yes"), "what the path speaks of comes before what the code does");
        assert!(tries.iter().take(40).any(|one| one.filling.text == "yes"), "constants of the code come early");
    }
}
