//! Small programs over lists and trees, randomly generated: the same seed, the same program.

use std::fmt::Write as _;

/// A generator of pseudo-random numbers (xorshift), so that a failure can be had again.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| {
            random.next();
        });
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound.max(1)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

pub(crate) const PRELUDE: &str = "\
#include <stdlib.h>
typedef struct node { int data; struct node *next; struct node *left; } Node;
Node *kept;
";

const VARIABLES: [&str; 5] = ["a", "b", "p", "q", "r"];
const FIELDS: [&str; 2] = ["next", "left"];

/// A function `f<seed>`, and a private one that it may call. `with_memory`: with globals, structures on the stack,
/// copies and pointers to pointers.
pub(crate) fn function(seed: u64, with_memory: bool) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    let helper = random.below(3) == 0;
    if helper {
        let size = 2 + random.below(4);
        let recursion = random.below(3) == 0;
        let calls = if recursion { Some(format!("h{seed}")) } else { None };
        Writer { random: &mut random, text: &mut text, callee: calls, with_memory }
            .function(&format!("static Node *h{seed}"), size);
    }
    let size = 3 + random.below(5);
    let callee = helper.then(|| format!("h{seed}"));
    Writer { random: &mut random, text: &mut text, callee, with_memory }.function(&format!("Node *f{seed}"), size);
    text
}

struct Writer<'a> {
    random: &'a mut Random,
    text: &'a mut String,
    callee: Option<String>,
    with_memory: bool,
}

