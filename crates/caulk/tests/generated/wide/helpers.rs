//! The callees of wide functions, and the three forms in which they are written: as they are, padded with branches that do
//! nothing to memory, and inlined. What a function does is the same with each.

use std::fmt::Write as _;

/// How callees are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Small: stage two executes them.
    Plain,
    /// Longer than `ExploreConfig::max_callee_size`, by so many branches: stage two has to use summaries.
    Padded(usize),
    /// A statement expression in place of each call.
    Inlined,
}

// The numbers in the C text below are these.

/// `grab` and `parse_record` fail on this number.
pub(crate) const FAILS_ON: i32 = 1;
/// `take` takes its text below this number.
pub(crate) const TAKES_BELOW: i32 = 2;
/// `fill_record` fills from this number on, `resize` allocates again.
pub(crate) const FILLS_FROM: i32 = 1;

struct Helper {
    result: &'static str,
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    /// Sets `r` to the result.
    body: &'static str,
}

const TYPES: &str = "\
struct record { char *name; char *note; };
struct buffer { char *data; int size; };
struct node { struct node *next; char *data; };
struct counted { int count; };
struct box { char *slot; struct record *record; struct buffer buffer; struct node *list; struct counted *counted; };
typedef void callback(char *);
static struct node *kept;
int pad;

