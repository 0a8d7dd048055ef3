//! What code that was not read may use.

use caulk_ir::Linkage;

use crate::ids::{FuncId, UnitId};
use crate::program::Program;

impl Program {
    /// Whether a function may have callers that the program does not show.
    pub fn may_be_called_from_outside(&self, function: FuncId) -> bool {
        let info = self.function(function);
        let flags = info.declaration.flags;
        let users = self.callers(function).map(|caller| self.function(caller).unit);
        info.address_taken
            || flags.runs_at_start
            || flags.runs_at_end
            || self.callers(function).next().is_none()
            || self.is_meant_for_others(info.declaration.linkage, info.unit, users)
            || self.config.entry_symbols.iter().any(|s| s == info.symbol)
    }

    /// Something with external linkage that only its own unit uses is there for code that was not read, unless there is a
    /// whole program.
    pub(crate) fn is_meant_for_others(
        &self,
        linkage: Linkage,
        home: UnitId,
        mut users: impl Iterator<Item = UnitId>,
    ) -> bool {
        let is_exported = matches!(linkage, Linkage::External | Linkage::Weak | Linkage::Common);
        is_exported && !self.is_whole() && users.all(|user| user == home)
    }
}
