//! Whether a unit that is not linked does nothing with a variable of another one but to read it.

use caulk_ir::{AliasTarget, Body, Constant, GlobalId, Initialiser, Inst, Linkage, Operand, PackedUnit};

/// Whether all that the unit does with the variable of this symbol is to load it. One that the unit defines itself is another matter.
pub fn only_reads(packed: &PackedUnit, symbol: &str) -> bool {
    let unit = &packed.unit;
    let is_named = |linkage: Linkage, name| linkage != Linkage::Internal && unit.str(name) == symbol;
    let Some((variable, declared)) = unit.globals.iter().find(|(_, g)| is_named(g.linkage, g.symbol)) else {
        return true;
    };
    let is_pointed_to = unit.globals.values().any(|global| match &global.init {
        Initialiser::Items { items, .. } => items.iter().any(|item| is_address_of(item.value, variable)),
        _ => false,
    });
    let has_second_name = unit.aliases.iter().any(|alias| alias.target == AliasTarget::Global(variable));
    declared.init == Initialiser::External
        && !is_pointed_to
        && !has_second_name
        && unit.functions.keys().filter_map(|function| packed.body(function)).all(|body| only_loads(&body, variable))
}

fn only_loads(body: &Body, variable: GlobalId) -> bool {
    if !body.consts.values().any(|constant| is_address_of(*constant, variable)) {
        return true;
    }
    let is_address =
        |operand: &Operand| body.constant(*operand).is_some_and(|constant| is_address_of(constant, variable));
    body.insts.values().all(|inst| {
        let mut is_used = false;
        if !matches!(inst, Inst::Load { volatile: false, .. }) {
            inst.for_each_operand(|operand| is_used |= is_address(operand));
        }
        !is_used
    })
}

fn is_address_of(constant: Constant, variable: GlobalId) -> bool {
    matches!(constant, Constant::Global { global, .. } if global == variable)
}

#[cfg(test)]
mod tests {
    use caulk_ir::text::parse_unit;

    use super::*;

    fn reads(text: &str) -> bool {
        only_reads(&PackedUnit::pack(parse_unit(text).expect("well formed")), "v")
    }

    /// A function that does this with the variable.
    fn with(inst: &str) -> String {
        format!(
            "unit \"u.c\"\nglobal @v size 4 = external\ndeclare @g(ptr)\n\
             define @f(n: i32) at 1 {{\n {inst} @ 2:3\n return @ 3:1\n}}"
        )
    }

    #[test]
    fn a_unit_that_loads_a_variable_or_has_none_of_it() {
        assert!(reads(&with("%x = load i32 @v")) && reads("unit \"u.c\""));
        assert!(reads("unit \"u.c\"\nglobal internal @v size 4"));
    }

    #[test]
    fn whatever_else_a_unit_does_with_a_variable() {
        assert!(!reads(&with("store i32 %n, @v")));
        assert!(!reads(&with("call void @g(ptr @v)")));
        let external = "unit \"u.c\"\nglobal @v size 4 = external\n";
        assert!(!reads(&format!("{external}global @p size 8 = {{ +0 @v }}")));
        assert!(!reads("unit \"u.c\"\nglobal @v size 4"));
    }
}