static void free_text(char *p) { free(p); }
static void look_at(char *p) { if (p) printf(\"%p\", (void *)p); }
";

const HELPERS: &[Helper] = &[
    helper("char *", "make0", &[], "r = malloc(8); if (!r) abort();"),
    helper("char *", "make1", &[], "r = make0();"),
    helper("char *", "make2", &[], "r = make1();"),
    helper("void", "drop0", &[("char *", "p")], "free(p);"),
    helper("void", "drop1", &[("char *", "p")], "if (p) drop0(p);"),
    helper("void", "drop2", &[("char *", "p")], "drop1(p);"),
    helper(
        "int",
        "grab",
        &[("char **", "to"), ("int", "n")],
        "r = -1; if (n != 1) { *to = malloc(8); if (!*to) abort(); r = 0; }",
    ),
    helper(
        "char *",
        "resize",
        &[("char *", "p"), ("int", "n")],
        "r = p; if (n >= 1) { r = realloc(p, 8 * n); if (!r) abort(); }",
    ),
    helper("void", "drop_if", &[("char *", "p"), ("int", "n")], "if (n) free(p);"),
    helper("void", "call", &[("callback *", "f"), ("char *", "p")], "f(p);"),
    helper("int", "take", &[("char *", "p"), ("int", "n")], "r = -1; if (n < 2) { free(p); r = 0; }"),
    helper(
        "void",
        "keep",
        &[("char *", "p")],
        "struct node *n = malloc(sizeof *n); if (!n) abort(); n->data = p; n->next = kept; kept = n;",
    ),
    helper(
        "struct record *",
        "new_record",
        &[],
        "r = malloc(sizeof *r); if (!r) abort(); r->name = malloc(8); if (!r->name) abort(); r->note = NULL;",
    ),
    helper(
        "int",
        "parse_record",
        &[("struct record **", "to"), ("int", "n")],
        "struct record *made; r = -1; if (n != 1) { made = calloc(1, sizeof *made); if (!made) abort(); \
         if (n > 1) { made->note = malloc(8); if (!made->note) abort(); } *to = made; r = 0; }",
    ),
    helper(
        "void",
        "fill_record",
        &[("struct record *", "s"), ("int", "n")],
        "if (n >= 1 && !s->note) { s->note = malloc(8); if (!s->note) abort(); }",
    ),
    helper("void", "rename_record", &[("struct record *", "s"), ("char *", "p")], "free(s->name); s->name = p;"),
    helper(
        "void",
        "clear_record",
        &[("struct record *", "s")],
        "free(s->name); s->name = NULL; free(s->note); s->note = NULL;",
    ),
    helper("void", "free_record", &[("struct record *", "s")], "if (s) { free(s->name); free(s->note); free(s); }"),
    helper(
        "void",
        "add",
        &[("struct buffer *", "b"), ("int", "n")],
        "if (n > b->size) { b->data = realloc(b->data, 8 * n); if (!b->data) abort(); b->size = n; }",
    ),
    helper("void", "free_buffer", &[("struct buffer *", "b")], "free(b->data); b->data = NULL; b->size = 0;"),
    helper("char *", "detach", &[("struct buffer *", "b")], "r = b->data; b->data = NULL; b->size = 0;"),
    helper(
        "void",
        "push",
        &[("struct node **", "l"), ("char *", "p")],
        "struct node *n = malloc(sizeof *n); if (!n) abort(); n->data = p; n->next = *l; *l = n;",
    ),
    helper(
        "char *",
        "pop",
        &[("struct node **", "l")],
        "struct node *n = *l; r = NULL; if (n) { *l = n->next; r = n->data; free(n); }",
    ),
    helper(
        "void",
        "free_list",
        &[("struct node *", "l")],
        "while (l) { struct node *next = l->next; free(l->data); free(l); l = next; }",
    ),
    helper(
        "void",
        "free_nodes",
        &[("struct node *", "l")],
        "while (l) { struct node *next = l->next; free(l); l = next; }",
    ),
    helper("void", "each", &[("struct node *", "l"), ("callback *", "f")], "for (; l; l = l->next) f(l->data);"),
    helper("struct counted *", "new_counted", &[], "r = malloc(sizeof *r); if (!r) abort(); r->count = 1;"),
    helper("struct counted *", "get", &[("struct counted *", "c")], "r = c; c->count++;"),
    helper("void", "put", &[("struct counted *", "c")], "if (c && --c->count == 0) free(c);"),
];

const fn helper(
    result: &'static str,
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    body: &'static str,
) -> Helper {
    Helper { result, name, parameters, body }
}

/// What stands before the functions of a unit.
pub(crate) fn prelude(form: Form) -> String {
    let mut text = format!("#include <stdio.h>\n#include <stdlib.h>\n\n{TYPES}\n");
    for helper in HELPERS {
        match form {
            Form::Plain => text += &helper.as_function(""),
            Form::Padded(branches) => text += &helper.as_function(&padding(branches)),
            Form::Inlined => text += &helper.as_macro(),
        }
    }
    text + "\n"
}

fn padding(branches: usize) -> String {
    let mut text = String::new();
    for number in 0..branches {
        write!(text, "if (pad == {number}) pad += {}; else pad -= {}; ", number * 3, number + 1)
            .expect("strings take all");
    }
    text
}

impl Helper {
    fn as_function(&self, padding: &str) -> String {
        let Helper { result, name, body, .. } = self;
        let parameters: Vec<String> = self.parameters.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        let (declared, returned) =
            if *result == "void" { (String::new(), "") } else { (format!("{result} r; "), "return r; ") };
        format!("static {result} {name}({parameters}) {{ {declared}{padding}{body} {returned}}}\n")
    }

    /// Arguments get names of their own first: `p` may be the name of a parameter and of a variable of the caller.
    fn as_macro(&self) -> String {
        let Helper { result, name, body, .. } = self;
        let names: Vec<String> = (0..self.parameters.len()).map(|n| format!("A{n}")).collect();
        let mut text = format!("#define {name}({}) ({{ ", names.join(", "));
        for (number, (kind, parameter)) in self.parameters.iter().enumerate() {
            write!(text, "{kind} {name}_{parameter} = (A{number}); ").expect("strings take all");
        }
        let has_result = *result != "void";
        if has_result {
            write!(text, "{result} {name}_result; ").expect("strings take all");
        }
        text += "{ ";
        for (kind, parameter) in self.parameters {
            write!(text, "{kind} {parameter} = {name}_{parameter}; ").expect("strings take all");
        }
        match has_result {
            true => writeln!(text, "{result} r; {body} {name}_result = r; }} {name}_result; }})"),
            false => writeln!(text, "{body} }} (void)0; }})"),
        }
        .expect("strings take all");
        text
    }
}
