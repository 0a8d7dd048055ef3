//! `caulk prove-leak`: what leaks is seen to leak, what does not is not confirmed, and each failure has its reason.

mod project;

use std::collections::BTreeMap;
use std::process::Command;

use project::{Project, Run, json};
use serde_json::Value;

/// Real leaks, each of which needs inputs of its own.
const REAL: &str = r#"#include <stdlib.h>
#include <string.h>

int library_status(int number);

int early_return(int n)
{
    char *p = malloc(10);
    if (p == NULL)
        return -1;
    if (n == 1234)
        return -2;
    free(p);
    return 0;
}

static int make(char **out, int size)
{
    *out = malloc(size);
    return *out ? 0 : -1;
}

int out_parameter(const char *name)
{
    char *copy;
    if (make(&copy, 32))
        return -1;
    if (name[2] == 'x')
        return 1;
    free(copy);
    return 0;
}

struct inner { int kind; struct inner *next; };
struct outer { char pad[40]; struct inner *inner; int (*call)(void); };

int struct_parameter(struct outer *outer)
{
    char *p = strdup("text");
    if (!p)
        return -1;
    if (outer->call && outer->inner->next->kind == 77)
        return 1;
    free(p);
    return 0;
}

static char *last;

static int static_function(unsigned n)
{
    char *p = calloc(n, 2);
    if (n > 5 && p) {
        p = NULL;
        return 3;
    }
    last = p;
    return 0;
}

int calls_static(int n)
{
    return static_function(n);
}

int second_fails(void)
{
    char *one = malloc(8);
    if (!one)
        return -1;
    char *two = malloc(8);
    if (!two)
        return -2;
    free(one);
    free(two);
    return 0;
}

int by_status(int n)
{
    char *p = malloc(n + 1);
    if (!p)
        return -1;
    if (library_status(n) == 42)
        return 1;
    free(p);
    return 0;
}
"#;

/// Leaks behind texts, variables of a thread and what a library sets; a constructor allocates before the function is called.
const INPUTS: &str = r#"#include <stdlib.h>
#include <string.h>

static char *names;
__attribute__((constructor)) static void start(void)
{
    names = realloc(NULL, 16);
}

struct settings { char *host; };

int option(struct settings *settings, char **words)
{
    char *copy;
    if (strcmp(words[0], "host") != 0)
        return 0;
    copy = strdup(words[1]);
    if (!copy)
        return -1;
    if (strcmp(words[2], "local") == 0)
        return -1;
    free(settings->host);
    settings->host = copy;
    return 0;
}

struct buffer { char *area; long size; };
static __thread struct buffer *trash;

int thread(const char *name)
{
    char *copy = strdup(name);
    if (!copy)
        return -1;
    if (trash->size == 77)
        return 1;
    free(copy);
    return 0;
}

struct entry { int kind; struct entry *next; };
int find_entry(const char *name, struct entry **out);

int looked_up(const char *name)
{
    struct entry *entry;
    char *copy = strdup(name);
    if (!copy)
        return -1;
    find_entry(name, &entry);
    entry->kind = 3;
    if (name[1] == 'x')
        return 1;
    free(copy);
    return 0;
}

int options(int count, char **words)
{
    char *name = NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--name") == 0 && i + 1 < count)
            name = strdup(words[++i]);
    }
    count = name ? (int)strlen(name) : 0;
    free(name);
    return count;
}

static int number_of(const char *text, int *out)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (*end || end == text)
        return -1;
    *out = (int)number;
    return 0;
}

int read_number(const char *text)
{
    int number;
    char *p = malloc(10);
    if (!p)
        return -1;
    if (number_of(text, &number) < 0) {
        free(p);
        return -1;
    }
    if (number > 100)
        return 3;
    free(p);
    return 0;
}

struct ring { struct ring *next, *previous; };
struct table { struct ring entries; int count; };
struct user { struct ring link; int flags; };