impl Writer<'_> {
    fn function(&mut self, head: &str, size: usize) {
        let _ = writeln!(self.text, "{head}(Node *a, Node *b, int n)\n{{\n    Node *p = NULL, *q = NULL, *r = NULL;");
        if let Some(callee) = self.callee.clone().filter(|c| head.ends_with(c.as_str())) {
            // A recursive function ends, on heaps without cycles at least.
            let field = self.field();
            let _ = writeln!(self.text, "    if (a == NULL)\n        return b;");
            let _ = writeln!(self.text, "    r = a->{field};\n    q = {callee}(r, b, n);");
            self.callee = None;
        }
        for _ in 0..size {
            self.statement(1);
        }
        let result = self.variable();
        let _ = writeln!(self.text, "    return {result};\n}}\n");
    }

    fn variable(&mut self) -> &'static str {
        self.random.one(&VARIABLES)
    }

    fn field(&mut self) -> &'static str {
        self.random.one(&FIELDS)
    }

    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "", indent = depth * 4);
    }

    fn statement(&mut self, depth: usize) {
        let (x, y, f) = (self.variable(), self.variable(), self.field());
        match self.random.below(if self.with_memory { 20 } else { 15 }) {
            0 | 1 => self.line(depth, &format!("{x} = {y};")),
            2 | 3 => self.line(depth, &format!("if ({y} != NULL) {x} = {y}->{f};")),
            4 | 5 => self.line(depth, &format!("if ({x} != NULL) {x}->{f} = {y};")),
            6 => self.line(depth, &format!("if ({x} != NULL) {x}->{f} = NULL;")),
            7 => self.allocate(depth, x, y),
            8 => self.line(depth, &format!("{{ Node *t = {x}; {x} = {y}; {y} = t; }}")),
            9 => self.free(depth, x),
            10 | 11 if depth < 3 => self.branch(depth, x, y),
            12 if depth < 2 => self.push_all(depth, x, y, f),
            13 if depth < 2 => self.walk(depth, x, f),
            14 => self.rotate(depth, x, y),
            15 | 16 => self.global(depth, x),
            17 => self.local_structure(depth, x, y, f),
            18 => self.through_pointer(depth, x, y, f),
            19 if x != y => self.line(depth, &format!("if ({x} != NULL && {y} != NULL) *{x} = *{y};")),
            _ => self.call(depth, x, y),
        }
    }

    fn allocate(&mut self, depth: usize, x: &str, y: &str) {
        self.line(depth, &format!("{x} = malloc(sizeof *{x});"));
        self.line(depth, &format!("if ({x} == NULL) return {y};"));
        self.line(depth, &format!("{x}->data = n;"));
        for field in FIELDS {
            let value = if self.random.below(2) == 0 { "NULL" } else { self.variable() };
            let value = if value == x { "NULL" } else { value };
            self.line(depth, &format!("{x}->{field} = {value};"));
        }
    }

    fn free(&mut self, depth: usize, x: &str) {
        let (y, f) = (self.variable(), self.field());
        self.line(depth, &format!("if ({x} != NULL) {{"));
        if self.random.below(2) == 0 && y != x {
            self.line(depth + 1, &format!("{y} = {x}->{f};"));
        }
        self.line(depth + 1, &format!("free({x});"));
        self.line(depth + 1, &format!("{x} = NULL;"));
        self.line(depth, "}");
    }

    fn branch(&mut self, depth: usize, x: &str, y: &str) {
        let condition = match self.random.below(5) {
            0 => format!("{x} == NULL"),
            1 => format!("{x} == {y}"),
            2 => format!("{x} != NULL && {x}->data < n"),
            3 => "n > 1".to_owned(),
            _ => format!("{x} != {y}"),
        };
        self.line(depth, &format!("if ({condition}) {{"));
        for _ in 0..1 + self.random.below(2) {
            self.statement(depth + 1);
        }
        if self.random.below(2) == 0 {
            self.line(depth, "} else {");
            self.statement(depth + 1);
        }
        self.line(depth, "}");
    }

    /// Moves the cells of one list to the front of another.
    fn push_all(&mut self, depth: usize, x: &str, y: &str, f: &str) {
        if x == y {
            return;
        }
        self.line(depth, &format!("while ({x} != NULL) {{"));
        self.line(depth + 1, &format!("Node *t = {x}->{f};"));
        if self.random.below(3) == 0 {
            self.statement(depth + 1);
        }
        self.line(depth + 1, &format!("if ({x} == NULL) break;"));
        self.line(depth + 1, &format!("{x}->{f} = {y};"));
        self.line(depth + 1, &format!("{y} = {x};"));
        self.line(depth + 1, &format!("{x} = t;"));
        self.line(depth, "}");
    }

    fn walk(&mut self, depth: usize, x: &str, f: &str) {
        self.line(depth, &format!("while ({x} != NULL && {x}->data < n) {{"));
        if self.random.below(2) == 0 {
            self.statement(depth + 1);
        }
        self.line(depth + 1, &format!("if ({x} == NULL) break;"));
        if self.random.below(3) == 0 {
            let y = self.variable();
            self.line(depth + 1, &format!("{y} = {x};"));
        }
        self.line(depth + 1, &format!("{x} = {x}->{f};"));
        self.line(depth, "}");
    }

    fn rotate(&mut self, depth: usize, x: &str, y: &str) {
        if x == y {
            return;
        }
        self.line(depth, &format!("if ({x} != NULL && {x}->left != NULL) {{"));
        self.line(depth + 1, &format!("{y} = {x}->left;"));
        self.line(depth + 1, &format!("{x}->left = {y}->next;"));
        self.line(depth + 1, &format!("{y}->next = {x};"));
        self.line(depth, "}");
    }

    fn global(&mut self, depth: usize, x: &str) {
        match self.random.below(3) {
            0 => self.line(depth, &format!("kept = {x};")),
            1 => self.line(depth, &format!("{x} = kept;")),
            _ => self.line(depth, &format!("if (kept == NULL) kept = {x};")),
        }
    }

    /// A structure on the stack holds a reference for a while.
    fn local_structure(&mut self, depth: usize, x: &str, y: &str, f: &str) {
        let z = self.variable();
        self.line(depth, "{");
        self.line(depth + 1, &format!("Node s = {{ n, {x}, {y} }};"));
        if self.random.below(2) == 0 {
            self.statement(depth + 1);
        }
        match self.random.below(3) {
            0 => self.line(depth + 1, &format!("Node *t = &s; {z} = t->{f};")),
            1 => self.line(depth + 1, &format!("{z} = s.{f};")),
            _ => self.line(depth + 1, &format!("s.{f} = NULL;")),
        }
        self.line(depth, "}");
    }

    /// A pointer to a field or to a variable, and a write or a read through it.
    fn through_pointer(&mut self, depth: usize, x: &str, y: &str, f: &str) {
        let z = self.variable();
        match self.random.below(3) {
            0 => self.line(depth, &format!("if ({x} != NULL) {{ Node **w = &{x}->{f}; *w = {y}; }}")),
            1 => self.line(depth, &format!("{{ Node **w = {y} != NULL ? &{y}->{f} : &{x}; *w = {z}; }}")),
            _ => self.line(
                depth,
                &format!("{{ Node **w = &{x}; while (*w != NULL && (*w)->data < n) w = &(*w)->{f}; *w = {z}; }}"),
            ),
        }
    }

    fn call(&mut self, depth: usize, x: &str, y: &str) {
        let z = self.variable();
        match self.callee.clone() {
            Some(callee) => self.line(depth, &format!("{z} = {callee}({x}, {y}, n);")),
            None => self.line(depth, &format!("{z} = {x};")),
        }
    }
}
