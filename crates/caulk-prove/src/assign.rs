//! The transfer function of an assignment `*address = value`: the rules of Figure 3 of the paper.

use crate::config::Extensions;
use crate::expr::{Expr, Hop, Root};
use crate::fact::{Fact, Feasible, Tag};
use crate::regions::Regions;
use crate::shape::Shape;
use crate::target::{PointsTo, Region};
use caulk_ir::InstId;

/// Bytes of the largest pointer: writes at least so far apart do not meet.
const POINTER_BYTES: u64 = 8;

/// What the rules need besides the fact.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub regions: &'a dyn Regions,
    pub extensions: Extensions,
    /// What the error cell is, as far as its first reference tells.
    pub cell: PointsTo,
    /// The function whose values expressions speak of.
    pub shape: Option<&'a Shape>,
    /// The instruction at hand.
    pub at: Option<InstId>,
}

/// A place in memory that is written.
#[derive(Clone, Debug)]
pub struct Location {
    pub address: Expr,
    pub target: Region,
}

impl Location {
    pub fn content(&self) -> Expr {
        self.address.clone().load(self.target)
    }
}

impl Rules<'_> {
    /// The states before the assignment, one for each case that has to be distinguished: whether the value written refers
    /// to the cell decides what else does.
    pub fn assign_by_case(&self, fact: &Fact, to: &Location, value: &Expr) -> Vec<Fact> {
        let value = value.clone().stripped();
        let write = Write { rules: self, to, stable: false };
        let content = to.content();
        let is_known = fact.hits.contains(&value) || fact.is_miss(&value, self.regions);
        let is_open = |expr: &Expr| {
            let is_last = write.touched_load(expr).is_some_and(|at| at + 1 == expr.hops.len());
            is_last && expr.after(&content).is_none()
        };
        let other_tag = matches!(fact.memory.get(&to.target), Some(Tag::Only(places)) if !places.contains(&content));
        if is_known || write.touches(&value) || !(other_tag || fact.hits.iter().any(is_open)) {
            return self.assign(fact, to, Some(&value)).into_iter().collect();
        }
        let stable = !write.touches(&to.address);
        let case = |refers: bool| -> Feasible<Fact> {
            let mut fact = fact.clone();
            for expr in std::iter::once(value.clone()).chain(stable.then(|| content.clone())) {
                if refers { fact.hit(expr, self.regions)? } else { fact.miss(expr, self.regions)? }
            }
            self.assign(&fact, to, Some(&value))
        };
        case(true).into_iter().chain(case(false)).collect()
    }

    /// The state before the assignment. `value` is None when nothing is known of what is written.
    pub fn assign(&self, fact: &Fact, to: &Location, value: Option<&Expr>) -> Feasible<Fact> {
        let value = value.cloned().map(Expr::stripped);
        let write = Write { rules: self, to, stable: false };
        let write = Write { stable: !write.touches(&to.address), ..write };
        let mut new = Fact { may: fact.may.clone(), outer: fact.outer, ..Fact::new() };
        let is_hit = |v: &Expr| fact.hits.contains(v) && !write.touches(v);
        let refers = fact.hits.contains(&to.content()) || (write.stable && value.as_ref().is_some_and(is_hit));
        self.write_memory(fact, &write, refers, &mut new);
        let content = to.content();
        if let Some(value) = value.as_ref().filter(|_| write.stable && self.is_miss(fact, &content)) {
            new.miss(value.clone(), self.regions)?; // SUBST2
        }
        for hit in &fact.hits {
            let other_is_known = value.as_ref().is_some_and(|v| !write.touches(v) && fact.is_miss(v, self.regions));
            if let Some(hit) = write.before(hit, value.as_ref(), other_is_known) {
                new.hit(hit, self.regions)?;
            }
        }
        for miss in &fact.misses {
            let other_is_known = value.as_ref().is_some_and(|v| !write.touches(v) && fact.hits.contains(v));
            if let Some(miss) = write.before(miss, value.as_ref(), other_is_known) {
                new.miss(miss, self.regions)?;
            }
        }
        for (expr, truth) in &fact.truths {
            if let Some(expr) = write.before(expr, value.as_ref(), false) {
                new.tell(expr, *truth)?;
            }
        }
        new.clean_up(self.regions, self.extensions.region_removal)?;
        Ok(new)
    }

    /// The value after says nothing of the value before, so the region may have held a reference. `refers`: the value
    /// after does.
    fn write_memory(&self, fact: &Fact, write: &Write<'_>, refers: bool, new: &mut Fact) {
        let content = write.to.content();
        for (target, tag) in &fact.memory {
            // A place is the same as before if its address is.
            let is_same = |place: &Expr| *place == content || place.address().is_some_and(|a| !write.touches(&a));
            new.memory.insert(*target, tag.rename(|place| Some(place.clone()).filter(is_same)));
        }
        let target = write.to.target;
        let is_alone = |t: &&Region| **t != target && self.regions.may_alias(**t, target);
        let is_the_one = matches!(fact.memory.get(&target), Some(Tag::Only(places)) if places.len() == 1)
            && refers
            && !fact.memory.keys().any(|t| is_alone(&t));
        if is_the_one && write.stable {
            // The one reference of the region is the one just written.
            new.memory.remove(&target);
        }
        self.grow(new, target, Some(content).filter(|_| write.stable));
    }

    /// A region may refer to the cell, unless types forbid it (4.8, first extension).
    pub fn grow(&self, fact: &mut Fact, target: Region, only: Option<Expr>) {
        if self.may_hold(self.regions.content(target)) {
            let only = only.filter(|_| self.extensions.region_removal).map(Tag::only);
            fact.add_region(target, only, self.regions);
        }
    }

    /// Whether an expression misses because all the places of its region that may refer to the cell are others.
    pub fn is_elsewhere(&self, fact: &Fact, expr: &Expr) -> bool {
        let (Some(target), Some(address)) = (expr.last_load(), expr.address()) else { return false };
        let mut shared = fact.memory.iter().filter(|(t, _)| self.regions.may_alias(**t, target));
        shared.all(|(_, tag)| match tag {
            Tag::Only(places) => places
                .iter()
                .all(|place| place.address().is_some_and(|a| self.are_distinct(address.root, &address.hops, &a))),
            Tag::Many => false,
        })
    }

    pub fn is_miss(&self, fact: &Fact, expr: &Expr) -> bool {
        fact.is_miss(expr, self.regions) || self.is_elsewhere(fact, expr)
    }

    /// Whether two addresses certainly differ.
    fn are_distinct(&self, root: Root, hops: &[Hop], other: &Expr) -> bool {
        let no_loads = |hops: &[Hop]| !hops.iter().any(|hop| matches!(hop, Hop::Load(_)));
        let Some(shape) = self.shape else { return are_apart(root, hops, other) };
        if let (Root::Value(a), Root::Value(b)) = (root, other.root) {
            if no_loads(hops) && no_loads(&other.hops) && shape.are_distinct(a, b) {
                return true;
            }
        }
        let is_not_local = |local: Root, root: Root, hops: &[Hop]| match (local, root) {
            (Root::Local(local), _) if !no_loads(hops) => !shape.is_given_away(local),
            (Root::Local(local), Root::Value(value)) => shape.is_not_local(value, local),
            _ => false,
        };
        if (no_loads(hops) && is_not_local(root, other.root, &other.hops))
            || (no_loads(&other.hops) && is_not_local(other.root, root, hops))
        {
            return true;
        }
        // Nothing else leads to a block that has one name only.
        let is_alone = |root: Root, hops: &[Hop]| match (root, self.at) {
            (Root::Value(value), Some(at)) => no_loads(hops) && shape.is_unshared(value, at),
            _ => false,
        };
        if root != other.root && (is_alone(root, hops) || is_alone(other.root, &other.hops)) {
            return true;
        }
        are_apart(root, hops, other)
    }

    /// Whether a pointer of a class may refer to the cell.
    pub fn may_hold(&self, class: PointsTo) -> bool {
        !self.extensions.typed_growth || self.regions.may_meet(class, self.cell)
    }
}

