//! However small the bounds of stage one are and however many threads work, the outcome is the same.

use caulk_capture::jobs_from_sources;
use caulk_frontend::{Clang, Config, read_units};
use caulk_models::Models;
use caulk_program::{Program, ProgramConfig, UnitInput};
use caulk_useflow::{UseflowConfig, analyse};

/// Functions in one cycle of calls, each with branches that keep many alternatives apart, loops and out-parameters.
fn source() -> String {
    const FUNCTIONS: usize = 40;
    const BRANCHES: usize = 12;
    let mut text =
        String::from("#include <stdlib.h>\n#include <string.h>\nstruct node { struct node *next; char *text; };\n");
    for f in 0..FUNCTIONS {
        text += &format!("int f{f}(struct node *n, char **out, int flags);\n");
    }
    for f in 0..FUNCTIONS {
        text += &format!("int f{f}(struct node *n, char **out, int flags)\n{{\n    char *p = malloc(10), *q = NULL;\n");
        for b in 0..BRANCHES {
            text += &format!(
                "    if (flags & {}) {{ q = strdup(\"x\"); n->text = q; }} else if (flags > {b}) free(q);\n",
                1 << b
            );
            text += &format!("    while (n->next && flags-- > {b}) {{ n = n->next; free(n->text); }}\n");
        }
        text +=
            &format!("    if (flags == 3) return 1;\n    if (f{}(n, &q, flags) == 0) *out = p;\n", (f + 1) % FUNCTIONS);
        text += &format!("    else if (f{}(n, out, flags) < 0) free(p);\n    return flags;\n}}\n", (f + 7) % FUNCTIONS);
    }
    text
}

fn program() -> Program {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let path = folder.path().join("cycle.c");
    std::fs::write(&path, source()).expect("the source can be written");
    let jobs = jobs_from_sources(&[path], &[], folder.path()).jobs;
    let config =
        Config { clang: Clang::find(None).expect("clang is installed"), cache: None, isolated: None, threads: 1 };
    let units = read_units(&jobs, &config, &|_| {}).expect("clang runs");
    let inputs = units.into_iter().map(|u| UnitInput::new(u.expect("the source compiles").unit)).collect();
    Program::link(inputs, ProgramConfig::default())
}

/// All that stage one says, with so many threads; and how many functions were cut.
fn outcome(program: &Program, models: &Models, config: &UseflowConfig, threads: usize) -> (String, usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    let analysis = pool.install(|| analyse(program, models, config));
    let mut text = String::new();
    for function in program.functions() {
        let report = &analysis.reports[function];
        text += &caulk_summary::print::summary(program, function, &report.summary).join("\n");
        text += &format!("{:?}\n{:?}\n", report.candidates, report.slots);
    }
    (text, analysis.statistics.cut)
}

#[test]
fn tiny_bounds_and_threads_change_nothing() {
    let models = Models::bundled();
    let program = program();
    let tiny = UseflowConfig {
        rules: Default::default(),
        max_question_size: 1,
        max_callback_depth: 1,
        max_alternatives: 2,
        max_facts: 2,
        max_visits: 2,
        max_block_runs: 50,
        over_budget_alternatives: 1,
        over_budget_visits: 1,
        max_objects: 4,
        max_actions: 3,
        max_iterations: 2,
        max_chain: 2,
        max_opaque_chain: 1,
        max_targets: 1,
        at_exit: false,
        resources: &[],
    };
    for (config, is_cut) in [(&tiny, true), (&UseflowConfig::default(), false)] {
        let (first, cut) = outcome(&program, &models, config, 1);
        assert!(!is_cut || cut > 0, "bounds this small cut something");
        assert!(first.contains("Candidate"), "there are candidates to compare");
        for threads in [1, 2, 5] {
            let (again, _) = outcome(&program, &models, config, threads);
            assert!(again == first, "{threads} threads say something else");
        }
    }
}
