//! Bytes that cannot be guessed.

use std::io;

/// From the system, as many as a key has.
pub fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if filled == bytes.len() { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