struct Write<'a> {
    rules: &'a Rules<'a>,
    to: &'a Location,
    /// The address means the same before and after.
    stable: bool,
}

impl Write<'_> {
    /// Whether the write may change the value of an expression.
    fn touches(&self, expr: &Expr) -> bool {
        self.touched_load(expr).is_some()
    }

    /// The first load of an expression that may read what is written.
    fn touched_load(&self, expr: &Expr) -> Option<usize> {
        expr.hops.iter().enumerate().find_map(|(at, hop)| match hop {
            Hop::Load(target) => {
                let reads = self.rules.regions.may_alias(*target, self.to.target)
                    && !self.rules.are_distinct(expr.root, &expr.hops[..at], &self.to.address);
                reads.then_some(at)
            }
            _ => None,
        })
    }

    /// An expression with, before the write, the value that `expr` has after it. `differs`: what is known of `expr`
    /// and of the value written tells that they are not the same (FILTER2, FILTER3).
    fn before(&self, expr: &Expr, value: Option<&Expr>, differs: bool) -> Option<Expr> {
        let Some(touched) = self.touched_load(expr) else {
            return Some(expr.clone()); // FILTER1
        };
        let aliases = |hop: &Hop| matches!(hop, Hop::Load(t) if self.rules.regions.may_alias(*t, self.to.target));
        if let Some(rest) = expr.after(&self.to.content()).filter(|_| self.stable) {
            let is_clear = !rest.iter().any(aliases);
            return value.filter(|_| is_clear).map(|value| value.extended(rest)); // SUBST1
        }
        let is_last = touched + 1 == expr.hops.len();
        let is_kept = is_last && (differs || value == Some(expr)); // FILTER2, FILTER3, FILTER4
        is_kept.then(|| expr.clone())
    }
}

/// Whether two addresses certainly differ by a pointer's size or more: variables of their own, or one base with
/// different offsets.
fn are_apart(root: Root, hops: &[Hop], other: &Expr) -> bool {
    let is_object = |root: Root| matches!(root, Root::Static(_) | Root::Local(_));
    let no_loads = |hops: &[Hop]| !hops.iter().any(|hop| matches!(hop, Hop::Load(_)));
    if root != other.root {
        return is_object(root) && is_object(other.root) && no_loads(hops) && no_loads(&other.hops);
    }
    let (base, offset) = split_offset(hops);
    let (other_base, other_offset) = split_offset(&other.hops);
    base == other_base && offset.abs_diff(other_offset) >= POINTER_BYTES
}

fn split_offset(hops: &[Hop]) -> (&[Hop], i64) {
    match hops.split_last() {
        Some((Hop::Add(offset), base)) => (base, *offset),
        _ => (hops, 0),
    }
}
