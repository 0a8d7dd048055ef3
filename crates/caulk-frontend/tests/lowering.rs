//! What lowering makes of each construct of C and C++: `tests/lowering/NAME` becomes `constructs@NAME.snap` beside it.
//!
//! The inputs include nothing, and are compiled for one target, so the snapshots are the same everywhere.

mod common;

use std::path::Path;

use caulk_ir::Unit;
use caulk_ir::text::{parse_unit, print_unit};
use common::{config, jobs, read_all};

const TARGET: &str = "--target=x86_64-unknown-linux-gnu";

fn lower(path: &Path) -> Unit {
    let folder = path.parent().expect("the inputs lie in a folder");
    let mut units = read_all(&jobs(folder, &[path], &[TARGET]), &config());
    let unit = units.pop().expect("one job, one result");
    unit.unwrap_or_else(|lost| panic!("{}: {}", lost.source, lost.reason)).unit.unpack()
}

#[test]
fn constructs() {
    let settings = || {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("lowering");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings
    };
    insta::glob!("lowering/*.c*", |path| {
        if path.extension().is_some_and(|e| e == "snap" || e == "new") {
            return;
        }
        let unit = lower(path);
        let text = print_unit(&unit);
        check_round_trip(&unit, &text);
        let folder = path.parent().expect("the inputs lie in a folder").display().to_string();
        settings().bind(|| insta::assert_snapshot!(text.replace(&folder, "/lowering")));
    });
}

fn check_round_trip(unit: &Unit, text: &str) {
    let again = parse_unit(text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", unit.source));
    caulk_ir::verify::verify_unit(&again).unwrap_or_else(|errors| panic!("{}: {errors:?}", unit.source));
    assert_eq!(print_unit(&again), text);
}
