//! A bounded run of every target, always on the same inputs. With CAULK_FUZZ_SECONDS in the environment each runs so long
//! instead, on other inputs every time (`make fuzz`).

use caulk_fuzz_targets::{run, target};

fn smoke(name: &str) {
    let target = target(name).expect("the list has a target of this name");
    run(target.name, (target.seeds)(), target.smoke_inputs, target.drive);
}

macro_rules! smoke {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            smoke(stringify!($name));
        })*

        #[test]
        fn every_target_is_run() {
            let names: Vec<&str> = caulk_fuzz_targets::TARGETS.iter().map(|t| t.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

smoke!(ir_text, packed_unit, cache_entry, analysis, models, baseline, suppressions, database, response_file, symbol);
