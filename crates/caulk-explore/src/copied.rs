//! What a copy of bytes takes along besides the cells that are known already.

use caulk_ir::{Constant, Inst, InstId, Type};

use crate::bounds::BOUNDS;
use crate::machine::Machine;
use crate::memory::Content;
use crate::state::State;
use crate::symbols::{Key, Origin};
use caulk_memory::Class;

impl Machine<'_> {
    /// The numbers of a structure of which nothing was read so far, so that its copy has the same. A getter that returns a small structure
    /// by value copies it first: asked twice, it must give the same answer.
    pub(crate) fn read_numbers(&mut self, state: &State, from: Key, bytes: u64, inst: InstId) -> Vec<(Key, Content)> {
        let Inst::Copy { src, .. } = &self.frame.body.insts[inst] else { return Vec::new() };
        let Class::Field(ty, offset) = self.frame.class_of(*src) else { return Vec::new() };
        let info = self.frame.program.type_info(ty);
        let is_whole = offset == 0 && info.size == bytes;
        let is_copied = |at: u64, size: u64| is_whole || (at == offset && size == bytes);
        let is_number = |size: u64| matches!(size, 1 | 2 | 4 | 8);
        let fields = info.fields.iter().filter(|f| f.pointee.depth == 0 && f.embedded().is_none() && !f.is_vptr);
        let fields: Vec<(u64, u64)> = fields.map(|f| (f.offset, f.size)).filter(|f| is_copied(f.0, f.1)).collect();
        if info.is_union || fields.len() > BOUNDS.read_fields {
            return Vec::new();
        }
        let mut cells = Vec::new();
        for (at, size) in fields.into_iter().filter(|field| is_number(field.1)) {
            let ahead = i64::try_from(at - offset).unwrap_or(i64::MAX);
            let key = Key { base: from.base, offset: from.offset.saturating_add(ahead) };
            let address = self.pool.offset(from.base, key.offset, true);
            let program_point = self.program_point(state, inst);
            let class = Class::Field(ty, at);
            let value = self.load(state, address, Type::Int(8 * size as u16), class, &program_point);
            cells.push((key, self.content(key, value, size, class)));
        }
        cells
    }

    /// The numbers in a run of bytes of a variable that its constructor has put there for good.
    pub(crate) fn built_cells(&mut self, from: Key, bytes: u64) -> Vec<(Key, Content)> {
        let Origin::Global(global) = self.origin(from.base) else { return Vec::new() };
        let end = from.offset.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
        let mut cells = Vec::new();
        for (offset, number) in self.frame.program.built_contents(global) {
            let key = Key { base: from.base, offset: i64::try_from(*offset).unwrap_or(i64::MAX) };
            let Constant::Int { bits: bits @ 1..=64, value } = *number else { continue };
            if (from.offset..end).contains(&key.offset) {
                let value = self.pool.constant(bits as u8, value);
                cells.push((key, self.content(key, value, u64::from(bits).div_ceil(8), Class::Other)));
            }
        }
        cells
    }
}
