//! A program of any size, randomly generated from a seed: the same seed gives the same text, on every machine.
//!
//! It is made of what analyses are slow on: chains of calls through several files, error paths that share their clean-up,
//! lists, owning fields, out-parameters and tables of functions. Some of its functions leak.

use std::fmt::Write;

/// How large the program gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub units: usize,
    pub functions_per_unit: usize,
    /// Statements of a function's body, at most.
    pub max_statements: usize,
    pub seed: u64,
}

/// A small generator of pseudo-random numbers (xorshift64*), so that no library's next version changes the workload.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        ((mixed >> 33) as usize) % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const HEADER: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char *name; void *extra; int key; };
struct context { struct node *head; char *path; int (*handler)(struct context *, int); int error; };
struct node *make_node(const char *name, int key);
void free_node(struct node *node);
int push_node(struct context *c, struct node *node);
int fill(char **out, int key);
";

/// What the header declares, and an entry point that reaches every file.
const BASE: &str = "\
struct node *make_node(const char *name, int key)
{
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->name = strdup(name);
    if (node->name == NULL) {
        free(node);
        return NULL;
    }
    node->key = key;
    return node;
}
void free_node(struct node *node)
{
    if (node != NULL) {
        free(node->name);
        free(node->extra);
        free(node);
    }
}
int push_node(struct context *c, struct node *node)
{
    if (c->error)
        return -1;
    node->next = c->head;
    c->head = node;
    return 0;
}
int fill(char **out, int key)
{
    if (key < 0)
        return -1;
    *out = malloc((size_t)key + 1);
    return *out == NULL ? -1 : 0;
}
";

const KEEP_BUFFER: &str = "\
    if (node != NULL && node->extra == NULL) {
        node->extra = buffer;
        buffer = NULL;
    }
";

const LOOP: &str = "\
    for (int i = 0; i < n; i++) {
        char *part = malloc(24);
        if (part == NULL)
            goto out;
        if (i == c->error) {
            WAY_OUT
        }
        snprintf(part, 24, \"%d\", i);
        free(part);
    }
";

const FREED: &str = "free(part);\n            break;";

/// Names and texts of the files.
pub(crate) fn files(shape: Shape) -> Vec<(String, String)> {
    let mut random = Random(shape.seed | 1);
    let mut files = vec![("program.h".to_owned(), HEADER.to_owned())];
    for unit in 0..shape.units {
        files.push((format!("unit{unit}.c"), unit_text(shape, unit, &mut random)));
    }
    files.push(("base.c".to_owned(), base_text(shape)));
    files
}

fn base_text(shape: Shape) -> String {
    let mut text = format!("#include \"program.h\"\n{BASE}");
    for unit in 0..shape.units {
        let _ = writeln!(text, "int run{unit}(struct context *, int);");
    }
    text.push_str("int main(int argc, char **argv)\n{\n    struct context c = { 0 };\n    c.path = argv[0];\n");
    for unit in 0..shape.units {
        let _ = writeln!(text, "    if (run{unit}(&c, argc) < 0)\n        return {};", unit + 1);
    }
    text + "    return 0;\n}\n"
}

fn unit_text(shape: Shape, unit: usize, random: &mut Random) -> String {
    let mut text = "#include \"program.h\"\n".to_owned();
    let first = unit * shape.functions_per_unit;
    let reached = shape.functions_per_unit.min(first);
    for callee in first - reached..first {
        let _ = writeln!(text, "int f{callee}(struct context *, int);");
    }
    for number in first..first + shape.functions_per_unit {
        function(&mut text, number, number - (first - reached), shape.max_statements, random);
    }
    handlers(&mut text, unit, random);
    let last = first + shape.functions_per_unit - 1;
    let _ = writeln!(text, "int run{unit}(struct context *c, int n)\n{{\n    c->handler = table[n & 3];");
    let _ = writeln!(text, "    return c->handler(c, n) + f{last}(c, n);\n}}");
    text
}

/// Functions that are only called through a pointer. They call nothing of the others: else all would be one cycle of calls.
fn handlers(text: &mut String, unit: usize, random: &mut Random) {
    for number in 0..4 {
        let _ = writeln!(text, "static int handler{number}(struct context *c, int n)\n{{\n    char *text = NULL;");
        let _ = writeln!(text, "    if (fill(&text, n + {}) < 0)\n        return -1;", random.below(100));
        let _ = writeln!(text, "    if (c->error == {})\n        return {unit};", random.below(4));
        text.push_str("    free(text);\n    return 0;\n}\n");
    }
    text.push_str("static int (*const table[])(struct context *, int) = { handler0, handler1, handler2, handler3 };\n");
}

/// A function that may call the `callees` before it, with a label for its clean-up.
fn function(text: &mut String, number: usize, callees: usize, max_statements: usize, random: &mut Random) {
    let _ = writeln!(text, "int f{number}(struct context *c, int n)\n{{");
    text.push_str("    struct node *node = NULL;\n    char *buffer = NULL;\n    int result = -1;\n");
    text.push_str("    if (c == NULL)\n        goto out;\n");
    for _ in 0..=random.below(max_statements) {
        let callee = (callees > 0).then(|| number - 1 - random.below(callees));
        text.push_str(&statement(callee, random));
    }
    text.push_str("    result = 0;\nout:\n    free_node(node);\n    free(buffer);\n    return result;\n}\n");
}

fn statement(callee: Option<usize>, random: &mut Random) -> String {
    let value = random.below(100);
    let test = format!("{}{value}", random.pick(&["n > ", "n == ", "c->error != ", "n % 7 < "]));
    match random.below(9) {
        0 => format!("    if ({test})\n        goto out;\n"),
        1 => format!("    if (node == NULL && (node = make_node(c->path, {value})) == NULL)\n        goto out;\n"),
        2 => "    if (buffer == NULL && fill(&buffer, n) < 0)\n        goto out;\n".to_owned(),
        3 => "    if (node != NULL && push_node(c, node) == 0)\n        node = NULL;\n".to_owned(),
        4 => KEEP_BUFFER.to_owned(),
        // Some leave the loop with `part` in hand.
        5 => LOOP.replace("WAY_OUT", random.pick(&[FREED, FREED, FREED, FREED, "break;"])),
        6 => format!("    if ({test}) {{\n        free(buffer);\n        buffer = NULL;\n    }}\n"),
        7 => "    if (c->handler != NULL && c->handler(c, n - 1) < 0)\n        goto out;\n".to_owned(),
        _ => match callee {
            Some(callee) => {
                let way_out = if random.below(12) == 0 { "return -1" } else { "goto out" };
                format!("    if (f{callee}(c, n + {value}) < 0)\n        {way_out};\n")
            }
            None => "    c->error++;\n".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { units: 3, functions_per_unit: 4, max_statements: 8, seed: 5 };

    #[test]
    fn a_seed_gives_one_program() {
        let files_of = |seed| files(Shape { seed, ..SHAPE });
        assert_eq!(files_of(5), files_of(5));
        assert_ne!(files_of(5), files_of(7));
        assert_eq!(files_of(5).len(), 5);
    }

    #[test]
    fn it_compiles_without_a_warning() {
        let clang = "clang-19";
        if crate::bench::machine::first_line(clang, &["--version"]).is_none() {
            eprintln!("SKIPPED: {clang} is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new(clang);
        command.args(["-fsyntax-only", "-Wall", "-Werror"]);
        for (name, text) in files(SHAPE) {
            let path = folder.path().join(&name);
            std::fs::write(&path, text).unwrap();
            if name.ends_with(".c") {
                command.arg(path);
            }
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
