//! What one run starts from: memory, arguments, results of stubs, and which allocation fails. A text that the harness reads, so that one
//! build serves many runs.

use std::collections::BTreeSet;
use std::fmt::Write;

/// A word of memory, an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Number(u64),
    /// The address of a block of the plan.
    Block(usize),
    /// An address so many bytes inside of a block of the plan.
    Inside(usize, u64),
    /// The address of a function that does nothing.
    Function,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    offset: u64,
    bytes: u8,
    word: Word,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Block {
    size: u64,
    cells: Vec<Cell>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    blocks: Vec<Block>,
    arguments: Vec<(usize, Word)>,
    /// Cells of variables, by their number in the harness.
    variables: Vec<(usize, Cell)>,
    /// Stub, its n-th call (0: all of them), what it returns.
    results: Vec<(usize, u32, Word)>,
    /// Calls that are not made.
    pub unmade: BTreeSet<usize>,
    /// What calls that are not made leave where an argument points: the stub, the argument from 0, and the cell.
    writes: Vec<(usize, usize, Cell)>,
    /// What they leave there if it is null: the stub, the argument, and the pointer.
    fills: Vec<(usize, usize, Word)>,
    /// What stubs return that nothing is said of: this number, or a fresh block if that is set.
    pub numbers: i64,
    pub pointers: bool,
    /// What `errno` is where a stub fails.
    pub errno: Option<u64>,
    /// Which allocation fails, from 1.
    failing: Option<u32>,
}

impl Plan {
    /// Blocks beyond this are not made: `runtime.c` has a table of them.
    pub const MAX_BLOCKS: usize = 20_000;

    /// A block of zeroes; None when there are too many.
    pub fn block(&mut self, size: u64) -> Option<usize> {
        if self.blocks.len() >= Self::MAX_BLOCKS {
            return None;
        }
        self.blocks.push(Block { size, cells: Vec::new() });
        Some(self.blocks.len() - 1)
    }

    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// What a block holds at an offset, if something was put there.
    pub fn word(&self, block: usize, offset: u64) -> Option<Word> {
        self.blocks[block].cells.iter().rev().find(|cell| cell.offset == offset).map(|cell| cell.word)
    }

    /// Puts something into a block. What lies outside makes it larger.
    pub fn set(&mut self, block: usize, offset: u64, bytes: u8, word: Word) {
        let block = &mut self.blocks[block];
        block.size = block.size.max(offset + u64::from(bytes));
        block.cells.retain(|cell| cell.offset != offset);
        block.cells.push(Cell { offset, bytes, word });
    }

    pub fn argument(&mut self, index: usize, word: Word) {
        self.arguments.push((index, word));
    }

    pub fn variable_word(&self, variable: usize, offset: u64) -> Option<Word> {
        let mut own = self.variables.iter().rev();
        own.find(|(number, cell)| *number == variable && cell.offset == offset).map(|(_, cell)| cell.word)
    }

    pub fn variable(&mut self, variable: usize, offset: u64, bytes: u8, word: Word) {
        self.variables.push((variable, Cell { offset, bytes, word }));
    }

    /// `call`: the n-th call of the stub, from 1; 0 means every call.
    pub fn result(&mut self, stub: usize, call: u32, word: Word) {
        self.results.push((stub, call, word));
    }

    /// Every call of the stub returns this, whatever was said of it before.
    pub fn force(&mut self, stub: usize, word: Word) {
        self.results.retain(|(other, ..)| *other != stub);
        self.results.push((stub, 0, word));
    }

    /// A call that is not made leaves this where its argument points.
    pub fn write(&mut self, stub: usize, argument: usize, offset: u64, bytes: u8, word: Word) {
        self.writes.push((stub, argument, Cell { offset, bytes, word }));
    }

    /// A call that is not made leaves this pointer where its argument points to a null one.
    pub fn fill(&mut self, stub: usize, argument: usize, word: Word) {
        self.fills.push((stub, argument, word));
    }

    /// The same, with one allocation that fails.
    pub fn failing_at(mut self, allocation: u32) -> Self {
        self.failing = Some(allocation);
        self
    }

    /// The text that the harness reads.
    pub fn text(&self) -> String {
        let pointers = u8::from(self.pointers);
        self.text_without_defaults() + &format!("numbers {}\npointers {pointers}\n", self.numbers)
    }

    /// The same without what stubs return that nothing is said of.
    pub fn text_without_defaults(&self) -> String {
        let mut text = String::new();
        for (number, block) in self.blocks.iter().enumerate() {
            let _ = writeln!(text, "block {number} {}", block.size);
        }
        for (number, block) in self.blocks.iter().enumerate() {
            for Cell { offset, bytes, word } in &block.cells {
                let _ = writeln!(text, "set {number} {offset} {bytes} {}", shown(*word));
            }
        }
        for (number, Cell { offset, bytes, word }) in &self.variables {
            let _ = writeln!(text, "variable {number} {offset} {bytes} {}", shown(*word));
        }
        for (index, word) in &self.arguments {
            let _ = writeln!(text, "argument {index} {}", shown(*word));
        }
        for (stub, call, word) in &self.results {
            let _ = writeln!(text, "result {stub} {call} {}", shown(*word));
        }
        self.unmade.iter().for_each(|stub| _ = writeln!(text, "unmade {stub}"));
        for (stub, argument, Cell { offset, bytes, word }) in &self.writes {
            let _ = writeln!(text, "write {stub} {argument} {offset} {bytes} {}", shown(*word));
        }
        for (stub, argument, word) in &self.fills {
            let _ = writeln!(text, "fill {stub} {argument} {}", shown(*word));
        }
        if let Some(errno) = self.errno {
            let _ = writeln!(text, "errno {errno}");
        }
        if let Some(failing) = self.failing {
            let _ = writeln!(text, "fail {failing}");
        }
        text
    }
}

fn shown(word: Word) -> String {
    match word {
        Word::Number(value) => value.to_string(),
        Word::Block(block) => format!("@{block}"),
        Word::Inside(block, offset) => format!("@{block}+{offset}"),
        Word::Function => "!".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_text_of_lines() {
        let mut plan = Plan { failing: Some(2), numbers: -1, errno: Some(2), ..Plan::default() };
        let (outer, inner) = (plan.block(16).expect("there is room"), plan.block(8).expect("there is room"));
        plan.set(outer, 8, 8, Word::Block(inner));
        plan.set(outer, 8, 8, Word::Number(0));
        plan.set(inner, 24, 4, Word::Number(7));
        plan.set(outer, 0, 8, Word::Inside(outer, 8));
        plan.argument(0, Word::Block(outer));
        plan.variable(3, 0, 8, Word::Function);
        plan.result(1, 2, Word::Number(u64::MAX));
        plan.unmade.insert(4);
        plan.write(4, 1, 0, 8, Word::Block(inner));
        plan.fill(4, 2, Word::Block(outer));
        let expected = "block 0 16\nblock 1 28\nset 0 8 8 0\nset 0 0 8 @0+8\nset 1 24 4 7\nvariable 3 0 8 !\nargument 0 @0\n\
                        result 1 2 18446744073709551615\nunmade 4\nwrite 4 1 0 8 @1\nfill 4 2 @0\nerrno 2\nfail 2\nnumbers -1\npointers 0\n";
        assert_eq!(plan.text(), expected);
    }
}
