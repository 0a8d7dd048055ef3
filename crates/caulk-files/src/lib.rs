//! Files of projects that are not trusted: what is read is bounded, what is written stays where it belongs.
//!
//! [`read()`] is the one way to read a whole file: only regular files, and only up to a limit, so that no pipe, device or
//! endless file stops the run. [`Destination`] says where a result goes. What the user names may lie anywhere; what a project
//! names lies below its folder, with no symbolic link on the way. [`Folder`] is an open folder: what is done in it does not
//! depend on paths that could change between a check and its use.
//!
//! *Architecture invariant:* knows nothing of what the files hold.

mod destination;
mod folder;
mod random;
mod read;

pub use destination::Destination;
pub use folder::{Aside, Folder};
pub use random::random;
pub use read::{open, read, read_text};
