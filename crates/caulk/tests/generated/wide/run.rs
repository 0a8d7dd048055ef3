//! What a wide function does: an interpreter with a heap, run on all inputs that the function can distinguish.

use super::helpers::{FAILS_ON, FILLS_FROM, TAKES_BELOW};
use super::shape::{Condition, Function, Kind, Number, Statement, Step};
use crate::run::{INPUTS, compared};

/// Whether some input makes the function lose memory.
pub(crate) fn leaks(function: &Function) -> bool {
    inputs().any(|(a, b)| Run::of(function, a, b).is_ok_and(|run| run.has_lost()))
}

/// Whether no input makes it free something twice, or use what is null or freed.
pub(crate) fn is_valid(function: &Function) -> bool {
    inputs().all(|(a, b)| Run::of(function, a, b).is_ok())
}

fn inputs() -> impl Iterator<Item = (i32, i32)> {
    INPUTS.iter().flat_map(|a| INPUTS.iter().map(move |b| (*a, *b)))
}

/// A null pointer, or the number of a block.
type Pointer = Option<usize>;

#[derive(Clone, Copy, Debug)]
enum Content {
    Text,
    Record { name: Pointer, note: Pointer },
    Node { next: Pointer, data: Pointer },
    Counted(i32),
}

#[derive(Clone, Copy, Debug)]
struct Block {
    is_freed: bool,
    content: Content,
}

#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    data: Pointer,
    size: i32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Variables {
    text: Pointer,
    record: Pointer,
    buffer: Buffer,
    list: Pointer,
    counted: Pointer,
}

/// The program did what C leaves undefined.
struct Broken;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Goto,
    Return,
}

struct Run {
    a: i32,
    b: i32,
    status: i32,
    heap: Vec<Block>,
    own: Variables,
    /// The caller's box.
    out: Variables,
    /// A list that a global holds.
    kept: Pointer,
}

impl Run {
    fn of(function: &Function, a: i32, b: i32) -> Result<Self, Broken> {
        let (own, out) = (Variables::default(), Variables::default());
        let mut run = Run { a, b, status: 0, heap: Vec::new(), own, out, kept: None };
        if run.block(&function.body)? != Flow::Return {
            run.block(&function.cleanup)?;
        }
        Ok(run)
    }

    /// Whether a block lives on that neither the caller's box nor the global leads to.
    fn has_lost(&self) -> bool {
        let Variables { text, record, buffer, list, counted } = self.out;
        let mut waiting: Vec<usize> =
            [text, record, buffer.data, list, counted, self.kept].into_iter().flatten().collect();
        let mut reached = vec![false; self.heap.len()];
        while let Some(block) = waiting.pop() {
            if std::mem::replace(&mut reached[block], true) || self.heap[block].is_freed {
                continue;
            }
            match self.heap[block].content {
                Content::Text | Content::Counted(_) => {}
                Content::Record { name: one, note: other } | Content::Node { next: one, data: other } => {
                    waiting.extend(one.into_iter().chain(other));
                }
            }
        }
        self.heap.iter().zip(reached).any(|(block, reached)| !block.is_freed && !reached)
    }

