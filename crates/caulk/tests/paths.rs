//! The path of a finding is one that a single run can take, told in as few steps as it needs.

mod project;

use project::{Project, json};
use serde_json::Value;

/// The findings of a file, as JSON, those with low confidence too.
fn report(source: &str) -> Value {
    let project = Project::new(&[("a.c", source)]);
    json(&project.run(&["check", "a.c", "--no-cache", "--min-confidence", "low", "--format", "json"]).stdout)
}

fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().map_or(&[], Vec::as_slice)
}

/// The steps of a finding: `12 text`.
fn steps(finding: &Value) -> Vec<String> {
    let steps = finding["steps"].as_array().expect("a finding has steps");
    steps.iter().map(|s| format!("{} {}", s["line"], s["text"].as_str().unwrap_or_default())).collect()
}

/// How many candidates a layer refuted.
fn refuted(report: &Value, layer: &str) -> u64 {
    let layers = report["statistics"]["refuted"].as_array().expect("the statistics list the layers");
    layers.iter().filter(|l| l["layer"] == layer).filter_map(|l| l["count"].as_u64()).sum()
}

/// More paths than are kept apart: `a` to `e` are each tested twice.
const ONE_OUTCOME: &str = "#include <stdlib.h>
int more(void);
int f(int a, int b, int c, int d, int e)
{
    char *p = malloc(8);
    int n = 0;
    if (p == NULL)
        return -1;
    if (a)
        n += more();
    if (b)
        n += more();
    if (c)
        n += more();
    if (d)
        n += more();
    if (e)
        n += more();
    if (a && !b && c && !d && e)
        return n;
    free(p);
    return 0;
}
";

#[test]
fn a_condition_has_one_outcome_on_a_path() {
    let report = report(ONE_OUTCOME);
    let [finding] = findings(&report) else { panic!("one finding: {report}") };
    assert_eq!(finding["confidence"], "high");
    assert_eq!(report["statistics"]["replayed"], 1);
    let steps = steps(finding);
    for (name, outcome) in [("a", "true"), ("b", "false"), ("c", "true"), ("d", "false"), ("e", "true")] {
        let other = if outcome == "true" { "false" } else { "true" };
        let taken = if other == "true" { "taken" } else { "not taken" };
        let opposite = [format!("`if ({name})` is {taken}"), format!("`{name}` is {other}")];
        assert!(!steps.iter().any(|s| opposite.iter().any(|o| s.contains(o))), "{name}: {steps:?}");
    }
}

/// What paths that are merged lose together, none of them loses alone.
const EXCLUDED: &str = "#include <stdlib.h>
int more(void);
int f(int a, int b, int c, int d, int e)
{
    char *p = malloc(8);
    int v = 0, w = 0, x = 0, y = 0, z = 0;
    if (p == NULL)
        return -1;
    if (a)
        v = more() | 1;
    if (b)
        w = more() | 1;
    if (c)
        x = more() | 1;
    if (d)
        y = more() | 1;
    if (e)
        z = more() | 1;
    if (v && !a)
        return 1;
    if (w && !b)
        return 2;
    if (x && !c)
        return 3;
    if (y && !d)
        return 4;
    if (z && !e)
        return 5;
    free(p);
    return 0;
}
";

#[test]
fn what_no_path_loses_alone_is_refuted() {
    let report = report(EXCLUDED);
    assert!(findings(&report).is_empty(), "{report}");
    assert!(refuted(&report, "replay") > 0, "{report}");
}

/// The steps that are shown without `--full-path`.
fn shown(finding: &Value) -> Vec<String> {
    let steps = finding["steps"].as_array().expect("a finding has steps");
    let shown = steps.iter().filter(|s| s["detail"] == false);
    shown.map(|s| format!("{} {}", s["line"], s["text"].as_str().unwrap_or_default())).collect()
}

/// Conditions that keep the path in the function, and those that change nothing, go without saying.
const GUARDS: &str = "#include <stdlib.h>
int ready(int n);
int f(int n, int own, char *name)
{
    char *p;
    int ret = 0;
    if (n < 3)
        return -1;
    if (!ready(n))
        return -2;
    p = malloc(n);
    if (p == NULL)
        return -3;
    if (ready(n + 1))
        n++;
    if (!name)
        ret = -1;
    if (n == 9) {
        free(p);
        return -4;
    }
    if (own)
        free(p);
    if (n == 12)
        ret = -2;
    return ret;
}
";

#[test]
fn only_what_matters_is_shown() {
    let report = report(GUARDS);
    let [finding] = findings(&report) else { panic!("one finding: {report}") };
    let expected = [
        "11 `p` is allocated by malloc()",
        "22 `if (own)` is not taken",
        "26 `p` is leaked: the function returns, and nothing frees or keeps it",
    ];
    assert_eq!(shown(finding), expected);
    assert!(steps(finding).iter().any(|step| step.contains("`if (n < 3)` is not taken")), "{finding}");
    assert_eq!(finding["advice"], "free `p` before line 26, as line 23 does");
}

