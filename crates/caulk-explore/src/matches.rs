//! Loops that look for the entry of a table that is equal to a key: where no two entries are equal, one iteration at most finds it.
//!
//! ```c
//! for (i = 0; i < 2; i++)
//!     if (!strcmp(key, table[i].key))
//!         found->name = strdup(table[i].name);
//! ```

use caulk_ir::{AddressStep, InstId, Operand, Unit};
use caulk_ir::{BlockId, Body, Callee, CompareOp, Constant, EntityVec, GlobalId, InitItem, Initialiser, Inst};
use caulk_rules::Rule;
use caulk_useflow::compares_texts;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::bounds::BOUNDS;
use crate::search::Search;
use crate::state::State;

/// Sides of branches that at most one iteration of a loop takes, with the header of the loop.
pub(crate) type SoleMatches = FxHashMap<(InstId, u32), BlockId>;

type Loops = EntityVec<BlockId, SmallVec<[BlockId; 2]>>;

struct Finder<'a> {
    unit: &'a Unit,
    body: &'a Body,
    homes: &'a EntityVec<InstId, BlockId>,
    loops: &'a Loops,
}

/// The column of a table that a loop goes through: the table, where its first entry is, and how far they are apart.
struct Column {
    table: GlobalId,
    offset: i64,
    stride: u64,
}

pub(crate) fn sole_matches(unit: &Unit, body: &Body, homes: &EntityVec<InstId, BlockId>, loops: &Loops) -> SoleMatches {
    let finder = Finder { unit, body, homes, loops };
    let mut found = SoleMatches::default();
    for (block, range) in body.blocks.iter().filter(|(block, _)| !loops[*block].is_empty()) {
        let Inst::Branch { cond: Operand::Value(cond), .. } = body.terminator(block) else { continue };
        let Some(branch) = range.insts().last() else { continue };
        if let Some((header, is_equal)) = finder.match_of(*cond) {
            found.insert((branch, u32::from(!is_equal)), header);
        }
    }
    found
}

