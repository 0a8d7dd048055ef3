//! The known answer: runs a function on all inputs that it can distinguish.

use crate::shape::{Compare, Condition, Function, Iteration, Number, Sink, Source, Statement, Told};

/// Constants are 0 to 2. Below, between and above them two numbers each are enough to tell `a` from `b` as well.
pub(crate) const INPUTS: [i32; 7] = [-2, -1, 0, 1, 2, 3, 4];
/// `grab` fails on this number, `take` and `put` take `p` below this one.
pub(crate) const FAILS_ON: i32 = 1;
pub(crate) const TAKES_BELOW: i32 = 2;

/// Whether some input makes the function lose memory.
pub(crate) fn leaks(function: &Function) -> bool {
    runs(function).any(|run| run.lost > 0)
}

/// Whether no input makes it free something twice, or something that is another's by now.
pub(crate) fn is_valid(function: &Function) -> bool {
    runs(function).all(|run| !run.is_broken)
}

fn runs(function: &Function) -> impl Iterator<Item = Run> + '_ {
    let inputs = INPUTS.iter().flat_map(|a| INPUTS.iter().map(move |b| (*a, *b)));
    inputs.map(|(a, b)| {
        let mut run = Run { a, b, flag: false, pointer: Pointer::Null, boxed: false, lost: 0, is_broken: false };
        run.flag = run.holds(function.flag);
        run.block(&function.body);
        run.drop_pointer();
        run
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointer {
    Null,
    /// The function has to see to it.
    Own,
    Freed,
    /// In the box or the list; `p` still points to it.
    Moved,
}

struct Run {
    a: i32,
    b: i32,
    flag: bool,
    pointer: Pointer,
    /// Something is in the box already.
    boxed: bool,
    lost: usize,
    is_broken: bool,
}

impl Run {
    /// False when the function has returned.
    fn block(&mut self, block: &[Statement]) -> bool {
        block.iter().all(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::Obtain(source) => self.obtain(*source),
            Statement::Give(sink) => self.give(*sink),
            Statement::Offer(told, refused) => {
                if !self.offer(*told) {
                    return self.block(refused);
                }
            }
            Statement::If(condition, then, other) => {
                let taken = if self.holds(*condition) { then } else { other };
                return self.block(taken);
            }
            Statement::Loop(iterations, iteration) => self.iterations(*iterations, *iteration),
            Statement::Noise => {}
            Statement::Return => return false,
        }
        !self.is_broken
    }

    fn number(&self, number: Number) -> i32 {
        match number {
            Number::A => self.a,
            Number::B => self.b,
            Number::Flag => i32::from(self.flag),
        }
    }

    fn holds(&self, condition: Condition) -> bool {
        match condition {
            Condition::Is(number, compare, constant) => compared(self.number(number), compare, constant),
            Condition::Pair(compare) => compared(self.a, compare, self.b),
            Condition::HasPointer => self.pointer != Pointer::Null,
        }
    }

    /// `p` gets another value.
    fn drop_pointer(&mut self) {
        self.lost += usize::from(self.pointer == Pointer::Own);
        self.pointer = Pointer::Null;
    }

    fn obtain(&mut self, source: Source) {
        // A failed `grab` leaves `p` alone.
        if matches!(source, Source::Status(n) if self.number(n) == FAILS_ON) {
            return;
        }
        self.drop_pointer();
        self.pointer = Pointer::Own;
    }

    fn free(&mut self) {
        match self.pointer {
            Pointer::Null => {}
            Pointer::Own => self.pointer = Pointer::Freed,
            Pointer::Freed | Pointer::Moved => self.is_broken = true,
        }
    }

    /// Into the box, or onto the list: only what is the function's own.
    fn move_out(&mut self) {
        match self.pointer {
            Pointer::Own => self.pointer = Pointer::Moved,
            Pointer::Null | Pointer::Freed | Pointer::Moved => self.is_broken = true,
        }
    }

    fn put(&mut self) {
        self.move_out();
        self.is_broken |= std::mem::replace(&mut self.boxed, true);
    }

    fn give(&mut self, sink: Sink) {
        match sink {
            Sink::Free | Sink::Wrapper(_) => self.free(),
            Sink::Given(number) => {
                if self.number(number) != 0 {
                    self.free();
                }
            }
            Sink::Box => self.put(),
            Sink::Global => self.move_out(),
            Sink::Nowhere => self.drop_pointer(),
        }
    }

    /// Whether `p` is taken.
    fn offer(&mut self, told: Told) -> bool {
        let (Told::Frees(number) | Told::Stores(number)) = told;
        let is_taken = self.number(number) < TAKES_BELOW;
        if is_taken {
            match told {
                Told::Frees(_) => self.free(),
                Told::Stores(_) => self.put(),
            }
        }
        is_taken
    }

    fn iterations(&mut self, iterations: u8, iteration: Iteration) {
        let forgets = match iteration {
            Iteration::Frees => false,
            Iteration::Forgets => true,
            Iteration::FreesIf(condition) => !self.holds(condition),
            Iteration::Leaves(condition) => self.holds(condition),
        };
        self.lost += usize::from(forgets && iterations > 0);
    }
}

pub(crate) fn compared(left: i32, compare: Compare, right: i32) -> bool {
    match compare {
        Compare::Equal => left == right,
        Compare::Unequal => left != right,
        Compare::Less => left < right,
        Compare::Greater => left > right,
    }
}