/// The ladder is one step, the `goto` is one, and what the advice asks for does not free the memory twice.
const LADDER: &str = "#include <stdlib.h>
#include <string.h>
int f(int k, const char *t)
{
    char *p = strdup(t);
    if (!p)
        goto out;
    if (k == 1)
        k = 7;
    else if (k == 2 || k == 4)
        k = 8;
    else if (k == 3)
        k = 9;
    else
        goto out;
    free(p);
out:
    return k;
}
";

#[test]
fn a_ladder_is_one_step_and_goto_is_one() {
    let report = report(LADDER);
    let [finding] = findings(&report) else { panic!("one finding: {report}") };
    let expected = [
        "5 `p` is allocated by strdup()",
        "12 `if (k == 3)` is not taken, nor any `if` before it",
        "15 goes to `out`",
        "18 `p` is leaked: the function returns, and nothing frees or keeps it",
    ];
    assert_eq!(shown(finding), expected);
    assert_eq!(finding["advice"], "free `p` before line 15, as line 16 does");
}

/// What a condition asks about was set on the way.
const FLAG: &str = "#include <stdlib.h>
int ready(int n);
int g(int n)
{
    char *p = malloc(n);
    int failed = 0;
    if (p == NULL)
        return -1;
    if (!ready(n))
        failed = 1;
    if (ready(n + 2) && n > 2)
        n++;
    if (!failed)
        free(p);
    return n;
}
";

#[test]
fn a_flag_is_followed_to_where_it_is_set() {
    let report = report(FLAG);
    let [finding] = findings(&report) else { panic!("one finding: {report}") };
    let expected = [
        "5 `p` is allocated by malloc()",
        "9 `if (!ready(n))` is taken",
        "13 `if (!failed)` is not taken",
        "15 `p` is leaked: the function returns, and nothing frees or keeps it",
    ];
    assert_eq!(shown(finding), expected);
}

/// So many exits through so much cleaning up that they are one in what is compiled, at the closing brace.
#[test]
fn the_statement_that_leaves_is_the_place() {
    let arrays: String = (0..40).map(|i| format!("    char a{i}[9];\n")).collect();
    let uses: String = (0..40).map(|i| format!("    use(a{i});\n")).collect();
    let exit = |i: u32| match i {
        31 => "    if (n == 31)\n        return 31; // leaves\n".to_owned(),
        i => format!("    if (n == {i}) {{\n        free(p);\n        return {i};\n    }}\n"),
    };
    let exits: String = (0..40).map(exit).collect();
    let source = format!(
        "#include <stdlib.h>\nvoid use(char *);\nint f(int n)\n{{\n{arrays}    char *p = malloc(8);\n    if (!p)\n        \
         return -1;\n{uses}{exits}    free(p);\n    return 0;\n}}\n"
    );
    let line = source.lines().position(|line| line.contains("// leaves")).expect("it is there") + 1;
    let report = report(&source);
    let [finding] = findings(&report) else { panic!("one finding: {report}") };
    assert_eq!(finding["loss"]["line"], line);
}

/// What happens only in a later iteration than are executed one by one.
const LATE: &str = "#include <stdlib.h>
int next(void);
int f(void)
{
    int xn = 0, yn = 0, zn = 0, xroom = 4, yroom = 4, zroom = 4, c;
    char *x = NULL, *y = NULL, *z = NULL;
    while ((c = next()) != 0) {
        if (c == 1) {
            if (xn + 1 > xroom) {
                xroom = 64;
                x = realloc(x, 64);
            }
            xn++;
        } else if (c == 2) {
            if (yn + 1 > yroom) {
                yroom = 64;
                y = realloc(y, 64);
            }
            yn++;
        } else if (c == 3) {
            if (zn + 1 > zroom) {
                zroom = 64;
                z = realloc(z, 64);
            }
            zn++;
        }
    }
    return xn + yn + zn;
}
";

#[test]
fn what_happens_in_late_iterations_is_replayed() {
    let report = report(LATE);
    assert_eq!(findings(&report).len(), 3, "{report}");
    for finding in findings(&report) {
        assert_eq!(finding["confidence"], "medium");
        let reason = finding["confidenceReason"].as_str().unwrap_or_default();
        assert!(reason.contains("later iterations of a loop"), "{reason}");
    }
}

/// What a field held before the object was put there is no example of how to free the object.
#[test]
fn advice_does_not_take_the_old_value_for_the_new() {
    let report = report(
        "#include <stdlib.h>\n#include <string.h>\nstruct S { char *name; };\nint set(struct S *s, const char *value) {\n    \
         char *copy = strdup(value);\n    if (!copy)\n        return -1;\n    if (strlen(value) > 10)\n        return -2;\n    \
         free(s->name);\n    s->name = copy;\n    return 0;\n}\n",
    );
    let [finding] = findings(&report) else { panic!("{report}") };
    assert_eq!(finding["loss"]["line"], 9);
    assert_eq!(finding["advice"], Value::Null);
}
