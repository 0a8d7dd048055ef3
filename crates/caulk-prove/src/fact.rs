//! The dataflow fact: what is known of the error cell at a point (section 4.2 and Figure 2 of the paper).
//!
//! S is `memory` and `may`, H is `hits`, M is `misses`. Beyond the paper a fact knows comparisons with constants
//! (`truths`), and whether a caller further up refers to the cell (`outer`).

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::InstId;

use crate::bounds::BOUNDS;
use crate::expr::{Expr, Hop, Root};
use crate::regions::Regions;
use crate::target::Region;

/// No state of the program fits the fact: the assumed leak cannot have come this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction;

pub type Feasible<T = ()> = Result<T, Contradiction>;

/// Which references to the cell a region may hold (4.8, second extension; the paper has one expression at most).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tag {
    /// These at most.
    Only(BTreeSet<Expr>),
    Many,
}

impl Tag {
    pub fn only(expr: Expr) -> Self {
        Tag::Only(BTreeSet::from([expr]))
    }

    /// The same places in other words; if there are none for one of them, nothing is known.
    pub fn rename(&self, with: impl Fn(&Expr) -> Option<Expr>) -> Tag {
        match self {
            Tag::Only(places) => places.iter().map(with).collect::<Option<_>>().map_or(Tag::Many, Tag::Only),
            Tag::Many => Tag::Many,
        }
    }

    /// Without places that are known to hold nothing. True if none are left.
    fn drop(&mut self, holds_nothing: impl Fn(&Expr) -> bool) -> bool {
        match self {
            Tag::Only(places) => {
                places.retain(|place| !holds_nothing(place));
                places.is_empty()
            }
            Tag::Many => false,
        }
    }

    fn union(&self, other: &Tag) -> Tag {
        match (self, other) {
            (Tag::Only(a), Tag::Only(b)) if a.union(b).count() <= BOUNDS.places => {
                Tag::Only(a.union(b).cloned().collect())
            }
            _ => Tag::Many,
        }
    }

    pub fn places(&self) -> impl Iterator<Item = &Expr> {
        let places = match self {
            Tag::Only(places) => Some(places),
            Tag::Many => None,
        };
        places.into_iter().flatten()
    }
}

/// References of callers that the function at hand cannot see or change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outer {
    None,
    Perhaps,
    Some,
}

/// What a comparison told of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Truth {
    Is(u64),
    Not(u64),
}

impl Truth {
    fn contradicts(self, other: Truth) -> bool {
        match (self, other) {
            (Truth::Is(a), Truth::Is(b)) => a != b,
            (Truth::Is(a), Truth::Not(b)) | (Truth::Not(b), Truth::Is(a)) => a == b,
            (Truth::Not(_), Truth::Not(_)) => false,
        }
    }

