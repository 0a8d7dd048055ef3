//! Wide functions in C.

use super::helpers::{self, Form};
use super::shape::{Condition, Function, Kind, Number, Statement, Step};
use crate::render::sign;

/// A translation unit; the functions are `f0`, `f1` and so on.
pub(crate) fn unit(functions: &[Function], form: Form) -> String {
    let mut text = helpers::prelude(form);
    for (index, function) in functions.iter().enumerate() {
        text += &named(&format!("f{index}"), function);
    }
    text
}

/// One function, for messages.
pub(crate) fn function(function: &Function) -> String {
    named("f", function)
}

fn named(name: &str, function: &Function) -> String {
    let mut text = format!("int {name}(int a, int b, struct box *box)\n{{\n    int rc = 0;\n");
    for kind in function.kinds() {
        text += match kind {
            Kind::Text => "    char *p = NULL;\n",
            Kind::Record => "    struct record *s = NULL;\n",
            Kind::Buffer => "    struct buffer buf = {0};\n",
            Kind::List => "    struct node *l = NULL;\n",
            Kind::Counted => "    struct counted *c = NULL;\n",
        };
    }
    text += &block(&function.body, 1);
    if text.contains("goto out;") {
        text += "out:\n";
    }
    text + &block(&function.cleanup, 1) + "    return rc;\n}\n\n"
}

fn block(statements: &[Statement], depth: usize) -> String {
    statements.iter().map(|s| statement(s, depth)).collect()
}

fn statement(statement: &Statement, depth: usize) -> String {
    let indent = "    ".repeat(depth);
    let nested = |statements: &[Statement]| format!("{{\n{}{indent}}}", block(statements, depth + 1));
    let text = match statement {
        Statement::Do(step) => self::step(*step),
        Statement::If(c, then, other) if other.is_empty() => format!("if ({}) {}", condition(*c), nested(then)),
        Statement::If(c, then, other) => format!("if ({}) {} else {}", condition(*c), nested(then), nested(other)),
        Statement::Loop(bound, inner) => {
            let bound = bound.map_or_else(|n| number(n).to_owned(), |n| n.to_string());
            format!("for (int i = 0; i < {bound}; i++) {}", nested(inner))
        }
        Statement::Break => "break;".to_owned(),
        Statement::Goto => "goto out;".to_owned(),
        Statement::Return => "return 1;".to_owned(),
    };
    format!("{indent}{text}\n")
}

fn step(step: Step) -> String {
    let null = |clears: bool, variable: &str| if clears { format!(" {variable} = NULL;") } else { String::new() };
    match step {
        Step::Make(0) => "p = malloc(8); if (!p) abort();".to_owned(),
        Step::Make(depth) => format!("p = make{}();", depth - 1),
        Step::Grab(n) => format!("rc = grab(&p, {});", number(n)),
        Step::Resize(n) => format!("p = resize(p, {});", number(n)),
        Step::Drop(0, clears) => format!("free(p);{}", null(clears, "p")),
        Step::Drop(depth, clears) => format!("drop{}(p);{}", depth - 1, null(clears, "p")),
        Step::DropIf(n) => format!("drop_if(p, {});", number(n)),
        Step::Call(frees) => format!("call({}, p);", callback(frees)),
        Step::Take(n) => format!("rc = take(p, {});", number(n)),
        Step::TextOut => "box->slot = p; p = NULL;".to_owned(),
        Step::Keep => "keep(p); p = NULL;".to_owned(),
        Step::Forget => "p = NULL;".to_owned(),
        Step::NewRecord => "s = new_record();".to_owned(),
        Step::ParseRecord(n) => format!("rc = parse_record(&s, {});", number(n)),
        Step::FillRecord(n) => format!("fill_record(s, {});", number(n)),
        Step::Rename => "rename_record(s, p); p = NULL;".to_owned(),
        Step::SetName => "s->name = p; p = NULL;".to_owned(),
        Step::TakeName => "p = s->name; s->name = NULL;".to_owned(),
        Step::ClearRecord => "clear_record(s);".to_owned(),
        Step::FreeRecord => "free_record(s); s = NULL;".to_owned(),
        Step::FreeRecordOnly => "free(s); s = NULL;".to_owned(),
        Step::RecordOut => "box->record = s; s = NULL;".to_owned(),
        Step::Add(n) => format!("add(&buf, {});", number(n)),
        Step::FreeBuffer => "free_buffer(&buf);".to_owned(),
        Step::Detach => "p = detach(&buf);".to_owned(),
        Step::BufferOut => "box->buffer = buf; buf.data = NULL; buf.size = 0;".to_owned(),
        Step::PushNew => "push(&l, make0());".to_owned(),
        Step::PushText => "push(&l, p); p = NULL;".to_owned(),
        Step::Pop => "p = pop(&l);".to_owned(),
        Step::FreeList => "free_list(l); l = NULL;".to_owned(),
        Step::FreeNodes => "free_nodes(l); l = NULL;".to_owned(),
        Step::Each(frees) => format!("each(l, {});", callback(frees)),
        Step::ListOut => "box->list = l; l = NULL;".to_owned(),
        Step::NewCounted => "c = new_counted();".to_owned(),
        Step::Get => "get(c);".to_owned(),
        Step::Put(clears) => format!("put(c);{}", null(clears, "c")),
        Step::CountedOut(true) => "box->counted = get(c);".to_owned(),
        Step::CountedOut(false) => "box->counted = c; c = NULL;".to_owned(),
    }
}

fn callback(frees: bool) -> &'static str {
    if frees { "free_text" } else { "look_at" }
}

fn number(number: Number) -> &'static str {
    match number {
        Number::A => "a",
        Number::B => "b",
    }
}

fn condition(condition: Condition) -> String {
    match condition {
        Condition::Is(n, compare, constant) => format!("{} {} {constant}", number(n), sign(compare)),
        Condition::Pair(compare) => format!("a {} b", sign(compare)),
        Condition::Failed => "rc != 0".to_owned(),
        Condition::Has(kind) => match kind {
            Kind::Text => "p != NULL",
            Kind::Record => "s != NULL",
            Kind::Buffer => "buf.data != NULL",
            Kind::List => "l != NULL",
            Kind::Counted => "c != NULL",
        }
        .to_owned(),
    }
}