impl Finder<'_> {
    /// The loop in which a condition tells whether an entry is the one, and whether it holds then.
    fn match_of(&self, condition: InstId) -> Option<(BlockId, bool)> {
        let Inst::Compare { op: op @ (CompareOp::Eq | CompareOp::Ne), lhs, rhs, .. } = &self.body.insts[condition]
        else {
            return None;
        };
        let [one, other] = self.compared_texts(*lhs, *rhs).unwrap_or([*lhs, *rhs]);
        let header = self.match_between(one, other).or_else(|| self.match_between(other, one))?;
        Some((header, *op == CompareOp::Eq))
    }

    /// `strcmp(one, other) == 0`
    fn compared_texts(&self, lhs: Operand, rhs: Operand) -> Option<[Operand; 2]> {
        if self.body.constant(rhs).and_then(Constant::as_signed) != Some(0) {
            return None;
        }
        let call = self.body.insts[lhs.value()?].call()?;
        let Callee::Direct(function) = call.callee else { return None };
        let symbol = self.unit.str(self.unit.functions[function].symbol);
        match call.args.as_slice() {
            [one, other] if compares_texts(symbol) => Some([*one, *other]),
            _ => None,
        }
    }

    fn match_between(&self, key: Operand, entry: Operand) -> Option<BlockId> {
        let Inst::Load { address, .. } = self.body.insts[entry.value()?] else { return None };
        let (column, header) = self.column(address)?;
        (self.is_steady(key, header) && self.is_distinct(&column)).then_some(header)
    }

    /// `table[i].key`, or `entry->key` where `entry` walks along a table.
    fn column(&self, address: Operand) -> Option<(Column, BlockId)> {
        let (mut at, mut offset, mut index) = (address, 0_i64, None);
        while let Operand::Value(value) = at
            && let Inst::Address { base, steps } = &self.body.insts[value]
        {
            for step in steps {
                match step {
                    AddressStep::Field { offset: field, .. } => offset += *field as i64,
                    AddressStep::Bytes { offset: bytes, .. } => offset += bytes,
                    AddressStep::Index { index: by, stride } if index.is_none() => index = Some((*by, *stride)),
                    AddressStep::Index { .. } => return None,
                }
            }
            at = *base;
        }
        let (counter, stride, (table, start)) = match index {
            Some((counter, stride)) => (self.counter(counter)?, stride, self.table(at)?),
            None => {
                let walker = at.value()?;
                let (start, stride) = self.walk(walker)?;
                (walker, stride, start)
            }
        };
        let header = self.homes[counter];
        let is_header = self.loops[header].contains(&header);
        is_header.then_some((Column { table, offset: offset + start, stride }, header))
    }

    /// The variable of a loop that an index is.
    fn counter(&self, index: Operand) -> Option<InstId> {
        let mut at = index.value()?;
        while let Inst::Cast { value, .. } = &self.body.insts[at] {
            at = value.value()?;
        }
        matches!(self.body.insts[at], Inst::Phi { .. }).then_some(at)
    }

    /// Where a pointer that a loop moves by one size starts.
    fn walk(&self, walker: InstId) -> Option<((GlobalId, i64), u64)> {
        let Inst::Phi { incoming, .. } = &self.body.insts[walker] else { return None };
        let (mut start, mut stride) = (None, None);
        for (_, operand) in incoming {
            if let Some(table) = self.table(*operand) {
                start = Some(table);
                continue;
            }
            let Inst::Address { base, steps } = &self.body.insts[operand.value()?] else { return None };
            let ([AddressStep::Bytes { offset, .. }], true) = (steps.as_slice(), *base == Operand::Value(walker))
            else {
                return None;
            };
            stride = Some(u64::try_from(*offset).ok()?);
        }
        start.zip(stride)
    }

    /// The table that an operand is the address of, if need be by a variable that is initialised to it.
    fn table(&self, operand: Operand) -> Option<(GlobalId, i64)> {
        if let Some(Constant::Global { global, offset }) = self.body.constant(operand) {
            return Some((global, offset));
        }
        let Inst::Load { address, .. } = self.body.insts[operand.value()?] else { return None };
        let (mut at, mut offset) = (address, 0_i64);
        while let Operand::Value(value) = at
            && let Inst::Address { base, steps } = &self.body.insts[value]
        {
            for step in steps {
                let (AddressStep::Field { .. } | AddressStep::Bytes { .. }) = step else { return None };
                offset += match step {
                    AddressStep::Field { offset, .. } => *offset as i64,
                    AddressStep::Bytes { offset, .. } => *offset,
                    AddressStep::Index { .. } => 0,
                };
            }
            at = *base;
        }
        let Some(Constant::Global { global, offset: start }) = self.body.constant(at) else { return None };
        match self.item(global, u64::try_from(start + offset).ok()?)?.value {
            Constant::Global { global, offset } => Some((global, offset)),
            _ => None,
        }
    }

    fn items(&self, table: GlobalId) -> &[InitItem] {
        match &self.unit.globals[table].init {
            Initialiser::Items { items, .. } => items,
            _ => &[],
        }
    }

    fn item(&self, table: GlobalId, offset: u64) -> Option<&InitItem> {
        self.items(table).iter().find(|item| item.offset == offset)
    }

    /// Whether a value is the same in all iterations of a loop, as far as its code shows.
    fn is_steady(&self, value: Operand, header: BlockId) -> bool {
        let Some(value) = value.value() else { return true };
        if !self.loops[self.homes[value]].contains(&header) {
            return true;
        }
        match &self.body.insts[value] {
            Inst::Load { address, .. } => self.is_steady(*address, header),
            Inst::Cast { value, .. } => self.is_steady(*value, header),
            Inst::Address { base, steps } => {
                !steps.iter().any(|step| matches!(step, AddressStep::Index { .. })) && self.is_steady(*base, header)
            }
            _ => false,
        }
    }

    /// Whether no two entries of a column are equal.
    fn is_distinct(&self, column: &Column) -> bool {
        let (Ok(first), true) = (u64::try_from(column.offset), column.stride > 0) else { return false };
        let is_entry = |item: &&InitItem| item.offset >= first && (item.offset - first) % column.stride == 0;
        let entries: Vec<&InitItem> = self.items(column.table).iter().filter(is_entry).collect();
        let mut seen = FxHashSet::default();
        let is_new = |item: &&InitItem| match item.value {
            Constant::Global { global, offset: 0 } => match self.unit.globals[global].init {
                Initialiser::Text(text) => seen.insert(self.unit.str(text).to_lowercase()),
                _ => false,
            },
            Constant::Int { value, .. } => seen.insert(value.to_string()),
            _ => false,
        };
        (1..=BOUNDS.table_entries).contains(&entries.len()) && entries.iter().all(is_new)
    }
}

impl Search<'_, '_> {
    /// Whether the path has taken this side of a branch in an earlier iteration, and cannot take it again.
    pub(crate) fn finds_second_match(&self, state: &mut State, branch: InstId, side: u32) -> bool {
        let Some(header) = self.machine.frame.sole_matches.get(&(branch, side)) else { return false };
        let is_second = !state.note_match(*header, branch);
        self.machine.world.config.rules.applies(Rule::SoleMatches, is_second)
    }
}

impl State {
    /// Notes that an iteration found the entry. False: an earlier one has found it.
    fn note_match(&mut self, header: BlockId, branch: InstId) -> bool {
        let Some(iteration) = self.iterations.iter_mut().find(|iteration| iteration.header == header) else {
            return true;
        };
        let is_first = !iteration.matched.contains(&branch);
        if is_first {
            iteration.matched.push(branch);
        }
        is_first
    }

    /// Forgets what only one of two paths has found.
    pub(crate) fn keep_common_matches(&mut self, other: &State) {
        for iteration in self.iterations.iter_mut().filter(|iteration| !iteration.matched.is_empty()) {
            let known = other.iterations.iter().find(|r| r.header == iteration.header);
            iteration.matched.retain(|branch| known.is_some_and(|known| known.matched.contains(branch)));
        }
    }
}
