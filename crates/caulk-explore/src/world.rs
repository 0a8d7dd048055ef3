//! What every execution of stage two is done with.

use std::borrow::Cow;

use caulk_ir::InstId;
use caulk_memory::Class;
use caulk_program::{FuncId, Program};
use caulk_useflow::{Analysis, CallEffect, Callees, UseflowConfig, effect_of};

use crate::config::ExploreConfig;
use crate::effect_cache::EffectCache;
use crate::flags::Left;
use crate::kept::Keeping;

#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub program: &'a Program,
    pub useflow: &'a UseflowConfig,
    pub analysis: &'a Analysis,
    pub config: &'a ExploreConfig,
    pub effects: &'a EffectCache,
    /// Where what is found out is kept for another run.
    pub keeping: Option<&'a Keeping<'a>>,
}

impl<'a> World<'a> {
    pub(crate) fn new(
        program: &'a Program,
        useflow: &'a UseflowConfig,
        analysis: &'a Analysis,
        config: &'a ExploreConfig,
        effects: &'a EffectCache,
    ) -> Self {
        Self { program, useflow, analysis, config, effects, keeping: None }
    }

    /// What stage one knows of a call.
    pub(crate) fn call_effect(&self, function: FuncId, inst: InstId) -> Option<CallEffect<'a>> {
        let analysis = self.analysis;
        if let Some(summary) = analysis.special_call(function, inst) {
            return Some(CallEffect { summary: Cow::Borrowed(summary), unknown: false });
        }
        let site = self.program.call_site(function, inst)?;
        effect_of(self.program, self.useflow, site, &|f| Some(analysis.summary(f)))
    }

    /// Whether no code that makes a block for a caller can be reached in a function that is given these constants.
    pub(crate) fn makes_no_block(&self, function: FuncId, given: &[(u32, u64)]) -> bool {
        let analysis = self.analysis;
        let callees = Callees {
            program: self.program,
            max_size: self.config.max_special_size,
            reached: &analysis.survey.reached_calls,
            summary: &|f| Some(analysis.summary(f)),
            effect: &|f, inst| self.call_effect(f, inst),
        };
        callees.makes_no_block(function, given)
    }

    /// Whether a function may write to cells of a class, wherever they are.
    pub(crate) fn writes(&self, function: FuncId, class: Class) -> bool {
        self.any_writes(&[function], class)
    }

    /// Whether one of several functions may.
    pub(crate) fn any_writes(&self, functions: &[FuncId], class: Class) -> bool {
        let modified = &self.analysis.survey.modified;
        modified.number(class).is_some_and(|number| functions.iter().any(|f| modified.has(*f, number)))
    }

    /// The bits of cells of a class that none of some functions changes.
    pub(crate) fn kept_bits(&self, functions: &[FuncId], class: Class) -> u64 {
        let Class::Field(ty, offset) = class else { return 0 };
        let modified = &self.analysis.survey.modified;
        functions.iter().fold(u64::MAX, |kept, function| kept & modified.kept_bits(*function, ty, offset))
    }

    /// What is left of cells of a class, whatever of some functions is called.
    pub(crate) fn left_by(&self, functions: &[FuncId], class: Class) -> Left {
        let Class::Field(ty, offset) = class else { return Left::default() };
        let modified = &self.analysis.survey.modified;
        let full = functions.iter().all(|function| modified.keeps_full(*function, ty, offset));
        Left { bits: self.kept_bits(functions, class), full }
    }

    /// Whether some store of the program fills cells of a class only where they are null.
    pub(crate) fn is_first_filled(&self, class: Class) -> bool {
        matches!(class, Class::Field(ty, offset) if self.analysis.survey.modified.is_first_filled(ty, offset))
    }

    /// Whether cells of a class are sets of flags: some store of the program changes only some bits of them.
    pub(crate) fn is_flags(&self, class: Class) -> bool {
        matches!(class, Class::Field(ty, offset) if self.analysis.survey.modified.is_written_in_bits(ty, offset))
    }

    /// Whether a call does different things for different arguments, as far as stage one can tell.
    pub(crate) fn depends_on_arguments(&self, function: FuncId, inst: InstId) -> bool {
        let conditional =
            |e: &CallEffect<'_>| e.summary.actions.iter().any(|a| !matches!(a.guard, caulk_summary::Guard::Always));
        self.call_effect(function, inst).as_ref().is_some_and(conditional)
    }
}
