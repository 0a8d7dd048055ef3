//! Which flags of a foreign build reach our clang.
//!
//! [`table`] and [`refused`] are the data: one rule per flag. [`sanitize`] applies it. [`rejected`] reads clang's complaints
//! about the rest.
//!
//! Two policies for flags the table does not know: `-f...` and `-m...` are kept unless their value is a path, because clang
//! knows hundreds of them and the front end can drop the few it refuses and try again; every other unknown flag is dropped,
//! because there clang's dangerous flags live.

mod refused;
mod rejected;
mod sanitize;
mod table;
mod target;

pub(crate) use target::is_plain_target;

pub use rejected::without_rejected;
pub use sanitize::{Dropped, Sanitized, sanitize};
pub use table::Why;
