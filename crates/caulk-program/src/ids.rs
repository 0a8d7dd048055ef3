//! Indices of what the whole program shares.

use caulk_ir::entity;

entity!(
    /// A unit, in the order given.
    UnitId, "unit");
entity!(
    /// A function of the program: a definition that some program could link, or a symbol that nothing defines.
    FuncId, "func");
entity!(
    /// A global variable of the program.
    GlobalVarId, "var");
entity!(
    /// A structure type, one for all units that have it.
    TypeId, "type");
