//! What a wide function is made of: variables that own memory of several shapes, two numbers, a status, and a box of the caller.

use std::collections::BTreeSet;

pub(crate) use crate::shape::Compare;

/// A number of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    A,
    B,
}

/// A variable that may own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// `char *p`.
    Text,
    /// `struct record *s`: a structure with two texts.
    Record,
    /// `struct buffer b`: a local that grows.
    Buffer,
    /// `struct node *l`: a list of texts.
    List,
    /// `struct counted *c`: a block with a reference count.
    Counted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Compared with a small constant.
    Is(Number, Compare, i32),
    /// `a` and `b` compared.
    Pair(Compare),
    /// `rc != 0`: the last call with a status failed.
    Failed,
    /// The variable is not null (a buffer: its data).
    Has(Kind),
}

/// One statement without blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    // The text.
    /// malloc, or so many wrappers around it.
    Make(u8),
    /// An out-parameter and a status in `rc`; fails for one number and leaves the text alone.
    Grab(Number),
    /// realloc in a callee, for some numbers.
    Resize(Number),
    /// free, or so many wrappers around it; the variable is set to null if the second says so.
    Drop(u8, bool),
    /// Frees it if the number is not 0.
    DropIf(Number),
    /// Given to a callback: one that frees, or one that looks.
    Call(bool),
    /// Offered to a callee that frees it for some numbers, and tells so in `rc`.
    Take(Number),
    /// Into the caller's box.
    TextOut,
    /// Onto a list that a global holds.
    Keep,
    /// `p = NULL`.
    Forget,

    // The record.
    NewRecord,
    /// An out-parameter and a status in `rc`; fails for one number.
    ParseRecord(Number),
    /// Gives it a second text if it has none and the number is large enough.
    FillRecord(Number),
    /// The text becomes its name; a callee frees the old one.
    Rename,
    /// The text becomes its name, whatever that was.
    SetName,
    /// Its name becomes the text.
    TakeName,
    ClearRecord,
    FreeRecord,
    /// free alone: its texts go with it.
    FreeRecordOnly,
    RecordOut,

    // The buffer.
    Add(Number),
    FreeBuffer,
    /// Its data becomes the text.
    Detach,
    BufferOut,

    // The list.
    /// A new text, pushed.
    PushNew,
    /// The text, pushed.
    PushText,
    /// The first text, or null, becomes the text.
    Pop,
    FreeList,
    /// The nodes alone.
    FreeNodes,
    /// Each text is given to a callback: one that frees, or one that looks.
    Each(bool),
    ListOut,

    // The counted block.
    NewCounted,
    /// One reference more.
    Get,
    /// One reference less; the variable is set to null if it says so.
    Put(bool),
    /// The caller's box gets a reference: one more, or the function's own.
    CountedOut(bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    Do(Step),
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// So many iterations, or as many as the number says.
    Loop(Result<u8, Number>, Vec<Statement>),
    /// Leaves the loop.
    Break,
    /// `goto out`: the clean-up is still done.
    Goto,
    Return,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub body: Vec<Statement>,
    /// What stands behind the label `out`.
    pub cleanup: Vec<Statement>,
}

impl Function {
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut found = Vec::new();
        collect(&self.body, &mut found);
        collect(&self.cleanup, &mut found);
        found
    }

    /// The variables that it uses.
    pub(crate) fn kinds(&self) -> BTreeSet<Kind> {
        self.steps().into_iter().flat_map(Step::kinds).copied().chain(self.asked()).collect()
    }

    /// The variables that conditions ask for.
    fn asked(&self) -> BTreeSet<Kind> {
        let mut found = BTreeSet::new();
        for block in [&self.body, &self.cleanup] {
            conditions(block, &mut |condition| {
                if let Condition::Has(kind) = condition {
                    found.insert(kind);
                }
            });
        }
        found
    }

    pub(crate) fn has_loop(&self) -> bool {
        has_loop(&self.body)
    }
}

fn has_loop(block: &[Statement]) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Loop(..) => true,
        Statement::If(_, then, other) => has_loop(then) || has_loop(other),
        Statement::Do(_) | Statement::Break | Statement::Goto | Statement::Return => false,
    })
}

fn collect(block: &[Statement], found: &mut Vec<Step>) {
    for statement in block {
        match statement {
            Statement::Do(step) => found.push(*step),
            Statement::If(_, then, other) => {
                collect(then, found);
                collect(other, found);
            }
            Statement::Loop(_, inner) => collect(inner, found),
            Statement::Break | Statement::Goto | Statement::Return => {}
        }
    }
}

fn conditions(block: &[Statement], visit: &mut impl FnMut(Condition)) {
    for statement in block {
        match statement {
            Statement::If(condition, then, other) => {
                visit(*condition);
                conditions(then, visit);
                conditions(other, visit);
            }
            Statement::Loop(_, inner) => conditions(inner, visit),
            Statement::Do(_) | Statement::Break | Statement::Goto | Statement::Return => {}
        }
    }
}

impl Step {
    pub(crate) fn kinds(self) -> &'static [Kind] {
        match self {
            Step::Make(_)
            | Step::Grab(_)
            | Step::Resize(_)
            | Step::Drop(..)
            | Step::DropIf(_)
            | Step::Call(_)
            | Step::Take(_)
            | Step::TextOut
            | Step::Keep
            | Step::Forget => &[Kind::Text],
            Step::NewRecord
            | Step::ParseRecord(_)
            | Step::FillRecord(_)
            | Step::ClearRecord
            | Step::FreeRecord
            | Step::FreeRecordOnly
            | Step::RecordOut => &[Kind::Record],
            Step::Rename | Step::SetName | Step::TakeName => &[Kind::Text, Kind::Record],
            Step::Add(_) | Step::FreeBuffer | Step::BufferOut => &[Kind::Buffer],
            Step::Detach => &[Kind::Text, Kind::Buffer],
            Step::PushNew | Step::FreeList | Step::FreeNodes | Step::Each(_) | Step::ListOut => &[Kind::List],
            Step::PushText | Step::Pop => &[Kind::Text, Kind::List],
            Step::NewCounted | Step::Get | Step::Put(_) | Step::CountedOut(_) => &[Kind::Counted],
        }
    }
}
