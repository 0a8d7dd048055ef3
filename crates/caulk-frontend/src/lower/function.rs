//! The body of one function, block by block.

use caulk_ir::place::Inlined;
use caulk_ir::{BlockId, Body, FileId, FunctionId, Inst, InstId, Operand, Place, PlaceId, Type, Variable};
use caulk_ir::{UnknownReason, VarId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::unit::Lowering;
use crate::bounds::BOUNDS;
use crate::llvm::{BlockRef, Metadata, Value};
use crate::ssa::{self, Draft};

pub(super) struct FunctionLowering<'l, 'm> {
    pub unit: &'l mut Lowering<'m>,
    pub function: FunctionId,
    pub draft: Draft,
    /// The instruction each LLVM value becomes; made for all before the first is lowered, since phis look ahead.
    pub values: FxHashMap<Value<'m>, InstId>,
    pub blocks: FxHashMap<BlockRef<'m>, BlockId>,
    pub variables: FxHashMap<Metadata<'m>, VarId>,
    places: FxHashMap<Metadata<'m>, PlaceId>,
    /// The location last asked for: most instructions share that of the one before.
    last_place: Option<(Metadata<'m>, PlaceId)>,
    /// Where the next instruction goes, and the place it has.
    pub block: BlockId,
    pub place: PlaceId,
    nowhere: PlaceId,
    /// Whether some block ends before LLVM's does, and the blocks after it have lost an edge.
    cut: bool,
}

pub(super) fn lower_body<'m>(unit: &mut Lowering<'m>, value: Value<'m>) -> Body {
    let function = unit.functions[&value];
    let file = unit.unit.functions[function].file.unwrap_or(FileId(0));
    if unit.unit.files.is_empty() {
        let source = unit.unit.source.clone();
        let source = unit.intern(&source);
        unit.file_at(source);
    }
    let mut draft = Draft::default();
    let nowhere = draft.place(Place { file, line: 0, column: 0, inlined: None });
    let mut lowering = FunctionLowering {
        unit,
        function,
        draft,
        values: FxHashMap::default(),
        blocks: FxHashMap::default(),
        variables: FxHashMap::default(),
        places: FxHashMap::default(),
        last_place: None,
        block: BlockId(0),
        place: nowhere,
        nowhere,
        cut: false,
    };
    let result = lowering.lower_params(value);
    lowering.lower_blocks(value);
    if lowering.cut {
        lowering.draft.prune_phis();
    }
    lowering.name_params();
    ssa::finish(lowering.draft, result)
}

impl<'m> FunctionLowering<'_, 'm> {
    /// Gives the hidden parameter for a structure result, if there is one.
    fn lower_params(&mut self, function: Value<'m>) -> Option<InstId> {
        for (index, param) in function.params().into_iter().enumerate() {
            let ty = self.unit.lower_type(param.ty());
            let id = self.draft.add_inst(Inst::Param { index: index as u32, ty }, self.nowhere);
            self.values.insert(param, id);
            self.draft.params += 1;
        }
        let signature = &self.unit.unit.functions[self.function].signature;
        let index = self.draft.params;
        (signature.params.len() > index as usize).then(|| {
            self.draft.params += 1;
            self.draft.add_inst(Inst::Param { index, ty: Type::Ptr }, self.nowhere)
        })
    }

    fn lower_blocks(&mut self, function: Value<'m>) {
        let blocks = function.blocks();
        // LLVM keeps instructions in linked lists, so that walking them twice costs more than a list of our own.
        let mut code: Vec<Value<'m>> = Vec::new();
        let mut ends = Vec::with_capacity(blocks.len());
        for block in &blocks {
            code.extend(block.instructions());
            ends.push(code.len());
        }
        self.reserve(code.len(), blocks.len());
        self.reserve_values(&blocks, &code, &ends);
        let mut start = 0;
        for (block, end) in blocks.iter().zip(ends) {
            self.block = self.blocks[block];
            for &inst in &code[start..end] {
                self.place = inst.debug_location().map_or(self.nowhere, |l| self.lower_place(l));
                self.lower_instruction(inst);
            }
            start = end;
        }
    }

    /// Gives every block and every value its number.
    fn reserve_values(&mut self, blocks: &[BlockRef<'m>], code: &[Value<'m>], ends: &[usize]) {
        let mut start = 0;
        for (&block, &end) in blocks.iter().zip(ends) {
            let id = self.draft.blocks.push(Vec::with_capacity(end - start));
            self.blocks.insert(block, id);
            start = end;
        }
        for &inst in code.iter().filter(|i| !is_void(**i)) {
            let reserved = self.draft.add_inst(Inst::Unreachable, self.nowhere);
            self.values.insert(inst, reserved);
        }
    }

    /// Makes room: growing step by step copies large functions over and over.
    fn reserve(&mut self, insts: usize, blocks: usize) {
        self.blocks.reserve(blocks);
        self.draft.insts.reserve(insts);
        self.draft.inst_places.reserve(insts);
        self.values.reserve(insts);
    }

    pub(crate) fn lower_place(&mut self, location: Metadata<'m>) -> PlaceId {
        if let Some((known, place)) = self.last_place
            && known == location
        {
            return place;
        }
        let place = self.lower_place_at_depth(location, 0);
        self.last_place = Some((location, place));
        place
    }

    fn lower_place_at_depth(&mut self, location: Metadata<'m>, depth: usize) -> PlaceId {
        if let Some(&id) = self.places.get(&location) {
            return id;
        }
        let scope = location.location_scope();
        let file = self.unit.file_of_scope(scope);
        let inlined = location.location_inlined_at().filter(|_| depth < BOUNDS.inline_depth).map(|at| {
            let name = scope.and_then(|s| self.unit.enclosing_function(s)).unwrap_or_default();
            Inlined { function: self.unit.intern(&name), at: self.lower_place_at_depth(at, depth + 1) }
        });
        let (line, column) = location.location_position();
        let id = self.draft.place(Place { file, line, column, inlined });
        self.places.insert(location, id);
        id
    }

    /// Appends an instruction that no LLVM value stands for.
    pub(crate) fn emit(&mut self, inst: Inst) -> InstId {
        self.draft.append(self.block, inst, self.place)
    }

    /// Appends the instruction that an LLVM value becomes.
    pub(crate) fn define(&mut self, value: Value<'m>, inst: Inst) {
        match self.values.get(&value) {
            Some(&id) => {
                self.draft.insts[id] = inst;
                self.draft.inst_places[id] = self.place;
                self.draft.blocks[self.block].push(id);
            }
            None => drop(self.emit(inst)),
        }
    }

    /// Ends the path here; what LLVM has after it goes to a block that nothing leads to.
    pub(crate) fn end_path(&mut self) {
        self.emit(Inst::Unreachable);
        self.block = self.draft.blocks.push(Vec::new());
        self.cut = true;
    }

    /// Makes an LLVM value the same as one we already have.
    pub(crate) fn forward(&mut self, value: Value<'m>, same: Operand) {
        let ty = self.unit.lower_type(value.ty());
        self.define(value, Inst::Cast { op: caulk_ir::CastOp::Bits, from: ty, to: ty, value: same });
    }

    pub(crate) fn define_unknown(&mut self, value: Value<'m>, reason: UnknownReason, operands: SmallVec<[Operand; 2]>) {
        *self.unit.unit.unknowns.entry(reason).or_insert(0) += 1;
        let ty = self.unit.lower_type(value.ty());
        self.define(value, Inst::Unknown { ty, reason, operands });
    }

    /// The source variable of a debug-info node.
    pub(crate) fn variable(&mut self, node: Metadata<'m>) -> VarId {
        if let Some(&id) = self.variables.get(&node) {
            return id;
        }
        // DILocalVariable: scope, name, file, type.
        let operands = node.operands(self.unit.module);
        let name = operands.string(1).unwrap_or_default();
        let name = self.unit.intern(&name);
        let pointee = operands.node(3).map(|ty| self.unit.pointee(ty)).unwrap_or_default();
        if let Some(target) = pointee.target {
            self.unit.fill(target);
        }
        let id = self.draft.vars.push(Variable { name, param: None, line: node.variable_line(), pointee });
        self.variables.insert(node, id);
        id
    }

    /// A variable whose slot is filled from a parameter at the start is that parameter.
    fn name_params(&mut self) {
        let mut named = Vec::new();
        for &id in &self.draft.blocks[Body::ENTRY] {
            let Inst::Store { value: Operand::Value(from), address: Operand::Value(to), .. } = self.draft.insts[id]
            else {
                continue;
            };
            // A narrow parameter is widened or cut on its way into the slot.
            let from = match self.draft.insts[from] {
                Inst::Cast { value: Operand::Value(inner), .. } => inner,
                _ => from,
            };
            if let (Inst::Param { index, .. }, Inst::Local { var: Some(var), .. }) =
                (&self.draft.insts[from], &self.draft.insts[to])
            {
                named.push((*index, *var));
            }
        }
        for (index, variable) in named {
            self.name_param(index, variable);
        }
    }

    /// Tells that `variable` is the parameter at `index`.
    pub(crate) fn name_param(&mut self, index: u32, variable: VarId) {
        let variable = &mut self.draft.vars[variable];
        if variable.param.is_some() {
            return;
        }
        variable.param = Some(index);
        let Some(param) = self.unit.unit.functions[self.function].params.get_mut(index as usize) else { return };
        if param.name.is_none() && !self.unit.unit.strings.get(variable.name).is_empty() {
            param.name = Some(variable.name);
        }
        if param.pointee == Default::default() {
            param.pointee = variable.pointee;
        }
    }
}

/// Void in LLVM's own sense: no value at all (tokens and metadata have no type in core IR, but are values).
fn is_void(inst: Value<'_>) -> bool {
    matches!(inst.ty().kind(), crate::llvm::TypeKind::Void)
}
