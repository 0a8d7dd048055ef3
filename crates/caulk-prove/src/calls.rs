//! Into a function and out of it again: Map and Unmap (section 4.4 of the paper).
//!
//! Values of SSA form never change, so a caller's values need no shadow variables: on the way in they are dropped or
//! become the parameters they are passed as, and on the way out parameters become what was passed.

use std::collections::{BTreeMap, BTreeSet};

use caulk_ir::{Entity, InstId, Operand};
use caulk_program::FuncId;

use crate::effects::Effects;
use crate::expr::{Expr, Hop, Root};
use crate::fact::{Fact, Feasible, Outer, Tag};
use crate::shape::Shape;
use crate::target::{PointsTo, Region};
use crate::transfer::Walk;

/// What is passed, by the parameter it becomes, in the order of the parameters.
#[derive(Default)]
struct Passed {
    all: Vec<(InstId, Expr)>,
    /// Where in `all` what starts at each root stands.
    by_root: BTreeMap<Root, Vec<usize>>,
}

impl Walk<'_> {
    /// What is known at the end of a callee, of what is known after the call.
    pub(crate) fn map(&self, inst: InstId, after: &Fact, callee: &Shape) -> Feasible<Fact> {
        let regions = self.rules.regions;
        let passed = self.passed(inst, callee);
        self.spend(after.size() + passed.all.len());
        let mut may = BTreeSet::new();
        if after.may.contains(&Root::Value(inst)) {
            may.insert(Root::Return);
        }
        let pointers = || passed.all.iter().filter(|(param, _)| callee.is_holder(*param));
        for (param, expr) in pointers() {
            if !after.is_miss(&expr.clone().stripped(), regions) {
                may.insert(Root::Value(*param));
            }
        }
        let outer = self.outer(inst, after, callee.id);
        let ghosts = self.ghosts(inst, after, &passed);
        let living = ghosts.iter().enumerate().filter(|(_, root)| after.may.contains(root));
        may.extend(living.map(|(at, _)| Root::Ghost(at as u32)));
        let in_callee = |expr: &Expr| self.rename_into(expr, inst, &passed).or_else(|| as_ghost(expr, &ghosts));
        let mut exit = after.rewrite(may, outer, regions, in_callee)?;
        exit.memory.retain(|target, _| !matches!(target, Region::Local { .. }));
        for (param, expr) in pointers() {
            let expr = expr.clone().stripped();
            if after.is_miss(&expr, regions) {
                exit.miss(Expr::value(*param), regions)?;
            } else if after.hits.contains(&expr) {
                exit.hit(Expr::value(*param), regions)?;
            }
        }
        Ok(exit)
    }

    /// Distinguishes whether what is passed refers to the cell, where that is not known: what the callee does with it
    /// differs.
    pub(crate) fn cases(&self, inst: InstId, after: &Fact, callee: &Shape) -> Vec<Fact> {
        let regions = self.rules.regions;
        let passed = self.passed(inst, callee).all.into_iter();
        let pointers = passed.filter(|(param, _)| callee.is_holder(*param)).map(|(_, expr)| expr.stripped());
        let open =
            pointers.filter(|expr| expr.is_value() && !after.hits.contains(expr) && !after.is_miss(expr, regions));
        let open: BTreeSet<Expr> = open.take(self.world.config.max_split_arguments).collect();
        open.into_iter().fold(vec![after.clone()], |facts, expr| {
            let mut cases = Vec::new();
            for fact in facts {
                let (mut hit, mut miss) = (fact.clone(), fact);
                cases.extend(hit.hit(expr.clone(), regions).ok().map(|()| hit));
                cases.extend(miss.miss(expr.clone(), regions).ok().map(|()| miss));
            }
            cases
        })
    }

    /// References that the callee cannot see: the caller's own values and variables.
    fn outer(&self, inst: InstId, after: &Fact, callee: FuncId) -> Outer {
        let effects = self.world.effects(callee);
        let is_sure = |hit: &Expr| hit.root != Root::Value(inst) && self.survives(hit, inst, &effects);
        if after.outer == Outer::Some || after.hits.iter().any(is_sure) {
            return Outer::Some;
        }
        let own_values = after.may.iter().any(|root| *root != Root::Value(inst));
        let own_memory = after.memory.keys().any(|t| matches!(t, Region::Local { .. }));
        if own_values || own_memory || after.outer == Outer::Perhaps { Outer::Perhaps } else { Outer::None }
    }

    /// Values of the caller (or of its callers) that the callee cannot name, and that memory is reached through which
    /// refers to the cell. The callee's facts speak of them as ghosts.
    fn ghosts(&self, inst: InstId, after: &Fact, passed: &Passed) -> Vec<Root> {
        let tags = after.memory.values().flat_map(Tag::places);
        let unnamed = after.hits.iter().chain(tags).filter(|expr| {
            let is_own = matches!(expr.root, Root::Value(_) | Root::Ghost(_)) && expr.root != Root::Value(inst);
            is_own && expr.last_load().is_some() && self.rename_into(expr, inst, passed).is_none()
        });
        let roots: BTreeSet<Root> = unnamed.map(|expr| expr.root).collect();
        roots.into_iter().take(self.world.config.max_ghosts).collect()
    }

    /// Whether an expression has the same value before and after the call.
    fn survives(&self, expr: &Expr, inst: InstId, effects: &Effects) -> bool {
        let regions = self.rules.regions;
        self.spend(expr.loads().count() * effects.written.len());
        let is_written = |target: Region| {
            effects.written.iter().any(|w| regions.may_alias(*w, target))
                || (effects.is_unknown && regions.may_alias(Region::Wild(PointsTo::Any), target))
        };
        !expr.mentions(inst) && !expr.loads().any(is_written)
    }

    /// What is passed, by the parameter it becomes.
    fn passed(&self, inst: InstId, callee: &Shape) -> Passed {
        let mut passed = Passed::default();
        let Some(call) = self.shape.call(inst) else { return passed };
        passed.all = callee.params().zip(&call.args).map(|(param, arg)| (param, self.expr(*arg))).collect();
        for (at, (_, expr)) in passed.all.iter().enumerate() {
            passed.by_root.entry(expr.root).or_default().push(at);
        }
        passed
    }

    /// An expression of the caller in the callee's words.
    fn rename_into(&self, expr: &Expr, inst: InstId, passed: &Passed) -> Option<Expr> {
        if has_own_names(&expr.hops) {
            return None;
        }
        match expr.root {
            Root::Value(value) if value == inst => Some(Expr { root: Root::Return, hops: expr.hops.clone() }),
            Root::Static(_) => Some(expr.clone()),
            Root::Value(_) | Root::Local(_) => {
                let same = passed.by_root.get(&expr.root)?;
                self.spend(same.len());
                let args = same.iter().map(|at| &passed.all[*at]);
                let matches = args.filter_map(|(param, arg)| Some((*param, expr.after(arg)?)));
                let (param, rest) = matches.min_by_key(|(_, rest)| rest.len())?;
                Some(Expr::value(param).extended(rest))
            }
            _ => None,
        }
    }

    /// What is known before the call, of what is known at the beginning of a callee and, where the callee cannot have
    /// changed it, of what is known after the call. `after` is None when the cell is lost in the callee itself.
    pub(crate) fn unmap(&self, inst: InstId, entry: &Fact, after: Option<&Fact>, callee: &Shape) -> Feasible<Fact> {
        let regions = self.rules.regions;
        let args = self.shape.call(inst).map_or(&[][..], |call| call.args.as_slice());
        let effects = self.world.effects(callee.id);
        let known = entry.size() + after.map_or(0, Fact::size);
        self.spend(known + effects.written.len() + 2 * args.len());
        let mut may = after.map(|a| a.may.clone()).unwrap_or_default();
        may.remove(&Root::Value(inst));
        let ghosts = after.map(|after| self.ghosts(inst, after, &self.passed(inst, callee))).unwrap_or_default();
        let in_caller = |expr: &Expr| self.rename_out_of(expr, args, &ghosts);
        // Values of the caller that nothing is said of keep what they hold.
        let outer = after.map_or(Outer::None, |a| a.outer);
        let mut before = Fact { may, outer, ..Fact::new() };
        for (target, tag) in &entry.memory {
            before.memory.insert(*target, tag.rename(in_caller));
        }
        if let Some(after) = after {
            self.restore_memory(inst, after, &effects, &mut before);
        }
        let survives = |expr: &&Expr| self.survives(expr, inst, &effects);
        let kept = |set: &BTreeSet<Expr>| set.iter().filter(survives).cloned().collect::<Vec<Expr>>();
        let restored = after.map(|a| (kept(&a.hits), kept(&a.misses))).unwrap_or_default();
        for expr in entry.misses.iter().filter_map(in_caller).chain(restored.1) {
            before.miss(expr, regions)?;
        }
        for expr in entry.hits.iter().filter_map(in_caller).chain(restored.0) {
            before.hit(expr, regions)?;
        }
        for (expr, truth) in &entry.truths {
            if let Some(expr) = in_caller(expr) {
                before.tell(expr, *truth)?;
            }
        }
        for (expr, truth) in after.iter().flat_map(|a| &a.truths).filter(|(e, _)| survives(e)) {
            before.tell(expr.clone(), *truth)?;
        }
        for index in self.world.freed_params(callee.id).iter() {
            if let Some(arg) = args.get(*index) {
                self.unfree(&mut before, *arg);
            }
        }
        before.clean_up(regions, self.rules.extensions.region_removal)?;
        Ok(before)
    }

    /// The caller's own memory, and tags of memory that the callee leaves alone.
    fn restore_memory(&self, inst: InstId, after: &Fact, effects: &Effects, before: &mut Fact) {
        let regions = self.rules.regions;
        for (target, tag) in &after.memory {
            let is_own = matches!(target, Region::Local { .. });
            let region = Expr::root(Root::Undefined).load(*target);
            let tag_survives = *tag != Tag::Many && tag.places().all(|place| self.survives(place, inst, effects));
            if is_own {
                before.memory.insert(*target, if tag_survives { tag.clone() } else { Tag::Many });
            } else if tag_survives && self.survives(&region, inst, effects) {
                let is_shared = before.memory.keys().any(|t| t != target && regions.may_alias(*t, *target));
                if before.memory.contains_key(target) && !is_shared {
                    before.memory.insert(*target, tag.clone());
                }
            }
        }
    }

    fn rename_out_of(&self, expr: &Expr, args: &[Operand], ghosts: &[Root]) -> Option<Expr> {
        if has_own_names(&expr.hops) {
            return None;
        }
        match expr.root {
            Root::Value(param) => {
                let arg = args.get(param.index())?;
                Some(self.expr(*arg).extended(&expr.hops))
            }
            Root::Static(_) | Root::Number(_) | Root::Code | Root::Undefined => Some(expr.clone()),
            Root::Ghost(at) => Some(Expr { root: *ghosts.get(at as usize)?, hops: expr.hops.clone() }),
            Root::Local(_) | Root::Leaving(_) | Root::Return => None,
        }
    }
}

fn as_ghost(expr: &Expr, ghosts: &[Root]) -> Option<Expr> {
    let at = ghosts.iter().position(|root| *root == expr.root)?;
    let is_own = has_own_names(&expr.hops);
    (!is_own).then(|| Expr { root: Root::Ghost(at as u32), hops: expr.hops.clone() })
}

/// Whether a path goes through values or locals of one function.
fn has_own_names(hops: &[Hop]) -> bool {
    hops.iter().any(|hop| matches!(hop, Hop::Index { .. } | Hop::Load(Region::Local { .. })))
}