int empty_ring(struct table *table, const char *name)
{
    char *copy = strdup(name);
    if (!copy)
        return -1;
    for (struct ring *link = table->entries.next; link != &table->entries; link = link->next)
        ((struct user *)link)->flags = 1;
    if (table->count == 44)
        return 2;
    free(copy);
    return 0;
}

struct item { char *name; int size; };

int forgotten_by_holder(struct item *item, int n)
{
    item->name = malloc(10);
    if (!item->name)
        return -1;
    if (n == 7) {
        free(item);
        return 0;
    }
    return 1;
}

int not_this_text(const char *name)
{
    char *copy = strdup("yes");
    if (!copy)
        return -1;
    if (strcmp(copy, "no") == 0)
        return 1;
    free(copy);
    return 0;
}
"#;

/// What cannot be confirmed, and one leak that is none.
const OTHERS: &str = r#"#include <stdlib.h>
#include <string.h>

static int table[4];

int no_leak(void)
{
    char *p = malloc(24);
    if (!p)
        return -1;
    if (strlen(strcpy((char *)table, "abc")) == 4)
        return 1;
    free(p);
    return 0;
}

int crashes(void)
{
    char *p = malloc(8);
    if (!p)
        return -1;
    return strlen(getenv("CAULK_NO_SUCH_VARIABLE")) == 7;
}

int ends(void)
{
    char *p = malloc(8);
    if (!p)
        return -1;
    if (atoi("1"))
        exit(3);
    return 0;
}

/// Never odd, which the analysis does not see.
static int odd(const char *text)
{
    int sum = 0;
    for (int i = 0; text[i]; i++)
        sum += text[i] == 'x' ? 2 : 0;
    return sum % 2;
}

int never(const char *text)
{
    char *p = malloc(8);
    if (!p)
        return -1;
    if (odd(text))
        return 1;
    free(p);
    return 0;
}

int hangs(void)
{
    char *p = malloc(8);
    while (atoi("1"))
        ;
    return p != NULL;
}
"#;

/// A function that crashes before its leak, in a function of another unit that has nothing to do with the memory.
const CALLER: &str = r#"#include <stdlib.h>
#include <string.h>
struct window;
int window_width(struct window *window);
void window_say(struct window *window, const char *format, ...);
void window_keep(struct window *window, char *text);

int title(struct window *window)
{
    char *p = malloc(16);
    if (!p)
        return -1;
    window_say(window, "%d", 3);
    if (window_width(window) == 77)
        return 1;
    free(p);
    return 0;
}

struct holder { int count; char *text; };
void holder_free(struct holder *holder);
static char table[8];

int held_on_the_stack(void)
{
    struct holder holder;
    holder.text = malloc(16);
    if (!holder.text)
        return -1;
    if (strlen(strcpy(table, "abc")) == 4)
        return 1;
    holder_free(&holder);
    return 0;
}

int kept(struct window *window)
{
    char *p = malloc(16);
    if (!p)
        return -1;
    if (window_width(window) == 78) {
        window_keep(window, p);
        return 1;
    }
    free(p);
    return 0;
}
"#;

const CRASHING: &str = r#"#include <stdlib.h>
struct holder { int count; char *text; };
void holder_free(struct holder *holder)
{
    free(holder->text);
}
struct screen { int width; char *text; };
struct window { struct screen *screens[64]; long index; };
int window_width(struct window *window)
{
    return window->screens[window->index - 1]->width;
}
void window_say(struct window *window, const char *format, ...)
{
    window->screens[window->index - 1]->width++;
}
void window_keep(struct window *window, char *text)
{
    window->screens[window->index - 1]->text = text;
}
"#;

const NEW: &str = r#"#include <string>
struct Page { std::string title; int number; };
namespace book {
class Reader {
public:
    int read(int n);
private:
    int count = 0;
};
int Reader::read(int n)
{
    Page *page = new Page;
    page->number = n;
    if (n == 7)
        return -1;
    count += page->number;
    delete page;
    return 0;
}
}
"#;

