//! For `caulk why` on a line that frees: the fields of the structure that own memory, and what the function does with each.

use caulk_ir::cpp_names::shortened;
use caulk_ir::{Body, InstId};
use caulk_program::{FuncId, is_destructor};
use caulk_summary::Destination;
use caulk_useflow::{Explainer, StructureEnd, StructureStory, slot_name};

use crate::input::Analysed;

/// The story of each structure that is ended in a line or around it. Empty if the line frees nothing.
pub(super) fn told(
    analysed: &Analysed,
    explainer: &Explainer<'_>,
    (function, body): (FuncId, &Body),
    line: u32,
) -> Vec<String> {
    let program = &analysed.program;
    let name = shortened(program.function(function).name);
    if !frees(analysed, function, body, line) && !is_destructor(program.function(function).symbol) {
        return Vec::new();
    }
    let is_here = |story: &&StructureStory| match story.end {
        StructureEnd::Freed(at) => at >= line,
        StructureEnd::Destructed | StructureEnd::Left => true,
    };
    let mut lines = Vec::new();
    for story in explainer.structures(function).iter().filter(is_here) {
        let what = match story.end {
            StructureEnd::Freed(at) => format!("is freed at {at}"),
            StructureEnd::Destructed => "is destroyed".to_owned(),
            StructureEnd::Left => "lives on".to_owned(),
        };
        lines.push(format!(
            "  the structure {} {what}; its fields that own memory, in {name}:",
            shortened(program.type_name(story.ty))
        ));
        for field in &story.fields {
            let (maker, at) = (program.function(field.filled.0), field.filled.1);
            let place = format!("{} ({}:{at})", shortened(maker.name), analysed.shown(maker.file));
            lines.push(format!("      {}, filled in {place}: {}", slot_name(program, field.slot), field.outcome));
        }
    }
    lines
}

/// Whether a call of the line frees something.
fn frees(analysed: &Analysed, function: FuncId, body: &Body, line: u32) -> bool {
    let Analysed { program, analysis, .. } = analysed;
    let is_free = |target: &FuncId| {
        let actions = &analysis.summary(*target).actions;
        actions.iter().any(|action| matches!(action.to, Destination::Free { .. }))
    };
    let is_here = |inst: InstId| body.place(inst).line == line;
    program.call_sites(function).iter().any(|site| is_here(site.inst) && program.targets(site).iter().any(is_free))
}
