//! The whole analysis on damaged IR: what the verifier accepts makes no later part panic.

use std::path::Path;

use caulk_explore::{ExploreConfig, Verdict, explore};
use caulk_ir::PackedUnit;
use caulk_ir::text::parse_unit;
use caulk_ir::verify::verify_unit;
use caulk_models::Models;
use caulk_program::{Program, ProgramConfig, UnitInput};
use caulk_report::source::Sources;
use caulk_report::witness::confirmed;
use caulk_report::{Narrator, ReportConfig};
use caulk_useflow::UseflowConfig;

pub(crate) fn analysis(bytes: &[u8]) {
    let Ok(unit) = parse_unit(&String::from_utf8_lossy(bytes)) else { return };
    if verify_unit(&unit).is_err() {
        return;
    }
    let program = Program::link(vec![UnitInput::new(PackedUnit::pack(unit))], ProgramConfig::default());
    let models = Models::bundled();
    let config = UseflowConfig::default();
    let analysis = caulk_useflow::analyse(&program, &models, &config);
    let exploration = explore(&program, &config, &analysis, &ExploreConfig::default());
    let report_config = ReportConfig::default();
    let root = Path::new("/nowhere");
    let sources = Sources::new(root, report_config.max_source);
    let narrator = Narrator::new(&program, &models, &analysis, &report_config, &sources, root);
    for (_, candidate, verdict) in exploration.judged(&analysis) {
        let evidence = match verdict {
            Verdict::Confirmed(witness) => confirmed(candidate, witness),
            _ => narrator.stage_one(candidate),
        };
        let _ = narrator.finding(candidate, &evidence);
    }
}
