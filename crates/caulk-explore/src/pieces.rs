//! Numbers that are written in pieces and read as a whole, and the other way round: small structures pass through registers as
//! one number, and the tag beside a pointer must not get lost in it.

use caulk_solver::{BinaryOp, NoWrap, TermId};

use crate::machine::Machine;
use crate::memory::Content;
use crate::state::State;
use crate::symbols::{Key, Part, ProgramPoint};

impl Machine<'_> {
    /// What is read from bytes that some cells cover in part: built from those cells, as far as they are plain numbers.
    pub(crate) fn read_pieces(
        &mut self,
        state: &State,
        key: Key,
        width: u8,
        cells: &[(Key, Content)],
        program_point: &ProgramPoint,
    ) -> Option<TermId> {
        let is_number = |(_, c): &(Key, Content)| c.points.is_none() && self.pool.width(c.value) < 64;
        match cells {
            [(at, whole)] if at.offset < key.offset => self.read_inside(key.offset - at.offset, width, whole),
            _ if width > 64 || !cells.iter().all(is_number) => None,
            _ => self.join(state, key, width, cells, program_point),
        }
    }

    /// A narrow number out of a wide one.
    fn read_inside(&mut self, distance: i64, width: u8, whole: &Content) -> Option<TermId> {
        let low = u8::try_from(distance.checked_mul(8)?).ok()?;
        let ends_inside = low.checked_add(width)? <= self.pool.width(whole.value);
        (ends_inside && whole.points.is_none()).then(|| self.pool.extract(whole.value, low, width))
    }

    /// A wide number out of narrow ones; what lies between them is unknown, unless it was cleared.
    fn join(
        &mut self,
        state: &State,
        key: Key,
        width: u8,
        cells: &[(Key, Content)],
        program_point: &ProgramPoint,
    ) -> Option<TermId> {
        let mut joined = self.pool.constant(width, 0);
        let mut open = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        for (at, cell) in cells {
            let low = u8::try_from(at.offset.checked_sub(key.offset)?.checked_mul(8)?).ok()?;
            let bits = u8::try_from(cell.bytes.checked_mul(8)?).ok()?;
            if self.pool.width(cell.value) != bits || low.checked_add(bits)? > width {
                return None;
            }
            open &= !(((1 << bits) - 1) << low);
            let wide = self.pool.zext(cell.value, width);
            let shift = self.pool.constant(width, u64::from(low));
            let placed = self.pool.binary(BinaryOp::Shl, NoWrap::NONE, wide, shift);
            joined = self.pool.or(joined, placed);
        }
        if open != 0 && !state.memory.is_zeroed(key, u64::from(width / 8)) {
            let rest = self.unknown(program_point, Part::Value, crate::frame::type_of(width));
            let mask = self.pool.constant(width, open);
            let rest = self.pool.and(rest, mask);
            joined = self.pool.or(joined, rest);
        }
        Some(joined)
    }
}
