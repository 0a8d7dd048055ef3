//! Generated functions in C.

use std::fmt::Write as _;

use crate::run::{FAILS_ON, TAKES_BELOW};
use crate::shape::{Compare, Condition, Function, Iteration, Number, Sink, Source, Statement, Told};

/// The deepest wrapper.
const WRAPPERS: u8 = 6;

/// A translation unit; the functions are `f0`, `f1` and so on.
pub(crate) fn unit(functions: &[Function]) -> String {
    let mut text = prelude();
    for (index, function) in functions.iter().enumerate() {
        text += &named(&format!("f{index}"), function);
    }
    text
}

/// One function, for messages.
pub(crate) fn function(function: &Function) -> String {
    named("f", function)
}

fn prelude() -> String {
    let mut text = String::from(
        "#include <stdio.h>\n#include <stdlib.h>\n\n\
         struct box { char *slot; };\nstruct node { struct node *next; char *data; };\nstatic struct node *list;\n\n\
         static char *make0(void) { char *p = malloc(8); if (!p) abort(); return p; }\n\
         static void drop0(char *p) { free(p); }\n",
    );
    for depth in 1..WRAPPERS {
        let below = depth - 1;
        writeln!(text, "static char *make{depth}(void) {{ return make{below}(); }}").expect("strings take all");
        writeln!(text, "static void drop{depth}(char *p) {{ if (p) drop{below}(p); }}").expect("strings take all");
    }
    write!(
        text,
        "static int grab(char **out, int n) {{ if (n == {FAILS_ON}) return -1; *out = make0(); return 0; }}\n\
         static void free_if(char *p, int wanted) {{ if (wanted) free(p); }}\n\
         static int take(char *p, int n) {{ if (n < {TAKES_BELOW}) {{ free(p); return 0; }} return -1; }}\n\
         static int put(struct box *b, char *p, int n) {{ if (n < {TAKES_BELOW}) {{ b->slot = p; return 0; }} return -1; }}\n\
         static void keep(char *p) {{ struct node *n = malloc(sizeof *n); if (!n) abort(); \
         n->data = p; n->next = list; list = n; }}\n\n"
    )
    .expect("strings take all");
    text
}

fn named(name: &str, function: &Function) -> String {
    let mut text = format!("int {name}(int a, int b, struct box *out)\n{{\n    char *p = NULL;\n");
    let body = block(&function.body, 1);
    if body.contains("flag") {
        text += &format!("    int flag = {};\n", condition(function.flag));
    }
    text + &body + "    return 0;\n}\n\n"
}

fn block(statements: &[Statement], depth: usize) -> String {
    statements.iter().map(|s| statement(s, depth)).collect()
}

fn statement(statement: &Statement, depth: usize) -> String {
    let indent = "    ".repeat(depth);
    let nested = |statements: &[Statement]| format!("{{\n{}{indent}}}", block(statements, depth + 1));
    let text = match statement {
        Statement::Obtain(source) => match source {
            Source::Plain => "p = malloc(8); if (p == NULL) return -1;".to_owned(),
            Source::Wrapper(depth) => format!("p = make{depth}();"),
            Source::Status(n) => format!("if (grab(&p, {}) != 0) puts(\"none\");", number(*n)),
        },
        Statement::Give(given) => sink(*given),
        Statement::Offer(told, refused) => {
            let call = match told {
                Told::Frees(n) => format!("take(p, {})", number(*n)),
                Told::Stores(n) => format!("put(out, p, {})", number(*n)),
            };
            format!("if ({call} != 0) {}", nested(refused))
        }
        Statement::If(c, then, other) if other.is_empty() => format!("if ({}) {}", condition(*c), nested(then)),
        Statement::If(c, then, other) => format!("if ({}) {} else {}", condition(*c), nested(then), nested(other)),
        Statement::Loop(iterations, iteration) => {
            let freed = match iteration {
                Iteration::Frees => "free(q);".to_owned(),
                Iteration::Forgets => "q[0] = 'x';".to_owned(),
                Iteration::FreesIf(c) => format!("if ({}) free(q);", condition(*c)),
                Iteration::Leaves(c) => format!("if ({}) break; free(q);", condition(*c)),
            };
            format!("for (int i = 0; i < {iterations}; i++) {{ char *q = make0(); {freed} }}")
        }
        Statement::Noise => "printf(\"%d\\n\", a + b);".to_owned(),
        Statement::Return => "return 1;".to_owned(),
    };
    format!("{indent}{text}\n")
}

fn sink(sink: Sink) -> String {
    match sink {
        Sink::Free => "free(p);".to_owned(),
        Sink::Wrapper(depth) => format!("drop{depth}(p);"),
        Sink::Given(n) => format!("free_if(p, {});", number(n)),
        Sink::Box => "out->slot = p;".to_owned(),
        Sink::Global => "keep(p);".to_owned(),
        Sink::Nowhere => "p = NULL;".to_owned(),
    }
}

fn number(number: Number) -> &'static str {
    match number {
        Number::A => "a",
        Number::B => "b",
        Number::Flag => "flag",
    }
}

fn condition(condition: Condition) -> String {
    match condition {
        Condition::Is(n, compare, constant) => format!("{} {} {constant}", number(n), sign(compare)),
        Condition::Pair(compare) => format!("a {} b", sign(compare)),
        Condition::HasPointer => "p != NULL".to_owned(),
    }
}

pub(crate) fn sign(compare: Compare) -> &'static str {
    match compare {
        Compare::Equal => "==",
        Compare::Unequal => "!=",
        Compare::Less => "<",
        Compare::Greater => ">",
    }
}
