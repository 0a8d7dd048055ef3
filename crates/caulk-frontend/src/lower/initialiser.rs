//! Initial contents of global variables: they hold the tables of function pointers.

use caulk_ir::{Constant, InitItem, Initialiser};

use super::unit::Lowering;
use crate::bounds::BOUNDS;
use crate::llvm::{TypeKind, Value, ValueKind};

impl<'m> Lowering<'m> {
    pub(crate) fn lower_initialisers(&mut self) {
        let mut parts_left = BOUNDS.initialiser_parts;
        for value in self.module.globals() {
            if let Some(&id) = self.globals.get(&value)
                && let Some(init) = value.global_initialiser()
            {
                let size = self.unit.globals[id].size;
                self.unit.globals[id].init = self.lower_initialiser(init, size, &mut parts_left);
            }
        }
    }

    fn lower_initialiser(&mut self, init: Value<'m>, size: u64, parts_left: &mut usize) -> Initialiser {
        if init.is_null() {
            return Initialiser::Zero;
        }
        if let Some(bytes) = init.string_bytes() {
            let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
            let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(Initialiser::MAX_TEXT)]).into_owned();
            return Initialiser::Text(self.intern(&shown));
        }
        let mut flat = Flat { items: Vec::new(), numbers: 0, complete: true, size, parts_left };
        self.flatten(init, 0, &mut flat, 0);
        if flat.items.is_empty() && flat.complete {
            return Initialiser::Zero;
        }
        Initialiser::Items { items: flat.items, complete: flat.complete }
    }

    fn flatten(&self, value: Value<'m>, offset: u64, flat: &mut Flat<'_>, depth: usize) {
        let is_undefined = matches!(value.kind(), ValueKind::LLVMUndefValueValueKind | ValueKind::LLVMPoisonValueKind);
        if is_undefined || value.is_null() {
            return;
        }
        let ty = value.ty();
        let is_aggregate = matches!(ty.kind(), TypeKind::Struct | TypeKind::Array { .. });
        if !is_aggregate {
            flat.add(offset, self.lower_constant(value));
            return;
        }
        if let TypeKind::Array { element, length } = ty.kind()
            && matches!(element.kind(), TypeKind::Int(_) | TypeKind::Float(_))
            && length as usize > Initialiser::MAX_NUMBERS
        {
            flat.complete = false;
            return;
        }
        match self.constant_parts(value, ty, *flat.parts_left) {
            Some(parts) if depth < BOUNDS.initialiser_depth => {
                *flat.parts_left -= parts.len();
                for (at, part) in parts {
                    self.flatten(part, offset.wrapping_add(at), flat, depth + 1);
                }
            }
            _ => flat.complete = false,
        }
    }
}

struct Flat<'a> {
    items: Vec<InitItem>,
    numbers: usize,
    complete: bool,
    /// The size of the variable.
    size: u64,
    parts_left: &'a mut usize,
}

impl Flat<'_> {
    fn add(&mut self, offset: u64, value: Constant) {
        match value {
            Constant::Undef(_) => return,
            Constant::Opaque(_) => {
                self.complete = false;
                return;
            }
            Constant::Int { .. } | Constant::Float { .. } | Constant::Zero(_) => {
                self.numbers += 1;
                if self.numbers > Initialiser::MAX_NUMBERS {
                    self.complete = false;
                    return;
                }
            }
            _ => {}
        }
        // Sizes beyond all memory wrap around in LLVM, and so do the places of their parts.
        if offset >= self.size || self.items.last().is_some_and(|last| last.offset >= offset) {
            self.complete = false;
            return;
        }
        self.items.push(InitItem { offset, value });
    }
}
