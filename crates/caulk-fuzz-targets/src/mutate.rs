//! Damage to inputs, the same for the same seed.

/// Values that programs get wrong: zero, the ends of ranges, the last of one byte and the first of two.
const ODD_BYTES: [u8; 9] = [0, 1, 2, 0x7f, 0x80, 0x81, 0xfe, 0xff, b'\n'];
/// Written over a place as they are: large numbers in the encodings our decoders read, and words of our formats.
const ODD_RUNS: [&[u8]; 10] = [
    &[0xff; 8],
    &[0; 8],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    b"18446744073709551615",
    b"-9223372036854775808",
    b"4294967295",
    "\u{feff}\u{202e}\u{0}".as_bytes(),
    b"\"\"\"",
    b"[[[[[[[[[[[[[[[[",
];
/// How often an input is damaged at most.
const MAX_CHANGES: u64 = 6;
/// Inputs do not grow beyond this.
const MAX_BYTES: usize = 1 << 16;

/// A small generator (SplitMix64): numbers need not be good, only the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; zero for a bound of zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % (bound as u64).max(1)) as usize
    }
}

/// Makes damaged inputs out of sound ones.
#[derive(Debug)]
pub struct Mutator {
    random: Random,
    seeds: Vec<Vec<u8>>,
}

impl Mutator {
    /// # Panics
    /// Without a seed there is nothing to damage.
    pub fn new(seeds: Vec<Vec<u8>>, number: u64) -> Self {
        assert!(!seeds.is_empty(), "a target has at least one sound input");
        Self { random: Random::new(number), seeds }
    }

    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.any_seed().to_vec();
        for _ in 0..=self.random.number() % MAX_CHANGES {
            self.damage(&mut input);
        }
        input.truncate(MAX_BYTES);
        input
    }

    fn any_seed(&mut self) -> &[u8] {
        let at = self.random.below(self.seeds.len());
        &self.seeds[at]
    }

    fn damage(&mut self, input: &mut Vec<u8>) {
        match self.random.below(10) {
            0 => self.flip_bit(input),
            1 | 2 => self.set_byte(input),
            3 => self.write_run(input),
            4 => self.remove(input),
            5 => self.double(input),
            6 => self.splice_seed(input),
            7 => input.truncate(self.random.below(input.len() + 1)),
            _ => self.swap_words(input),
        }
    }

    fn flip_bit(&mut self, input: &mut [u8]) {
        let (at, bit) = (self.random.below(input.len()), self.random.below(8));
        if let Some(byte) = input.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }

    fn set_byte(&mut self, input: &mut [u8]) {
        let odd = ODD_BYTES[self.random.below(ODD_BYTES.len())];
        let any = self.random.number() as u8;
        let (at, is_odd) = (self.random.below(input.len()), self.random.below(2) == 0);
        if let Some(byte) = input.get_mut(at) {
            *byte = if is_odd { odd } else { any };
        }
    }

    fn write_run(&mut self, input: &mut Vec<u8>) {
        let run = ODD_RUNS[self.random.below(ODD_RUNS.len())];
        let at = self.random.below(input.len() + 1);
        let replaced = self.random.below(run.len() + 1).min(input.len() - at);
        input.splice(at..at + replaced, run.iter().copied());
    }

    /// A piece of the input, most often a short one.
    fn piece(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.random.below(length + 1);
        let most = if self.random.below(4) == 0 { length - start } else { (length - start).min(16) };
        start..start + self.random.below(most + 1)
    }

    fn remove(&mut self, input: &mut Vec<u8>) {
        let piece = self.piece(input.len());
        input.drain(piece);
    }

    fn double(&mut self, input: &mut Vec<u8>) {
        let piece = self.piece(input.len());
        let (copy, at) = (input[piece].to_vec(), self.random.below(input.len() + 1));
        if input.len() < MAX_BYTES {
            input.splice(at..at, copy);
        }
    }

    /// Puts a piece of another sound input in.
    fn splice_seed(&mut self, input: &mut Vec<u8>) {
        let other = self.any_seed().to_vec();
        let piece = self.piece(other.len());
        let at = self.random.below(input.len() + 1);
        if input.len() < MAX_BYTES {
            input.splice(at..at, other[piece].iter().copied());
        }
    }

    /// Puts one word of the input in the place of another, which keeps texts near to sense.
    fn swap_words(&mut self, input: &mut Vec<u8>) {
        let words = words(input);
        if words.is_empty() {
            return;
        }
        let from = words[self.random.below(words.len())].clone();
        let to = words[self.random.below(words.len())].clone();
        let word = input[from].to_vec();
        input.splice(to, word);
    }
}

/// Runs of letters, digits and the marks that names have.
fn words(input: &[u8]) -> Vec<std::ops::Range<usize>> {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'%' | b'@' | b'-');
    let mut words = Vec::new();
    let mut start = None;
    for (at, byte) in input.iter().enumerate() {
        match (is_word(*byte), start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                words.push(begin..at);
                start = None;
            }
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_inputs() {
        let inputs = |number| {
            let mut mutator = Mutator::new(vec![b"define @f(p: ptr)".to_vec(), vec![1, 2, 3]], number);
            (0..200).map(|_| mutator.next_input()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }

    #[test]
    fn an_empty_input_can_be_damaged() {
        let mut mutator = Mutator::new(vec![Vec::new()], 1);
        assert!((0..1000).map(|_| mutator.next_input()).any(|input| !input.is_empty()));
    }
}
