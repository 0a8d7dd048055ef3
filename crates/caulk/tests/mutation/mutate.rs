//! Bytes changed at random, from a seed: the same seed gives the same bytes everywhere.

use std::ops::Range;

/// SplitMix64: small, and good enough to choose edits.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// Edits of one input. Most inputs get one: the more there are, the sooner an input is refused, and the less of it is read.
const MAX_EDITS: usize = 3;
/// Bytes that one edit moves or removes.
const MAX_SPAN: usize = 40;

/// The bytes after a few edits, each of which may put in a word that means something.
pub(crate) fn mutate(random: &mut Random, original: &[u8], words: &[&str]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    edit(random, &mut bytes, words);
    for _ in 1..MAX_EDITS {
        if random.below(3) == 0 {
            edit(random, &mut bytes, words);
        }
    }
    bytes
}

/// Half of the edits keep to words and lines, so that what comes out is often still well formed.
fn edit(random: &mut Random, bytes: &mut Vec<u8>, words: &[&str]) {
    let at = random.below(bytes.len() + 1);
    let end = (at + 1 + random.below(MAX_SPAN)).min(bytes.len());
    match random.below(16) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.next() as u8,
        2 => drop(bytes.drain(at.min(end)..end)),
        3 => copy(random, bytes, at.min(end)..end),
        4 if random.below(4) == 0 => bytes.truncate(at),
        5 => insert(bytes, at..at, random.pick(words).as_bytes()),
        6 | 7 => replace_line(random, bytes),
        8 | 9 => replace(random, bytes, &quoted(bytes), words),
        10..=12 => {
            let spans = numbers(random, bytes);
            replace(random, bytes, &spans, words);
        }
        _ => swap_words(random, bytes),
    }
}

fn insert(bytes: &mut Vec<u8>, place: Range<usize>, word: &[u8]) {
    bytes.splice(place, word.iter().copied());
}

fn copy(random: &mut Random, bytes: &mut Vec<u8>, from: Range<usize>) {
    let piece = bytes[from].to_vec();
    let to = random.below(bytes.len() + 1);
    insert(bytes, to..to, &piece);
}

/// Puts a word, or another of the same kind, in the place of one of the spans.
fn replace(random: &mut Random, bytes: &mut Vec<u8>, spans: &[Range<usize>], words: &[&str]) {
    if spans.is_empty() {
        return swap_words(random, bytes);
    }
    let place = spans[random.below(spans.len())].clone();
    let other = bytes[spans[random.below(spans.len())].clone()].to_vec();
    let word = if random.below(4) != 0 { other } else { random.pick(words).as_bytes().to_vec() };
    insert(bytes, place, &word);
}

/// A word of the input in the place of another.
fn swap_words(random: &mut Random, bytes: &mut Vec<u8>) {
    let spans = runs(bytes, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if spans.is_empty() {
        return;
    }
    let other = bytes[spans[random.below(spans.len())].clone()].to_vec();
    insert(bytes, spans[random.below(spans.len())].clone(), &other);
}

/// A line goes, comes twice, or stands elsewhere.
fn replace_line(random: &mut Random, bytes: &mut Vec<u8>) {
    let lines = runs(bytes, |byte| byte != b'\n');
    if lines.is_empty() {
        return;
    }
    let line = [&bytes[lines[random.below(lines.len())].clone()], b"\n"].concat();
    let place = lines[random.below(lines.len())].clone();
    match random.below(3) {
        0 => drop(bytes.drain(place)),
        1 => insert(bytes, place.start..place.start, &line),
        _ => insert(bytes, place, &line),
    }
}

/// Runs of bytes that are of a kind.
fn runs(bytes: &[u8], is_of_kind: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = None;
    for (at, byte) in bytes.iter().enumerate() {
        match (is_of_kind(*byte), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                runs.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    runs.extend(start.map(|from| from..bytes.len()));
    runs
}

/// What stands between quotes.
fn quoted(bytes: &[u8]) -> Vec<Range<usize>> {
    let marks: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'"').map(|(at, _)| at + 1).collect();
    marks.chunks_exact(2).map(|pair| pair[0]..pair[1] - 1).collect()
}

/// Numbers of metadata with their mark (`!12`), or plain numbers.
fn numbers(random: &mut Random, bytes: &[u8]) -> Vec<Range<usize>> {
    let spans = runs(bytes, |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'!');
    let is_metadata = |span: &Range<usize>| bytes[span.start] == b'!' && span.len() > 1;
    let is_plain = |span: &Range<usize>| bytes[span.clone()].iter().all(u8::is_ascii_digit);
    match random.below(3) {
        0 => spans.into_iter().filter(is_plain).collect(),
        _ => spans.into_iter().filter(is_metadata).collect(),
    }
}