/// Whether a harness can be built here. `make test` installs what is needed.
fn has_sanitizer() -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let source = folder.path().join("a.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("writable");
    let run = |clang: &str| {
        let arguments = ["-fsanitize=leak", "-o"];
        Command::new(clang).args(arguments).arg(folder.path().join("a")).arg(&source).output()
    };
    let is_there = run("clang-19").or_else(|_| run("clang")).is_ok_and(|output| output.status.success());
    if !is_there {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: LeakSanitizer's library is not installed (Debian: libclang-rt-19-dev)");
        }
    }
    is_there
}

fn prove(project: &Project, arguments: &[&str]) -> Run {
    project.run(&[&["prove-leak", "--no-cache", "--no-neighbours", "-q"], arguments].concat())
}

/// By function: the whole answer.
fn answers(run: &Run) -> BTreeMap<String, Value> {
    let report = json(&run.stdout);
    let findings = report["findings"].as_array().expect("a list").iter();
    findings.map(|f| (f["loss"]["function"].as_str().expect("a name").to_owned(), f.clone())).collect()
}

#[test]
fn real_leaks_are_confirmed() {
    if !has_sanitizer() {
        return;
    }
    let project = Project::new(&[("a.c", REAL), ("b.cpp", NEW)]);
    let run = prove(&project, &["--all", "--format", "json", "a.c", "b.cpp"]);
    let answers = answers(&run);
    assert_eq!(answers.len(), 7, "{}{}", run.stdout, run.stderr);
    for (function, answer) in &answers {
        assert_eq!(answer["verdict"], "confirmed", "{function}: {answer:#}");
    }
    assert_eq!(run.status, 0);
    assert_eq!(answers["by_status"]["stubs"], serde_json::json!(["library_status"]));
    assert_eq!(answers["early_return"]["assumed"], serde_json::json!([]));
    assert_eq!(answers["early_return"]["bytes"], 10);
    assert_eq!(answers["early_return"]["runs"], 1, "the solver's example is the first that is tried");
}

#[test]
fn texts_and_what_a_thread_has_are_made_as_the_path_needs_them() {
    if !has_sanitizer() {
        return;
    }
    let project = Project::new(&[("a.c", INPUTS)]);
    let run = prove(&project, &["--all", "--format", "json", "--max-runs", "40", "a.c"]);
    let answers = answers(&run);
    let plain = ["option", "thread", "looked_up", "options", "forgotten_by_holder"];
    // Runs that leave the path say what to change.
    for function in plain.into_iter().chain(["read_number", "empty_ring"]) {
        assert_eq!(answers[function]["verdict"], "confirmed", "{function}: {:#}{}", answers[function], run.stderr);
    }
    let other = answers.get("not_this_text");
    assert!(
        other.is_none_or(|answer| answer["verdict"] != "confirmed"),
        "a comparison is made, whatever the path says"
    );
}

