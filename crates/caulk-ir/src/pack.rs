//! The packed form of a unit: its tables, and the bytes of each body, decoded one at a time when asked for.
//! A million lines stay small in memory this way, and a warm run decodes only what it looks at.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::entity::{EntityVec, FunctionId};
use crate::unit::Unit;

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
    ///
    /// # Panics
    /// When the bytes are damaged: [`PackedUnit::from_bytes`] is only given bytes whose hash was checked.
    pub fn body(&self, function: FunctionId) -> Option<Body> {
        let (start, end) = self.ranges[function]?;
        let bytes = &self.bytes[start as usize..end as usize];
        Some(postcard::from_bytes(bytes).expect("the bytes of a packed unit were checked when it was read"))
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

    /// Reads what [`PackedUnit::to_bytes`] wrote. The caller vouches that the bytes are whole (the cache keeps a hash).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, UnpackError> {
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or(UnpackError::Bounds)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| UnpackError::Bounds)?;
        let (head, bodies) = rest.split_at_checked(length).ok_or(UnpackError::Bounds)?;
        let head: Head = postcard::from_bytes(head)?;
        let inside = |r: &(u32, u32)| Range { start: r.0, end: r.1 }.end as usize <= bodies.len() && r.0 <= r.1;
        if head.ranges.len() != head.unit.functions.len() || !head.ranges.values().flatten().all(inside) {
            return Err(UnpackError::Bounds);
        }
        Ok(Self { unit: head.unit, ranges: head.ranges, bytes: bodies.to_vec() })
    }
}
