//! The packed form of a unit: its tables, and the bytes of each body, decoded one at a time when asked for.
//! A million lines stay small in memory this way, and a warm run decodes only what it looks at.
//!
//! Stored bytes are not trusted: a cache may come with the project. What [`PackedUnit::from_bytes`] returns has passed the
//! verifier, tables and bodies, so that it is as good as a unit that was lowered in this run.

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::entity::{EntityVec, FunctionId};
use crate::unit::{Function, Unit};
use crate::verify::{VerifyError, verify_body, verify_unit};

#[derive(Clone, Debug)]
pub struct PackedUnit {
    /// All tables; no function has its body here.
    pub unit: Unit,
    ranges: EntityVec<FunctionId, Option<(u32, u32)>>,
    bytes: Vec<u8>,
}

/// The head of the stored form; the bytes of the bodies follow it.
#[derive(Serialize, Deserialize)]
struct Head {
    unit: Unit,
    ranges: EntityVec<FunctionId, Option<(u32, u32)>>,
}

#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("the stored unit is damaged: {0}")]
    Decode(#[from] postcard::Error),
    #[error("the stored unit is damaged: a body lies outside of the file")]
    Bounds,
    #[error("the stored unit makes no sense: {0}")]
    Invalid(#[from] VerifyError),
}

impl PackedUnit {
    /// Takes the bodies out of a unit and packs them.
    pub fn pack(mut unit: Unit) -> Self {
        let mut bytes = Vec::new();
        let mut ranges = EntityVec::with_capacity(unit.functions.len());
        for function in unit.functions.values_mut() {
            let range = function.body.take().map(|body| {
                let start = bytes.len() as u32;
                bytes =
                    postcard::to_extend(&body, std::mem::take(&mut bytes)).expect("a body in memory always encodes");
                (start, bytes.len() as u32)
            });
            ranges.push(range);
        }
        Self { unit, ranges, bytes }
    }

    /// The body of a function; None for a declaration.
    pub fn body(&self, function: FunctionId) -> Option<Body> {
        let decoded = self.decode_body(function)?;
        Some(decoded.expect("the bytes were written by `pack`, or decoded once in `from_bytes`"))
    }

    fn decode_body(&self, function: FunctionId) -> Option<Result<Body, UnpackError>> {
        let (start, end) = self.ranges[function]?;
        Some(postcard::from_bytes(&self.bytes[start as usize..end as usize]).map_err(UnpackError::from))
    }

    /// How many bytes a body takes packed: a measure of its size that needs no decoding.
    pub fn body_bytes(&self, function: FunctionId) -> usize {
        self.ranges[function].map_or(0, |(start, end)| (end - start) as usize)
    }

    /// The whole unit, with all bodies in place.
    pub fn unpack(&self) -> Unit {
        let mut unit = self.unit.clone();
        for id in self.unit.functions.keys() {
            unit.functions[id].body = self.body(id);
        }
        unit
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head { unit: self.unit.clone(), ranges: self.ranges.clone() };
        let head = postcard::to_stdvec(&head).expect("a unit in memory always encodes");
        let mut out = Vec::with_capacity(8 + head.len() + self.bytes.len());
        out.extend_from_slice(&(head.len() as u64).to_le_bytes());
        out.extend_from_slice(&head);
        out.extend_from_slice(&self.bytes);
        out
    }

    /// Reads what [`PackedUnit::to_bytes`] wrote, and checks all of it: the bytes may come from anywhere.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, UnpackError> {
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or(UnpackError::Bounds)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| UnpackError::Bounds)?;
        let (head, bodies) = rest.split_at_checked(length).ok_or(UnpackError::Bounds)?;
        let head: Head = postcard::from_bytes(head)?;
        let packed = Self { unit: head.unit, ranges: head.ranges, bytes: bodies.to_vec() };
        if !packed.has_shape() {
            return Err(UnpackError::Bounds);
        }
        packed.verify()?;
        Ok(packed)
    }

    /// Whether bodies lie where the table says and nowhere else, and only definitions have one.
    fn has_shape(&self) -> bool {
        let inside = |&(start, end): &(u32, u32)| start <= end && end as usize <= self.bytes.len();
        let fits = |(function, range): (&Function, &Option<(u32, u32)>)| {
            function.body.is_none() && (function.is_definition || range.is_none()) && range.iter().all(inside)
        };
        self.ranges.len() == self.unit.functions.len()
            && self.unit.functions.values().zip(self.ranges.values()).all(fits)
    }

    fn verify(&self) -> Result<(), UnpackError> {
        let first =
            |errors: Vec<VerifyError>| errors.into_iter().next().map_or(Ok(()), |e| Err(UnpackError::Invalid(e)));
        first(verify_unit(&self.unit).err().unwrap_or_default())?;
        for id in self.unit.functions.keys() {
            if let Some(body) = self.decode_body(id) {
                first(verify_body(&self.unit, id, &body?).err().unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No text leads there: strings are interned as it is read.
    #[test]
    fn a_string_with_two_numbers_is_refused() {
        let unit =
            crate::text::parse_unit("unit \"u.c\"\nglobal @aaaa size 8\nglobal @aaab size 8\n").expect("well formed");
        let bytes = PackedUnit::pack(unit).to_bytes();
        assert!(PackedUnit::from_bytes(&bytes).is_ok());
        let at = bytes.windows(4).position(|w| w == b"aaab").expect("strings are stored as they are");
        let mut changed = bytes.clone();
        changed[at + 3] = b'a';
        let error = PackedUnit::from_bytes(&changed).expect_err("two symbols are the same");
        assert!(error.to_string().contains("stands twice in its table"), "{error}");
    }
}