#[test]
fn what_cannot_be_confirmed_has_a_reason() {
    if !has_sanitizer() {
        return;
    }
    let project = Project::new(&[("a.c", OTHERS)]);
    let run = prove(&project, &["--all", "--format", "json", "--run-timeout", "1", "--max-runs", "6", "a.c"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let answers = answers(&run);
    let reason = |function: &str| answers[function]["reason"].as_str().unwrap_or("none").to_owned();
    assert_eq!(reason("no_leak"), "ran without that leak");
    assert_eq!(answers["no_leak"]["detail"], "left the path at a.c:11, before line 12");
    assert_eq!(reason("ends"), "ended the process");
    assert_eq!(reason("hangs"), "did not end in time");
    assert_eq!(reason("crashes"), "crashed");
    assert_eq!(answers["never"]["assumed"], serde_json::json!(["odd"]), "a false answer says what it rests on");
    assert_eq!(answers["hangs"]["runs"], 3, "a function that hangs is not run for ever");
    let text = prove(&project, &["--all", "--run-timeout", "1", "--max-runs", "1", "a.c"]);
    text.prints(&[
        "did not end within 1 s (1 run)",
        "a.c:12:9: `p` allocated by malloc()",
        "not confirmed",
        "    1  confirmed by execution",
        "    1    of them with functions of the project that were not called",
    ]);
}

#[test]
fn functions_that_crash_and_have_no_part_in_it_are_replaced() {
    if !has_sanitizer() {
        return;
    }
    let project = Project::new(&[("a.c", CALLER), ("b.c", CRASHING)]);
    let run = prove(&project, &["--all", "--format", "json", "--max-runs", "10", "a.c", "b.c"]);
    let answers = answers(&run);
    let title = &answers["title"];
    assert_eq!(title["verdict"], "confirmed", "{title:#}{}", run.stderr);
    assert_eq!(title["stubs"], serde_json::json!(["window_say", "window_width"]));
    assert_eq!(answers["held_on_the_stack"]["reason"], "ran without that leak", "a stub does not free");
    assert!(!answers.contains_key("kept") || answers["kept"]["verdict"] != "confirmed");
}

#[test]
fn a_unit_that_does_not_compile_alone_is_a_reason() {
    if !has_sanitizer() {
        return;
    }
    // Bitcode can hold any inline assembly; the assembler refuses this.
    let source = "#include <stdlib.h>\nint f(int n)\n{\n    char *p = malloc(8);\n    __asm__ volatile(\".no_such_directive\");\n    return n;\n}\n";
    let project = Project::new(&[("a.c", source)]);
    let run = prove(&project, &["a.c:6", "a.c"]);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    run.prints(&["not confirmed", "did not compile: "]);
}

#[test]
fn a_finding_is_named_by_its_place_or_its_fingerprint() {
    let project = Project::new(&[("a.c", REAL)]);
    prove(&project, &["a.c:3", "a.c"])
        .fails(&["\"a.c:3\" is neither the fingerprint nor the place (FILE:LINE) of a finding"]);
    prove(&project, &["nonsense", "a.c"]).fails(&["neither the fingerprint nor the place"]);
    prove(&project, &["a.c:12", "--format", "html", "a.c"]).fails(&["--format text or --format json"]);
    if !has_sanitizer() {
        return;
    }
    let by_place = prove(&project, &["a.c:12", "--format", "json", "a.c"]);
    let name = answers(&by_place)["early_return"]["fingerprint"].as_str().expect("a name").to_owned();
    let by_name = prove(&project, &[&name, "a.c"]);
    by_name.prints(&["confirmed by execution", "LeakSanitizer reports 10 bytes allocated at a.c:8 (1 run)"]);
}

#[test]
fn a_kept_harness_runs_by_hand() {
    if !has_sanitizer() {
        return;
    }
    let project = Project::new(&[("a.c", REAL)]);
    let run = prove(&project, &["a.c:12", "--keep", "kept", "a.c"]);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    let by_hand = Command::new("sh").arg(project.path("kept/run.sh")).output().expect("there is a shell");
    let said = String::from_utf8_lossy(&by_hand.stderr);
    assert!(said.contains("Direct leak of 10 byte(s)"), "{said}");
}

#[test]
fn code_of_the_project_cannot_write_files() {
    if !has_sanitizer() {
        return;
    }
    let source = "#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\nint f(void)\n{\n    char *p = malloc(8);\n    \
                  int file = open(\"@ROOT@/written\", O_CREAT | O_WRONLY, 0600);\n    unlink(\"@ROOT@/precious\");\n    \
                  return p && file >= 0;\n}\n";
    let project = Project::new(&[("a.c", source), ("precious", "x")]);
    let run = prove(&project, &["a.c:9", "a.c"]);
    run.prints(&["confirmed by execution"]);
    assert!(project.path("precious").exists());
    // Namespaces are not everywhere; where they are, nothing can be written.
    let has_namespaces = Command::new("unshare").args(["-rmn", "true"]).status().is_ok_and(|status| status.success());
    assert_eq!(project.path("written").exists(), !has_namespaces);
}
