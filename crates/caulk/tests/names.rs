//! What findings call the memory that is lost: places by their declarations and as the source writes them, and the variable that owns a
//! block, not one that walks over it.

mod project;

use project::Project;

/// The names in the findings of a program, in their order.
fn names(source: &str, file: &str) -> Vec<String> {
    let project = Project::new(&[(file, source)]);
    let run = project.run(&["check", "--quiet", "--min-confidence", "low", "--no-cache", file]);
    let name = |line: &str| line.split('`').nth(1).unwrap_or("the memory").to_owned();
    run.stdout.lines().map(name).collect()
}

const TYPES: &str = "#include <stdlib.h>\n#include <string.h>\n\
    struct inner { int n; char *path; };\n\
    struct obj { long pad[30]; char *file; struct inner in; union { char *a; struct { int t; char *b; } v; } u; struct inner parts[4]; char *rows[5]; };\n\
    static struct config { int n; char *sock; struct inner log; } config;\nstatic struct inner table[8];\n";

#[test]
fn places_are_named_by_their_declarations() {
    for (code, name) in [
        ("int f(struct obj *o, char *s) { set(&o->in, s); o->in.path = NULL; return 0; }", "o->in.path"),
        ("int f(struct obj *o, char *s) { o->u.v.b = strdup(s); o->u.v.b = NULL; return 0; }", "o->u.v.b"),
        ("int f(struct obj *o, char *s) { o->rows[2] = strdup(s); o->rows[2] = NULL; return 0; }", "o->rows[2]"),
        ("int f(char *s) { config.sock = strdup(s); config.sock = NULL; return 0; }", "config.sock"),
        ("int f(char *s) { config.log.path = strdup(s); config.log.path = NULL; return 0; }", "config.log.path"),
        ("int f(char *s) { table[3].path = strdup(s); table[3].path = NULL; return 0; }", "table[3].path"),
        ("int f(char *s) { struct inner all[4]; all[1].path = strdup(s); return all[1].n; }", "all[1].path"),
        ("int f(char *s, int i) { char *line[4]; line[i] = strdup(s); return 0; }", "line[i]"),
        ("int f(char **argv, char *s) { argv[2] = strdup(s); argv[2] = NULL; return 0; }", "argv[2]"),
    ] {
        let set = "static void set(struct inner *i, char *s) { i->path = strdup(s); }\n";
        let set = if code.contains("set(") { set } else { "" };
        let found = names(&format!("{TYPES}{set}{code}\n"), "a.c");
        assert!(found.iter().any(|found| found == name), "{code}: {found:?}");
    }
}

#[test]
fn members_of_bases_are_named_like_own_ones() {
    let source = "#include <cstring>\nstruct First { int n; };\nstruct Base { int n; char *text; };\nstruct Derived : First, Base {\n\
        void set(const char *s) { text = strdup(s); text = nullptr; }\n};\nint f(const char *s) { Derived d; d.set(s); return d.First::n; }\n";
    assert!(names(source, "a.cc").contains(&"this->text".to_owned()));
}

#[test]
fn the_variable_that_owns_a_block_names_it() {
    for (code, name) in [
        ("char *it, *all = malloc(n); if (!all) return 1; for (it = all; it < all + n; it++) *it = 0;", "all"),
        ("char *all = malloc(n), *half; if (!all) return 1; half = all + n / 2; *half = 0;", "all"),
        ("struct node *all = calloc(1, 8), *e; if (!all) return 1; for (e = all; e; e = e->next) n++;", "all"),
        // A plain copy is the newer owner.
        (
            "char *more, *all = malloc(3); more = realloc(all, n); if (!more) { free(all); return 1; } all = more;",
            "all",
        ),
        ("char *old = malloc(n); char *taken = old; if (!taken) return 1; taken[0] = 0;", "taken"),
    ] {
        let source = format!(
            "#include <stdlib.h>\nstruct node {{ struct node *next; }};\nint f(int n) {{ {code} if (n > 7) return 2; free({name}); return 0; }}\n"
        );
        assert_eq!(names(&source, "a.c"), [name], "{code}");
    }
}

#[test]
fn a_variable_that_points_inside_gives_way_to_the_field_that_owns() {
    let source = "class Model {\n  double *values_;\npublic:\n  int make(int k) {\n    values_ = new double[k];\n    double *second = values_ + 1;\n\
        *second = 0;\n    if (k > 3) { values_ = nullptr; return 1; }\n    delete[] values_;\n    return 0;\n  }\n};\n\
        int f(int k) { Model m; return m.make(k); }\n";
    assert!(names(source, "a.cc").contains(&"this->values_".to_owned()), "{:?}", names(source, "a.cc"));
}