    pub fn holds_for(self, value: u64) -> bool {
        match self {
            Truth::Is(is) => is == value,
            Truth::Not(not) => not != value,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact {
    /// Regions of memory that may refer to the cell. No other memory does.
    pub memory: BTreeMap<Region, Tag>,
    /// Values that may refer to the cell. No other value that is still to be used does.
    pub may: BTreeSet<Root>,
    pub outer: Outer,
    /// Expressions that do refer to it.
    pub hits: BTreeSet<Expr>,
    /// Expressions that do not.
    pub misses: BTreeSet<Expr>,
    pub truths: BTreeMap<Expr, Truth>,
}

impl Fact {
    /// A cell that nothing refers to.
    pub fn new() -> Self {
        Self {
            memory: BTreeMap::new(),
            may: BTreeSet::new(),
            outer: Outer::None,
            hits: BTreeSet::new(),
            misses: BTreeSet::new(),
            truths: BTreeMap::new(),
        }
    }

    /// How much is known: what handling the fact costs.
    pub fn size(&self) -> usize {
        self.memory.len() + self.may.len() + self.hits.len() + self.misses.len() + self.truths.len()
    }

    /// Figure 2: what misses without being listed.
    pub fn is_implicit_miss(&self, expr: &Expr, regions: &dyn Regions) -> bool {
        match expr.root {
            // No heap cell, and nothing that can be dereferenced.
            Root::Number(_) | Root::Code | Root::Undefined => return true,
            _ => {}
        }
        match expr.hops.iter().rev().find(|hop| matches!(hop, Hop::Load(_))) {
            Some(Hop::Load(target)) => !self.memory.keys().any(|region| regions.may_alias(*region, *target)),
            _ => match expr.root {
                Root::Value(_) | Root::Leaving(_) | Root::Return | Root::Ghost(_) => !self.may.contains(&expr.root),
                _ => true,
            },
        }
    }

    pub fn is_miss(&self, expr: &Expr, regions: &dyn Regions) -> bool {
        self.misses.contains(expr) || self.is_implicit_miss(expr, regions)
    }

    /// The expression refers to the cell.
    pub fn hit(&mut self, expr: Expr, regions: &dyn Regions) -> Feasible {
        let expr = expr.stripped();
        if self.is_miss(&expr, regions) || self.truths.get(&expr) == Some(&Truth::Is(0)) {
            return Err(Contradiction);
        }
        self.hits.insert(expr);
        Ok(())
    }

    /// The expression does not refer to the cell.
    pub fn miss(&mut self, expr: Expr, regions: &dyn Regions) -> Feasible {
        let expr = expr.stripped();
        if self.hits.contains(&expr) {
            return Err(Contradiction);
        }
        if expr.is_value() {
            self.may.remove(&expr.root);
            // Kept although implied: a value that comes alive further back is still known to miss.
            self.misses.insert(expr);
        } else if !self.is_implicit_miss(&expr, regions) {
            self.misses.insert(expr);
        }
        Ok(())
    }

    /// A comparison told something of an expression.
    pub fn tell(&mut self, expr: Expr, truth: Truth) -> Feasible {
        if expr.hops.is_empty() {
            match expr.root {
                Root::Number(n) => return if truth.holds_for(n) { Ok(()) } else { Err(Contradiction) },
                Root::Static(_) | Root::Local(_) | Root::Code => {
                    return if truth == Truth::Is(0) { Err(Contradiction) } else { Ok(()) };
                }
                Root::Undefined => return Ok(()),
                Root::Value(_) | Root::Leaving(_) | Root::Return | Root::Ghost(_) => {}
            }
        }
        // Offsets keep null apart from the rest only in programs that compute no addresses from null.
        let expr = if matches!(truth, Truth::Is(0) | Truth::Not(0)) { expr.stripped() } else { expr };
        if let Some(known) = self.truths.get(&expr) {
            if known.contradicts(truth) {
                return Err(Contradiction);
            }
            if matches!(known, Truth::Is(_)) {
                return Ok(());
            }
        }
        if matches!(truth, Truth::Is(_)) {
            if self.hits.contains(&expr) {
                return Err(Contradiction);
            }
            // Known to be null.
            if expr.is_value() {
                self.may.remove(&expr.root);
            }
            self.misses.insert(expr.clone());
        }
        self.truths.insert(expr, truth);
        Ok(())
    }

    /// Nothing refers to the cell any more although it is lost later: impossible.
    pub fn check_referenced(&self) -> Feasible {
        let is_referenced = !self.memory.is_empty() || !self.may.is_empty() || self.outer != Outer::None;
        if is_referenced { Ok(()) } else { Err(Contradiction) }
    }

    /// Figure 2, Cleanup: drops what is implied, and memory known to hold nothing (4.8, second extension).
    pub fn clean_up(&mut self, regions: &dyn Regions, removal: bool) -> Feasible {
        if removal {
            let misses = &self.misses;
            let before = self.memory.len();
            self.memory.retain(|_, tag| !tag.drop(|place| misses.contains(place)));
            if self.memory.len() < before && self.hits.iter().any(|hit| self.is_implicit_miss(hit, regions)) {
                return Err(Contradiction);
            }
        }
        let implied: Vec<Expr> =
            self.misses.iter().filter(|e| !e.is_value() && self.is_implicit_miss(e, regions)).cloned().collect();
        implied.iter().for_each(|expr| {
            self.misses.remove(expr);
        });
        self.check_referenced()
    }

    /// A region may refer to the cell, through `only` besides what it may by now.
    pub fn add_region(&mut self, target: Region, only: Option<Tag>, regions: &dyn Regions) {
        let shared: Vec<Region> =
            self.memory.keys().copied().filter(|t| *t != target && regions.may_alias(*t, target)).collect();
        let tag = match only {
            Some(tag) if shared.is_empty() => self.memory.get(&target).map_or(tag.clone(), |known| known.union(&tag)),
            _ => Tag::Many,
        };
        // A tag speaks of all the memory that two regions share.
        for other in shared {
            self.memory.insert(other, Tag::Many);
        }
        self.memory.insert(target, tag);
    }

    /// Replaces expressions, all at once; those that `with` has no answer for are forgotten. `may` and `outer` are given,
    /// since names of values change meaning from one function to another.
    pub fn rewrite(
        &self,
        may: BTreeSet<Root>,
        outer: Outer,
        regions: &dyn Regions,
        with: impl Fn(&Expr) -> Option<Expr>,
    ) -> Feasible<Fact> {
        let mut new = Fact { may, outer, ..Fact::new() };
        for (target, tag) in &self.memory {
            new.memory.insert(*target, tag.rename(&with));
        }
        for expr in &self.misses {
            if let Some(expr) = with(expr) {
                new.miss(expr, regions)?;
            }
        }
        for expr in &self.hits {
            if let Some(expr) = with(expr) {
                new.hit(expr, regions)?;
            }
        }
        for (expr, truth) in &self.truths {
            if let Some(expr) = with(expr) {
                new.tell(expr, *truth)?;
            }
        }
        Ok(new)
    }

    /// The state before `value` is computed as `from`. Nothing is known of the value when `from` is None.
    pub fn define(&self, value: InstId, from: Option<&Expr>, regions: &dyn Regions) -> Feasible<Fact> {
        self.define_all(&[(value, from.cloned())], [], regions)
    }

    /// As [`Fact::define`], for values that are computed at once: the phis of a block. `revived` come alive with that;
    /// in a loop they may have the names of phis, and yet be the values of the round before.
    pub fn define_all(
        &self,
        values: &[(InstId, Option<Expr>)],
        revived: impl IntoIterator<Item = InstId>,
        regions: &dyn Regions,
    ) -> Feasible<Fact> {
        let mut may = self.may.clone();
        values.iter().for_each(|(value, _)| {
            may.remove(&Root::Value(*value));
        });
        let is_new = |v: &InstId| values.iter().any(|(value, _)| value == v);
        let known = |v: &InstId| !is_new(v) && self.misses.contains(&Expr::value(*v));
        may.extend(revived.into_iter().filter(|v| !known(v)).map(Root::Value));
        let mut new = self.rewrite(may, self.outer, regions, |expr| replace(expr, values))?;
        for (value, from) in values {
            if let Some(from) = from.as_ref().filter(|_| self.is_miss(&Expr::value(*value), regions)) {
                new.miss(from.clone(), regions)?;
            }
        }
        Ok(new)
    }

    /// Before the phis of a block, what leaves at its entry has its own name again.
    pub fn with_left_values(&self, regions: &dyn Regions) -> Feasible<Fact> {
        let name = |root: Root| match root {
            Root::Leaving(value) => Root::Value(value),
            root => root,
        };
        let may = self.may.iter().map(|root| name(*root)).collect();
        self.rewrite(may, self.outer, regions, |e| Some(Expr { root: name(e.root), hops: e.hops.clone() }))
    }

    /// What holds if either does. Misses may be explicit in one and implied in the other.
    pub fn join(&self, other: &Fact, regions: &dyn Regions) -> Fact {
        let mut joined = Fact {
            memory: self.memory.clone(),
            may: self.may.union(&other.may).copied().collect(),
            outer: if self.outer == other.outer { self.outer } else { Outer::Perhaps },
            hits: self.hits.intersection(&other.hits).cloned().collect(),
            ..Fact::new()
        };
        for (target, tag) in &other.memory {
            joined.add_region(*target, Some(tag.clone()), regions);
        }
        let misses = self.misses.union(&other.misses);
        joined.misses = misses.filter(|e| self.is_miss(e, regions) && other.is_miss(e, regions)).cloned().collect();
        for miss in joined.misses.iter().filter(|e| e.is_value()) {
            joined.may.remove(&miss.root);
        }
        for (expr, truth) in &self.truths {
            if other.truths.get(expr) == Some(truth) {
                joined.truths.insert(expr.clone(), *truth);
            }
        }
        joined
    }

    /// The regions and values that hold the hits: facts are joined only when they agree on these (4.8, third extension).
    pub fn index(&self) -> Vec<Holder> {
        let holders: BTreeSet<Holder> = self
            .hits
            .iter()
            .map(|hit| match hit.last_load() {
                Some(target) => Holder::Memory(target),
                None => Holder::Value(hit.root),
            })
            .collect();
        holders.into_iter().collect()
    }

    /// Memory that holds nothing yet.
    pub fn drop_places(&mut self, holds_nothing: impl Fn(&Expr) -> bool) {
        self.memory.retain(|_, tag| !tag.drop(&holds_nothing));
    }

    /// A value comes alive (backwards): it may refer to the cell unless it is known not to.
    pub fn revive(&mut self, root: Root) {
        if !self.misses.contains(&Expr::root(root)) {
            self.may.insert(root);
        }
    }

    /// Forgets a value that is not there yet.
    pub fn forget(&mut self, value: InstId) {
        self.may.remove(&Root::Value(value));
        self.hits.retain(|e| !e.mentions(value));
        self.misses.retain(|e| !e.mentions(value));
        self.truths.retain(|e, _| !e.mentions(value));
        for tag in self.memory.values_mut() {
            if tag.places().any(|e| e.mentions(value)) {
                *tag = Tag::Many;
            }
        }
    }
}

impl Default for Fact {
    fn default() -> Self {
        Self::new()
    }
}

/// What facts must agree on to be joined: where a hit stands, and by which way a branch was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    Memory(Region),
    Value(Root),
    Branch(Truth),
}

/// An expression with values replaced; None if it has one that cannot be.
fn replace(expr: &Expr, values: &[(InstId, Option<Expr>)]) -> Option<Expr> {
    let find = |value: InstId| values.iter().find(|(v, _)| *v == value).map(|(_, from)| from);
    let mut new = match expr.root {
        Root::Value(value) => match find(value) {
            Some(from) => from.clone()?,
            None => Expr::value(value),
        },
        root => Expr::root(root),
    };
    for hop in &expr.hops {
        let hop = match *hop {
            Hop::Index { index, stride } => match find(index) {
                None => *hop,
                Some(Some(from)) if from.hops.is_empty() => match from.root {
                    Root::Number(n) => Hop::Add((n as i64).wrapping_mul(stride as i64)),
                    Root::Value(index) => Hop::Index { index, stride },
                    _ => return None,
                },
                Some(_) => return None,
            },
            hop => hop,
        };
        new = new.then(hop);
    }
    Some(new)
}
