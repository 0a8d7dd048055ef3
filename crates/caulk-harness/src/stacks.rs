//! LeakSanitizer's report: which blocks were lost, and where they were allocated.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use addr2line::Loader;

/// A group of blocks that were allocated by one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leak {
    /// Offsets in the harness, the innermost first; frames of libraries are left out.
    pub frames: Vec<u64>,
    /// Address and size of each block.
    pub blocks: Vec<(u64, u64)>,
}

/// The leaks of a report that was not symbolised. `program` is the path of the harness, as the report names it.
pub(crate) fn leaks(report: &str, program: &str) -> Vec<Leak> {
    let mut leaks: Vec<Leak> = Vec::new();
    for line in report.lines() {
        let line = line.trim_start();
        if line.starts_with("Direct leak of") || line.starts_with("Indirect leak of") {
            leaks.push(Leak::default());
        }
        let Some(leak) = leaks.last_mut() else { continue };
        if line.starts_with('#') {
            leak.frames.extend(offset(line, program));
        } else if line.starts_with("0x") {
            leak.blocks.extend(block(line));
        }
    }
    leaks
}

/// `#1 0x556a62efb464  (/tmp/a+0x37464) (BuildId: ...)`.
fn offset(line: &str, program: &str) -> Option<u64> {
    let (_, rest) = line.split_once(&format!("({program}+0x"))?;
    u64::from_str_radix(rest.split(')').next()?, 16).ok()
}

/// `0x501000000000 (10 bytes)`.
fn block(line: &str) -> Option<(u64, u64)> {
    let (address, rest) = line.strip_prefix("0x")?.split_once(" (")?;
    Some((u64::from_str_radix(address, 16).ok()?, rest.split(' ').next()?.parse().ok()?))
}

/// Places in the source by their offset in a program.
pub(crate) struct Places {
    loader: Option<Loader>,
    known: BTreeMap<u64, Vec<(PathBuf, u32)>>,
}

impl Places {
    pub(crate) fn new(program: &Path) -> Self {
        Self { loader: Loader::new(program).ok(), known: BTreeMap::new() }
    }

    /// The place of an instruction, and those that it was inlined into.
    pub(crate) fn at(&mut self, offset: u64) -> &[(PathBuf, u32)] {
        let loader = self.loader.as_ref();
        self.known.entry(offset).or_insert_with(|| loader.map_or_else(Vec::new, |loader| places(loader, offset)))
    }
}

fn places(loader: &Loader, offset: u64) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let Ok(mut frames) = loader.find_frames(offset) else { return found };
    while let Ok(Some(frame)) = frames.next() {
        let place = frame.location.and_then(|location| Some((location.file?.into(), location.line?)));
        found.extend(place);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let report = "\n==1==ERROR: LeakSanitizer: detected memory leaks\n\nDirect leak of 10 byte(s) in 1 object(s) allocated from:\n    \
                      #0 0x55e  (/tmp/a+0x340d9) (BuildId: c0)\n    #1 0x55f  (/tmp/a+0x37464) (BuildId: c0)\n    #2 0x7f  \
                      (/lib/libc.so.6+0x27249)\n\nObjects leaked above:\n0x501000000000 (10 bytes)\n\nIndirect leak of 8 byte(s) in 1 \
                      object(s) allocated from:\n    #0 0x1  (/tmp/a+0x1)\n\nObjects leaked above:\n0x502000000000 (8 bytes)\n\nSUMMARY: x\n";
        let first = Leak { frames: vec![0x340d9, 0x37464], blocks: vec![(0x5010_0000_0000, 10)] };
        let second = Leak { frames: vec![1], blocks: vec![(0x5020_0000_0000, 8)] };
        assert_eq!(leaks(report, "/tmp/a"), [first, second]);
        assert_eq!(leaks("#0 0x1 (/tmp/a+0x1)\n0x12 (x", "/tmp/a"), []);
    }
}
