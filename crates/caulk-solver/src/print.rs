//! Terms as a C programmer would write them. Widening is silent, as in C; constants are printed as signed where the
//! comparison is.

use crate::bits::signed;
use crate::node::{BinaryOp, Comparison, Node, SymbolId, TermId};
use crate::pool::TermPool;

/// How tightly an operator binds, as in C.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Choice,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Order,
    Shift,
    Sum,
    Product,
    Unary,
    Atom,
}

struct Printer<'a, F> {
    pool: &'a TermPool,
    name: &'a F,
}

impl TermPool {
    /// A term as text: `n > 0 && (flags & 4) != 0`.
    pub fn display(&self, term: TermId, name: &impl Fn(SymbolId) -> String) -> String {
        let printer = Printer { pool: self, name };
        let (text, _) = if self.width(term) == 1 { printer.condition(term, true) } else { printer.value(term, true) };
        text
    }
}

impl<F: Fn(SymbolId) -> String> Printer<'_, F> {
    /// A condition, or its opposite.
    fn condition(&self, term: TermId, truth: bool) -> (String, Level) {
        match self.pool.node(term) {
            Node::Const(value) => ((if (value != 0) == truth { "true" } else { "false" }).to_string(), Level::Atom),
            Node::Not(inner) => self.condition(inner, !truth),
            Node::Binary(BinaryOp::And, _, a, b) => {
                let (operator, level) = if truth { ("&&", Level::And) } else { ("||", Level::Or) };
                (self.chain(a, b, truth, operator, level), level)
            }
            Node::Compare(op, a, b) => self.comparison(op, a, b, truth),
            Node::Binary(_, _, a, b) => {
                let operator = if truth { "!=" } else { "==" };
                let (a, b) = (self.operand(a, Level::Order), self.operand(b, Level::Order));
                (format!("{a} {operator} {b}"), Level::Equality)
            }
            Node::Ite(c, a, b) => {
                let c = wrap(self.condition(c, true), Level::Or);
                let (a, b) = (self.condition(a, truth), self.condition(b, truth));
                (format!("{c} ? {} : {}", wrap(a, Level::Or), wrap(b, Level::Choice)), Level::Choice)
            }
            _ if truth => ((self.name)(self.symbol(term)), Level::Atom),
            _ => (format!("!{}", (self.name)(self.symbol(term))), Level::Unary),
        }
    }

    /// At width 1 whatever has no operator is a symbol.
    fn symbol(&self, term: TermId) -> SymbolId {
        self.pool.as_symbol(term).expect("booleans are constants, symbols or made by a boolean operator")
    }

    fn chain(&self, a: TermId, b: TermId, truth: bool, operator: &str, level: Level) -> String {
        // `&&` inside `||` needs none in C, but compilers ask for it and so do readers.
        let part = |term| {
            let (text, inner) = self.condition(term, truth);
            let clear = inner == level || inner > Level::And;
            if clear { text } else { format!("({text})") }
        };
        format!("{} {operator} {}", part(a), part(b))
    }

    fn comparison(&self, op: Comparison, a: TermId, b: TermId, truth: bool) -> (String, Level) {
        let is_signed = op == Comparison::Slt;
        if op == Comparison::Eq {
            let operator = if truth { "==" } else { "!=" };
            let left = self.compared(a, Level::Order, true);
            let right = self.compared(b, Level::Order, true);
            return (format!("{left} {operator} {right}"), Level::Equality);
        }
        // `x < 1` and `x >= 1` were `x <= 0` and `x > 0` in all likelihood.
        let (operator, right) = match (truth, self.pool.as_const(b)) {
            (true, Some(1)) => ("<=", "0".to_string()),
            (false, Some(1)) => (">", "0".to_string()),
            (true, _) => ("<", self.compared(b, Level::Shift, is_signed)),
            (false, _) => (">=", self.compared(b, Level::Shift, is_signed)),
        };
        (format!("{} {operator} {right}", self.compared(a, Level::Shift, is_signed)), Level::Order)
    }

    /// A side of a comparison. Bit operators bind looser than comparisons in C, so they come out parenthesised.
    fn compared(&self, term: TermId, level: Level, is_signed: bool) -> String {
        wrap(self.any(term, is_signed), level)
    }

    fn operand(&self, term: TermId, level: Level) -> String {
        wrap(self.any(term, true), level)
    }

    fn any(&self, term: TermId, is_signed: bool) -> (String, Level) {
        if self.pool.width(term) == 1 { self.condition(term, true) } else { self.value(term, is_signed) }
    }

    fn value(&self, term: TermId, is_signed: bool) -> (String, Level) {
        let width = self.pool.width(term);
        match self.pool.node(term) {
            Node::Const(value) if is_signed => number(signed(value, width)),
            Node::Const(value) => (value.to_string(), Level::Atom),
            Node::Symbol(symbol) => ((self.name)(symbol), Level::Atom),
            Node::ZExt(a) | Node::SExt(a) => self.any(a, is_signed),
            Node::Trunc(a) => (format!("(uint{width}_t){}", self.operand(a, Level::Unary)), Level::Unary),
            Node::Ite(c, a, b) => {
                let c = wrap(self.condition(c, true), Level::Or);
                let (a, b) = (self.value(a, is_signed), self.value(b, is_signed));
                (format!("{c} ? {} : {}", wrap(a, Level::Or), wrap(b, Level::Choice)), Level::Choice)
            }
            Node::Binary(op, _, a, b) => self.binary(op, a, b, width),
            Node::Not(_) | Node::Compare(..) => self.condition(term, true),
        }
    }

    fn binary(&self, op: BinaryOp, a: TermId, b: TermId, width: u8) -> (String, Level) {
        let constant = self.pool.as_const(b);
        match (op, constant) {
            (BinaryOp::Sub, _) if self.pool.as_const(a) == Some(0) => {
                return (format!("-{}", self.operand(b, Level::Unary)), Level::Unary);
            }
            (BinaryOp::Xor, Some(c)) if signed(c, width) == -1 => {
                return (format!("~{}", self.operand(a, Level::Unary)), Level::Unary);
            }
            (BinaryOp::Add, Some(c)) if signed(c, width) < 0 => {
                let text = format!("{} - {}", self.operand(a, Level::Sum), signed(c, width).unsigned_abs());
                return (text, Level::Sum);
            }
            _ => {}
        }
        let (operator, level) = match op {
            BinaryOp::Add => ("+", Level::Sum),
            BinaryOp::Sub => ("-", Level::Sum),
            BinaryOp::Mul => ("*", Level::Product),
            BinaryOp::UDiv | BinaryOp::SDiv => ("/", Level::Product),
            BinaryOp::URem | BinaryOp::SRem => ("%", Level::Product),
            BinaryOp::Shl => ("<<", Level::Shift),
            BinaryOp::LShr | BinaryOp::AShr => (">>", Level::Shift),
            BinaryOp::And => ("&", Level::BitAnd),
            BinaryOp::Or => ("|", Level::BitOr),
            BinaryOp::Xor => ("^", Level::BitXor),
        };
        let right = match (level, constant) {
            (Level::BitAnd | Level::BitOr | Level::BitXor, Some(c)) => flags(c),
            _ => wrap_above(self.any(b, true), level),
        };
        (format!("{} {operator} {right}", wrap(self.any(a, true), level)), level)
    }
}

/// Parenthesised if it binds looser than asked for.
fn wrap((text, level): (String, Level), least: Level) -> String {
    if level < least { format!("({text})") } else { text }
}

/// Parenthesised unless it binds tighter: the right side of an operator that groups to the left.
fn wrap_above((text, level): (String, Level), than: Level) -> String {
    if level <= than { format!("({text})") } else { text }
}

fn number(value: i64) -> (String, Level) {
    (value.to_string(), if value < 0 { Level::Unary } else { Level::Atom })
}

/// Flags are small or read better in base sixteen.
fn flags(value: u64) -> String {
    if value < 256 { value.to_string() } else { format!("{value:#x}") }
}
