//! The form of one cache entry: a mark, a hash of all that follows, the files the unit was made from with the hash of each,
//! and the packed unit.
//!
//! The hash finds damage, not malice: who writes an entry can write its hash. So nothing in it is taken on trust.

use blake3::Hash;
use caulk_ir::PackedUnit;

const MAGIC: &[u8; 8] = b"caulk-u\n";
/// The length of mark and hash, before the content.
pub const SEAL_BYTES: usize = MAGIC.len() + blake3::OUT_LEN;

/// A decoded entry.
pub struct Entry {
    /// Every file that was read for the unit, with its hash in hexadecimal.
    pub files: Vec<(String, String)>,
    pub unit: PackedUnit,
}

/// An entry whose hash is right and whose list of files is read; the unit is still bytes.
pub(crate) struct Sealed<'a> {
    pub files: Vec<(&'a str, &'a str)>,
    unit: &'a [u8],
}

impl<'a> Sealed<'a> {
    /// None for whatever is no entry.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let rest = unseal(bytes)?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let (files, unit) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let files = std::str::from_utf8(files).ok()?.lines().map(|line| line.split_once(' ')).collect::<Option<_>>()?;
        Some(Self { files, unit })
    }

    pub(crate) fn unit(&self) -> Option<PackedUnit> {
        PackedUnit::from_bytes(self.unit).ok()
    }
}

/// Reads an entry, without a look at the files it names. None for whatever is no entry.
pub fn decode(bytes: &[u8]) -> Option<Entry> {
    let sealed = Sealed::read(bytes)?;
    let files = sealed.files.iter().map(|(hash, file)| ((*hash).to_owned(), (*file).to_owned())).collect();
    Some(Entry { files, unit: sealed.unit()? })
}

/// An entry for a unit and a list of files, one a line, each after its hash.
pub fn encode(files: &str, unit: &PackedUnit) -> Vec<u8> {
    let mut content = Vec::new();
    content.extend_from_slice(&(files.len() as u64).to_le_bytes());
    content.extend_from_slice(files.as_bytes());
    content.extend_from_slice(&unit.to_bytes());
    seal(&content)
}

/// The content after a mark and a hash that fits.
pub(crate) fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let (hash, content) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
    (blake3::hash(content) == Hash::from_bytes(*hash)).then_some(content)
}

/// Puts the mark and the hash before the content of an entry.
pub fn seal(content: &[u8]) -> Vec<u8> {
    [&MAGIC[..], blake3::hash(content).as_bytes(), content].concat()
}
