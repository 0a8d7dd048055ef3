//! The core program of Caulk: functions, blocks, SSA instructions, places in the source.
