//! `caulk fix`: what is offered was checked, and what is wrong is not offered.

mod project;

use std::fs;

use project::{Project, Run, json, sarif_schema, validate};

fn fix(project: &Project, more: &[&str]) -> Run {
    project.run(&[&["fix", "a.c", "--no-cache"], more].concat())
}

/// The lines that a diff adds.
fn added(diff: &str) -> Vec<&str> {
    let is_added = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    diff.lines().filter(is_added).map(|line| line[1..].trim()).collect()
}

/// The lines that the fixes of a file add, which must be all that is wrong with it.
fn fixed(source: &str) -> Vec<String> {
    let project = Project::new(&[("a.c", source)]);
    let run = fix(&project, &[]);
    assert_eq!(run.status, 0, "{}\n{}", run.stdout, run.stderr);
    let lines = added(&run.stdout).into_iter().map(str::to_owned).collect();
    let applied = fix(&project, &["--apply"]);
    assert_eq!(applied.status, 0, "{}", applied.stderr);
    let clean = project.run(&["check", "a.c", "--no-cache"]);
    assert_eq!(clean.status, 0, "{}\n{}", clean.stdout, fs::read_to_string(project.path("a.c")).expect("readable"));
    lines
}

/// A file whose leak has no fix that may be offered, and what is said about it.
fn refused(source: &str, why: &str) {
    let project = Project::new(&[("a.c", source)]);
    let run = fix(&project, &[]);
    assert_eq!((run.status, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    run.says(&["0 of 1 leak has a checked fix", why]);
}

#[test]
fn what_other_paths_do_is_done_on_all() {
    let source = "#include <stdio.h>
#include <stdlib.h>
int f(int n)
{
    char *p = malloc(n);
    if (p == NULL)
        return -1;
    if (n > 3)
        return -2;
    puts(p);
    free(p);
    return 0;
}
";
    assert_eq!(fixed(source), ["if (n > 3) {", "free(p);", "}"]);
}

#[test]
fn several_exits_are_fixed_at_once() {
    let source = "#include <stdio.h>
#include <stdlib.h>
static void drop(char **p) { free(*p); *p = NULL; }
int f(int n)
{
    char *p = malloc(n);
    if (p == NULL)
        return -1;
    if (n > 3) {
        puts(\"a\");
        return -2;
    }
    if (n > 2) return -3;
    drop(&p);
    return 0;
}
";
    assert_eq!(fixed(source), ["free(p);", "if (n > 2) {", "free(p);", "return -3;", "}"]);
}

#[test]
fn what_is_overwritten_is_freed_first() {
    let source = "#include <stdlib.h>
#include <string.h>
char *f(const char *a, const char *b)
{
    char *p = strdup(a);
    p = strdup(b);
    return p;
}
";
    assert_eq!(fixed(source), ["free(p);"]);
}

#[test]
fn the_old_pointer_is_kept_across_realloc() {
    let source = "#include <stdlib.h>
char *f(size_t n)
{
    char *p = malloc(n);
    if (p == NULL)
        return NULL;
    p = realloc(p, n + 10);
    return p;
}
";
    let lines = fixed(source);
    assert_eq!(
        lines,
        ["void *grown = realloc(p, n + 10);", "if (grown == NULL && (n + 10) != 0)", "free(p);", "p = grown;"]
    );
}

#[test]
fn a_destructor_frees_the_field_it_missed() {
    let source = "#include <stdlib.h>
#include <string.h>
struct item { char *name; char *value; };
struct item *item_new(const char *name, const char *value)
{
    struct item *item = calloc(1, sizeof *item);
    if (item == NULL)
        return NULL;
    item->name = strdup(name);
    item->value = strdup(value);
    return item;
}
void item_free(struct item *item)
{
    if (item == NULL)
        return;
    free(item->name);
    free(item);
}
int main(int argc, char **argv)
{
    item_free(item_new(argv[0], argv[argc - 1]));
    return 0;
}
";
    assert_eq!(fixed(source), ["free(item->value);"]);
}

/// The variable is set on one of the paths to the return only.
#[test]
fn a_variable_that_may_not_be_set_is_not_freed() {
    let source = "#include <stdlib.h>
int f(int n)
{
    char *p;
    int r = -1;
    if (n > 10)
        goto out;
    p = malloc(n);
    if (p == NULL)
        return -1;
    r = 0;
out:
    return r;
}
";
    refused(source, "never set");
}

/// What is returned there on another path is not the function's own.
#[test]
fn what_the_caller_owns_is_not_freed() {
    let source = "#include <stdlib.h>
#include <string.h>
struct s { char *name; };
int f(struct s *s, int n)
{
    char *p = s->name;
    if (n > 10)
        p = strdup(\"x\");
    n = p ? p[0] : 0;
    return n;
}
";
    refused(source, "callers could still reach");
}

#[test]
fn what_is_freed_on_one_path_is_not_freed_twice() {
    let source = "#include <stdlib.h>
int g(void);
int f(int n)
{
    char *p = malloc(n);
    if (p == NULL)
        return -1;
    if (g())
        free(p);
    return 0;
}
";
    refused(source, "freed twice");
}

#[test]
fn a_constant_is_not_freed() {
    let source = "#include <stdlib.h>
#include <string.h>
int f(int n)
{
    char *p = \"none\";
    if (n > 10)
        p = strdup(\"x\");
    n = p ? p[0] : 0;
    return n;
}
";
    refused(source, "not allocated");
}

/// Another function frees the field before; that it is called before cannot be seen.
#[test]
fn a_field_that_is_freed_elsewhere_is_left_to_that() {
    let source = "#include <stdlib.h>
#include <string.h>
struct item { char *name; char *value; };
struct item *item_new(const char *name, const char *value)
{
    struct item *item = calloc(1, sizeof *item);
    if (item == NULL)
        return NULL;
    item->name = strdup(name);
    item->value = strdup(value);
    return item;
}
void later(void (*function)(void *), void *data);
static void item_free(void *data)
{
    struct item *item = data;
    free(item->name);
    free(item);
}
void item_destroy(struct item *item)
{
    free(item->value);
    later(item_free, item);
}
";
    let project = Project::new(&[("a.c", source)]);
    let run = fix(&project, &["--min-confidence", "low"]);
    assert!(!run.stdout.contains("free(item->value)"), "{}", run.stdout);
    run.says(&["a.c:22 frees a field of this name too"]);
}

/// What held it last points into the middle of it.
#[test]
fn the_block_is_freed_and_not_a_part_of_it() {
    let source = "#include <stdlib.h>
#include <string.h>
int f(const char *text)
{
    char *list = strdup(text);
    if (list == NULL)
        return 1;
    char *rest;
    for (char *p = strtok_r(list, \",\", &rest); p != NULL; p = strtok_r(NULL, \",\", &rest)) {
        if (*p == '[')
            return 1;
    }
    free(list);
    return 0;
}
";
    assert_eq!(fixed(source), ["if (*p == '[') {", "free(list);", "}"]);
}

const TWO: &str = "#include <stdlib.h>
int f(int n)
{
    char *p = malloc(n);
    if (p == NULL)
        return -1;
    return 0;
}
int g(int n)
{
    char *q = malloc(n);
    if (q == NULL)
        return -1;
    return 1;
}
";

#[test]
fn sarif_has_the_fixes() {
    let project = Project::new(&[("a.c", TWO)]);
    for arguments in [&["fix", "--format", "sarif"][..], &["check", "--format", "sarif", "--fixes"]] {
        let run = project.run(&[arguments, &["a.c", "--no-cache"]].concat());
        validate(&sarif_schema(), &run.stdout);
        let report = json(&run.stdout);
        let fix = &report["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0];
        assert_eq!(fix["artifactLocation"]["uri"], "a.c", "{}", run.stdout);
        assert_eq!(fix["replacements"][0]["insertedContent"]["text"], "    free(p);\n");
        assert_eq!(fix["replacements"][0]["deletedRegion"]["startLine"], 7);
    }
    project.run(&["check", "a.c", "--no-cache", "--fixes"]).fails(&["--format sarif"]);
}

#[test]
fn one_finding_can_be_chosen() {
    let project = Project::new(&[("a.c", TWO)]);
    let report = json(&project.run(&["check", "a.c", "--no-cache", "--format", "json"]).stdout);
    let fingerprint = report["findings"][1]["fingerprint"].as_str().expect("it has one").to_owned();
    let run = fix(&project, &["--finding", &fingerprint, "--each"]);
    assert_eq!((run.status, added(&run.stdout)), (0, vec!["free(q);"]), "{}", run.stderr);
    fix(&project, &["--finding", "0000"]).fails(&["no finding has the fingerprint \"0000\""]);
    fix(&project, &["--format", "html"]).fails(&["--format text or --format sarif"]);
    assert_eq!(fs::read_to_string(project.path("a.c")).expect("readable"), TWO);
}