    fn block(&mut self, block: &[Statement]) -> Result<Flow, Broken> {
        for statement in block {
            let flow = self.statement(statement)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn statement(&mut self, statement: &Statement) -> Result<Flow, Broken> {
        match statement {
            Statement::Do(step) => self.step(*step).map(|()| Flow::On),
            Statement::If(condition, then, other) => {
                let taken = if self.holds(*condition)? { then } else { other };
                self.block(taken)
            }
            Statement::Loop(bound, inner) => {
                let bound = bound.map_or_else(|n| self.number(n), i32::from);
                for _ in 0..bound {
                    match self.block(inner)? {
                        Flow::On => {}
                        Flow::Break => break,
                        flow => return Ok(flow),
                    }
                }
                Ok(Flow::On)
            }
            Statement::Break => Ok(Flow::Break),
            Statement::Goto => Ok(Flow::Goto),
            Statement::Return => Ok(Flow::Return),
        }
    }

    fn number(&self, number: Number) -> i32 {
        match number {
            Number::A => self.a,
            Number::B => self.b,
        }
    }

    fn holds(&self, condition: Condition) -> Result<bool, Broken> {
        Ok(match condition {
            Condition::Is(number, compare, constant) => compared(self.number(number), compare, constant),
            Condition::Pair(compare) => compared(self.a, compare, self.b),
            Condition::Failed => self.status != 0,
            Condition::Has(kind) => {
                let pointer = match kind {
                    Kind::Text => self.own.text,
                    Kind::Record => self.own.record,
                    Kind::Buffer => self.own.buffer.data,
                    Kind::List => self.own.list,
                    Kind::Counted => self.own.counted,
                };
                match pointer {
                    Some(block) if self.heap[block].is_freed => return Err(Broken),
                    _ => pointer.is_some(),
                }
            }
        })
    }

    fn new_block(&mut self, content: Content) -> Pointer {
        self.heap.push(Block { is_freed: false, content });
        Some(self.heap.len() - 1)
    }

    fn new_text(&mut self) -> Pointer {
        self.new_block(Content::Text)
    }

    /// What the pointer leads to, for reading or writing.
    fn content(&mut self, pointer: Pointer) -> Result<&mut Content, Broken> {
        let block = &mut self.heap[pointer.ok_or(Broken)?];
        if block.is_freed { Err(Broken) } else { Ok(&mut block.content) }
    }

    fn texts(&mut self, record: Pointer) -> Result<(&mut Pointer, &mut Pointer), Broken> {
        match self.content(record)? {
            Content::Record { name, note } => Ok((name, note)),
            _ => Err(Broken),
        }
    }

    fn node(&mut self, node: Pointer) -> Result<(Pointer, Pointer), Broken> {
        match self.content(node)? {
            Content::Node { next, data } => Ok((*next, *data)),
            _ => Err(Broken),
        }
    }

    fn free(&mut self, pointer: Pointer) -> Result<(), Broken> {
        let Some(block) = pointer else { return Ok(()) };
        if std::mem::replace(&mut self.heap[block].is_freed, true) { Err(Broken) } else { Ok(()) }
    }

    /// A pointer that is moved somewhere leads to what is there, or is null.
    fn moved(&self, pointer: Pointer) -> Result<Pointer, Broken> {
        match pointer {
            Some(block) if self.heap[block].is_freed => Err(Broken),
            _ => Ok(pointer),
        }
    }

    fn text_taken(&mut self) -> Result<Pointer, Broken> {
        let text = self.own.text.take();
        self.moved(text)
    }

    fn step(&mut self, step: Step) -> Result<(), Broken> {
        match step.kinds() {
            [Kind::Text] => self.text_step(step),
            [.., Kind::Record] => self.record_step(step),
            [.., Kind::Buffer] => self.buffer_step(step),
            [.., Kind::List] => self.list_step(step),
            _ => self.counted_step(step),
        }
    }

    fn text_step(&mut self, step: Step) -> Result<(), Broken> {
        match step {
            Step::Make(_) => self.own.text = self.new_text(),
            Step::Grab(n) => {
                let fails = self.number(n) == FAILS_ON;
                self.status = if fails { -1 } else { 0 };
                if !fails {
                    self.own.text = self.new_text();
                }
            }
            Step::Resize(n) => {
                if self.number(n) >= FILLS_FROM {
                    self.free(self.own.text)?;
                    self.own.text = self.new_text();
                }
            }
            Step::Drop(_, clears) => {
                self.free(self.own.text)?;
                if clears {
                    self.own.text = None;
                }
            }
            Step::DropIf(n) => {
                if self.number(n) != 0 {
                    self.free(self.own.text)?;
                }
            }
            Step::Call(true) => self.free(self.own.text)?,
            Step::Call(false) => drop(self.moved(self.own.text)?),
            Step::Take(n) => {
                let takes = self.number(n) < TAKES_BELOW;
                self.status = if takes { 0 } else { -1 };
                if takes {
                    self.free(self.own.text)?;
                }
            }
            Step::TextOut => self.out.text = self.text_taken()?,
            Step::Keep => {
                let data = self.text_taken()?;
                self.kept = self.new_block(Content::Node { next: self.kept, data });
            }
            _ => self.own.text = None,
        }
        Ok(())
    }

    fn record_step(&mut self, step: Step) -> Result<(), Broken> {
        let record = self.own.record;
        match step {
            Step::NewRecord => {
                let name = self.new_text();
                self.own.record = self.new_block(Content::Record { name, note: None });
            }
            Step::ParseRecord(n) => {
                let n = self.number(n);
                self.status = if n == FAILS_ON { -1 } else { 0 };
                if n != FAILS_ON {
                    let note = if n > FAILS_ON { self.new_text() } else { None };
                    self.own.record = self.new_block(Content::Record { name: None, note });
                }
            }
            Step::FillRecord(n) => {
                if self.number(n) >= FILLS_FROM && self.texts(record)?.1.is_none() {
                    let text = self.new_text();
                    *self.texts(record)?.1 = text;
                }
                self.texts(record)?;
            }
            Step::Rename => {
                let old = *self.texts(record)?.0;
                self.free(old)?;
                *self.texts(record)?.0 = self.moved(self.own.text)?;
                self.own.text = None;
            }
            Step::SetName => {
                *self.texts(record)?.0 = self.moved(self.own.text)?;
                self.own.text = None;
            }
            Step::TakeName => self.own.text = self.texts(record)?.0.take(),
            Step::ClearRecord => self.clear_record(record)?,
            Step::FreeRecord => {
                if record.is_some() {
                    self.clear_record(record)?;
                }
                self.free(record)?;
                self.own.record = None;
            }
            Step::FreeRecordOnly => {
                self.free(record)?;
                self.own.record = None;
            }
            _ => {
                self.out.record = self.moved(record)?;
                self.own.record = None;
            }
        }
        Ok(())
    }

    fn clear_record(&mut self, record: Pointer) -> Result<(), Broken> {
        let (name, note) = self.texts(record)?;
        let texts = [name.take(), note.take()];
        texts.into_iter().try_for_each(|text| self.free(text))
    }

    fn buffer_step(&mut self, step: Step) -> Result<(), Broken> {
        match step {
            Step::Add(n) => {
                let n = self.number(n);
                if n > self.own.buffer.size {
                    self.free(self.own.buffer.data)?;
                    self.own.buffer = Buffer { data: self.new_text(), size: n };
                }
            }
            Step::FreeBuffer => {
                self.free(self.own.buffer.data)?;
                self.own.buffer = Buffer::default();
            }
            Step::Detach => self.own.text = std::mem::take(&mut self.own.buffer).data,
            _ => self.out.buffer = std::mem::take(&mut self.own.buffer),
        }
        Ok(())
    }

    fn list_step(&mut self, step: Step) -> Result<(), Broken> {
        match step {
            Step::PushNew => {
                let data = self.new_text();
                self.own.list = self.new_block(Content::Node { next: self.own.list, data });
            }
            Step::PushText => {
                let data = self.text_taken()?;
                self.own.list = self.new_block(Content::Node { next: self.own.list, data });
            }
            Step::Pop => {
                self.own.text = None;
                let node = self.own.list;
                if node.is_some() {
                    let (next, data) = self.node(node)?;
                    (self.own.list, self.own.text) = (next, self.moved(data)?);
                    self.free(node)?;
                }
            }
            Step::FreeList | Step::FreeNodes => {
                while let node @ Some(_) = self.own.list {
                    let (next, data) = self.node(node)?;
                    if step == Step::FreeList {
                        self.free(data)?;
                    }
                    self.free(node)?;
                    self.own.list = next;
                }
            }
            Step::Each(frees) => {
                let mut at = self.own.list;
                while at.is_some() {
                    let (next, data) = self.node(at)?;
                    if frees {
                        self.free(data)?;
                    } else {
                        self.moved(data)?;
                    }
                    at = next;
                }
            }
            _ => self.out.list = self.moved_list()?,
        }
        Ok(())
    }

    /// The list with all that it leads to.
    fn moved_list(&mut self) -> Result<Pointer, Broken> {
        let list = self.own.list.take();
        let mut at = list;
        while at.is_some() {
            let (next, data) = self.node(at)?;
            self.moved(data)?;
            at = next;
        }
        Ok(list)
    }

    fn counted_step(&mut self, step: Step) -> Result<(), Broken> {
        let counted = self.own.counted;
        match step {
            Step::NewCounted => self.own.counted = self.new_block(Content::Counted(1)),
            Step::Get => self.count(counted, 1)?,
            Step::Put(clears) => {
                if counted.is_some() {
                    self.count(counted, -1)?;
                }
                if clears {
                    self.own.counted = None;
                }
            }
            Step::CountedOut(true) => {
                self.count(counted, 1)?;
                self.out.counted = counted;
            }
            _ => {
                self.out.counted = self.moved(counted)?;
                self.own.counted = None;
            }
        }
        Ok(())
    }

    fn count(&mut self, counted: Pointer, change: i32) -> Result<(), Broken> {
        let Content::Counted(count) = self.content(counted)? else { return Err(Broken) };
        *count += change;
        if *count == 0 { self.free(counted) } else { Ok(()) }
    }
}
