//! What a caller must know of a function.

use std::collections::BTreeSet;

use caulk_ir::EntityVec;
use caulk_memory::{AccessPath, Offset, PathRoot, Relation};
use serde::{Deserialize, Serialize};

use crate::action::{Action, Alloc, AllocId, Depth, Destination, ParamCall, Subject, Throws};
use crate::case::{Case, Known};
use crate::guard::Guard;
use crate::numbers::{Asked, Assigned};

/// What a caller must know of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub blocks: EntityVec<AllocId, Alloc>,
    /// Sorted, without repeats.
    pub actions: Vec<Action>,
    /// Calls through parameters. Sorted.
    pub calls: Vec<ParamCall>,
    /// Never comes back.
    pub no_return: bool,
    /// What kind of exception may leave it.
    pub throws: Throws,
    /// What must hold on entry for an exception to leave it, all of it: `if (closed) throw Closed();`.
    pub throw_needs: Vec<Known>,
    /// Arguments that it may have freed or handed on when an exception leaves it. Sorted.
    pub taken_by_throws: Vec<u32>,
    /// Arguments that it only looks at, by their declaration, though something below may seem to keep them. Sorted.
    pub views: Vec<u32>,
    /// The number that its result tells of.
    pub asks: Option<Asked>,
    /// Numbers that it leaves in the memory of its caller. Sorted.
    pub assigns: Vec<Assigned>,
    /// Never returns null.
    pub nonnull_result: bool,
    /// Gives back a block, and null where it refuses to make one: null does not say that memory is out.
    pub null_otherwise: bool,
    /// Out-pointers through which the function only writes: it never asks what was there.
    pub written_blindly: Vec<u32>,
    /// Says all there is to know, whatever the body is like: a model, where there is a body as well.
    pub is_model: bool,
    /// The result points into what this argument points to, at this offset: `T *&ref() { return field; }`.
    pub result_inside: Option<(u32, Offset)>,
    /// What the result is while the first argument, a container, holds something: `empty()` is 0 then.
    pub holding: Option<Relation>,
    /// What the returned number always is, where a model says so.
    pub ensures: Vec<Relation>,
    /// What arguments must be for it to return at all: `void *check(void *p) { if (!p) abort(); return p; }`.
    pub demands: Vec<(u32, Relation)>,
    /// Arguments that it looks behind whatever happens, so that they are not null: `strlen(s)`.
    pub looks_behind: Vec<u32>,
    /// Arguments behind which a library function writes numbers or characters, as its model says. Sorted.
    pub fills: Vec<u32>,
    /// Of a library function: parameters where what their contents lead to is filled (`readv()`).
    pub fills_inside: Vec<u32>,
    /// The same for all further arguments of a variadic one: `scanf()`.
    pub fills_further: bool,
    /// Places that it sets to a pointer into what it was given, nothing tells where: the second argument of `strtol()`.
    pub somewhere_inside: Vec<AccessPath>,
    /// Its result is zero only where its first argument is null: the length of a list.
    pub counts: bool,
    /// Places of the caller of which the old content is gone, wherever it was not freed or kept: written over on every way (not counting what
    /// `actions` store there).
    pub overwritten: Vec<AccessPath>,
    /// Some return guard is sure only when the result says that nothing was done; otherwise it is most likely so.
    pub loosely_told: bool,
    /// Has effects beyond its actions: writes memory, prints, depends on more than its arguments.
    pub impure: bool,
    /// Bounds were reached while it was computed.
    pub cut: bool,
}

impl Summary {
    /// Nothing that matters to who owns what.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.overwritten.is_empty() && !self.no_return && self.demands.is_empty()
    }

    /// What the returned value is whenever the function returns.
    pub fn ensured(&self) -> impl Iterator<Item = Relation> + '_ {
        self.nonnull_result.then_some(Relation::NONZERO).into_iter().chain(self.ensures.iter().copied())
    }

    /// Where a caller may have something already that is used instead of a block: the places that it goes to, and what else goes there.
    pub fn instead_of(&self, block: AllocId) -> Vec<&AccessPath> {
        let place = |action: &'_ Action| match &action.to {
            Destination::Store(to) if action.subject == Subject::Alloc(block) => Some(to.clone()),
            _ => None,
        };
        let places: Vec<AccessPath> = self.actions.iter().filter_map(place).collect();
        let stores = self.actions.iter().filter_map(|action| match (&action.subject, &action.to) {
            (_, Destination::Store(to)) if !places.contains(to) => None,
            (Subject::Value(path), Destination::Store(_)) => Some(path),
            (Subject::Alloc(_), Destination::Store(to)) => Some(to),
            _ => None,
        });
        stores.collect()
    }

    /// Drops actions that say no more than others, or nothing that a caller can use.
    pub fn drop_implied(&mut self) {
        let kept: Vec<(AccessPath, Guard)> = self
            .actions
            .iter()
            .filter(|a| matches!(a.to, Destination::Keep | Destination::Unknown))
            .filter_map(|a| match &a.subject {
                Subject::Value(path) => Some((path.clone(), a.guard.clone())),
                Subject::Alloc(_) => None,
            })
            .collect();
        let destroyed: Vec<AccessPath> = self
            .actions
            .iter()
            .filter(|a| matches!(&a.to, Destination::Free { deep } if *deep != Depth::Shallow))
            .filter_map(|a| match &a.subject {
                Subject::Value(path) => Some(path.clone()),
                Subject::Alloc(_) => None,
            })
            .collect();
        // When a structure is kept, so is all it leads to.
        let is_implied = |path: &AccessPath, guard: &Guard| {
            kept.iter().any(|(known, under)| {
                known.root == path.root
                    && known.steps.len() < path.steps.len()
                    && path.steps.starts_with(&known.steps)
                    && (under == guard || *under == Guard::Always)
            })
        };
        self.actions.retain(|a| match (&a.subject, &a.to) {
            (Subject::Value(path), Destination::Keep | Destination::Unknown) => !is_implied(path, &a.guard),
            // The owner of what a destructor is given takes all of it to be freed with it.
            (Subject::Value(path), Destination::Free { .. }) if a.guard.is_hidden() => {
                let is_part = |whole: &AccessPath| {
                    whole.root == path.root
                        && whole.steps.len() < path.steps.len()
                        && path.steps.starts_with(&whole.steps)
                };
                !destroyed.iter().any(is_part)
            }
            _ => true,
        });
        self.actions.retain(|a| a.matters());
        self.drop_unused_blocks();
    }

    /// Blocks of which it is only known that they may be put into one place become one: whichever it is, the place owns it.
    pub fn merge_opaque_blocks(&mut self, max_cases: usize) {
        let mut first: Vec<(AccessPath, AllocId)> = Vec::new();
        let mut merged: Vec<(AllocId, AllocId)> = Vec::new();
        for action in &self.actions {
            let (Subject::Alloc(block), Destination::Store(to)) = (&action.subject, &action.to) else { continue };
            let is_only = self.actions.iter().filter(|a| a.subject == action.subject).count() == 1;
            if !action.guard.is_hidden() || !is_only || matches!(to.root, PathRoot::Return) {
                continue;
            }
            match first.iter().find(|(place, _)| place.same_place(to)) {
                Some((_, known)) => merged.push((*block, *known)),
                None => first.push((to.clone(), *block)),
            }
        }
        for (block, into) in merged {
            let cases = std::mem::take(&mut self.blocks[block].cases);
            let known = &mut self.blocks[into].cases;
            known.extend(cases);
            *known = Case::merge(std::mem::take(known), max_cases);
            self.actions.retain(|action| action.subject != Subject::Alloc(block));
        }
    }

    /// Elements that may be put behind a field count only where the function fills or renews the field as well. Else the field leads to
    /// something older that has its own owner: `event->base->queue[*]`.
    pub fn drop_borrowed_elements(&mut self) {
        let is_prefix = |place: &AccessPath, to: &AccessPath| {
            place.steps.len() == 1 && place.root == to.root && place.steps[0].offset == to.steps[0].offset
        };
        let fills = |action: &Action, to: &AccessPath| match (&action.subject, &action.to) {
            (Subject::Alloc(_), Destination::Store(place)) => is_prefix(place, to),
            (Subject::Value(place), Destination::Renew) => is_prefix(place, to),
            _ => false,
        };
        let is_borrowed = |action: &Action| match (&action.subject, &action.to) {
            (Subject::Alloc(_), Destination::Store(to)) if matches!(to.root, PathRoot::Param(_)) => {
                action.guard.is_hidden() && to.steps.len() > 1 && !self.actions.iter().any(|a| fills(a, to))
            }
            _ => false,
        };
        let borrowed: Vec<Action> = self.actions.iter().filter(|a| is_borrowed(a)).cloned().collect();
        // A second pointer to what that owner may hold is no more than a pointer.
        let may_be_its =
            |action: &Action| action.guard.is_hidden() && borrowed.iter().any(|other| other.subject == action.subject);
        self.actions.retain(|action| !may_be_its(action));
    }

    /// A block that renews one in the caller's memory, too far away to be told of, is that memory's: `*out = connection->buffer->text`. An
    /// out-pointer that may lead there is no more than a pointer.
    pub fn drop_second_pointers(&mut self) {
        let place = |action: &Action| match (&action.subject, &action.to) {
            (Subject::Alloc(block), Destination::Store(to))
                if matches!(to.root, PathRoot::Param(_)) && action.guard.is_hidden() =>
            {
                Some((*block, to.clone()))
            }
            _ => None,
        };
        let is_renewed = |to: &AccessPath| {
            let renews = |a: &Action| {
                a.to == Destination::Renew && matches!(&a.subject, Subject::Value(at) if at.same_place(to))
            };
            self.actions.iter().any(renews)
        };
        let far = self.actions.iter().filter(|action| !action.matters()).filter_map(place);
        let far: Vec<(AllocId, AccessPath)> = far.filter(|(_, to)| is_renewed(to)).collect();
        let is_out_pointer = |to: &AccessPath| matches!(to.steps.as_slice(), [only] if only.field.is_none() && only.offset == Offset::ZERO);
        let is_second = |action: &Action| {
            place(action).is_some_and(|(block, to)| {
                is_out_pointer(&to) && far.iter().any(|(other, at)| *other == block && at.root != to.root)
            })
        };
        self.actions.retain(|action| !is_second(action));
    }

    /// Blocks that no action speaks of any more go, and the others get new numbers.
    pub fn drop_unused_blocks(&mut self) {
        let mut renumber: EntityVec<AllocId, Option<AllocId>> = vec![None; self.blocks.len()].into();
        let mut blocks = EntityVec::new();
        for action in &mut self.actions {
            if let Subject::Alloc(id) = &mut action.subject {
                *id = *renumber[*id].get_or_insert_with(|| blocks.push(self.blocks[*id].clone()));
            }
        }
        self.blocks = blocks;
        self.actions.sort();
    }

    /// Keeps the `max` actions that matter most to callers: what is freed or kept near the root, then what is allocated. True when
    /// some had to go. A fresh block that goes is lost from sight. An argument of which something is not said any more counts as
    /// given to unknown code, which is one action: a caller that takes it for untouched would report a leak.
    ///
    /// Fields that are freed whatever happens cost little and are not counted up to four times as many: destructors of large
    /// structures say nothing else.
    pub fn cap(&mut self, max: usize) -> bool {
        let is_field_freed = |a: &&Action| {
            let is_field = matches!(&a.subject, Subject::Value(path) if path.steps.len() == 1);
            is_field && matches!(a.to, Destination::Free { .. }) && a.guard == Guard::Always
        };
        let freed = self.actions.iter().filter(is_field_freed).count().min(4 * max);
        let max = max + freed;
        if self.actions.len() <= max {
            return false;
        }
        let depth = |a: &Action| {
            let subject = match &a.subject {
                Subject::Value(path) => path.steps.len(),
                Subject::Alloc(_) => 0,
            };
            let to = match &a.to {
                Destination::Store(path) => path.steps.len(),
                _ => 0,
            };
            (subject + to, matches!(a.to, Destination::Store(_)))
        };
        self.actions.sort_by_key(depth);
        let dropped = self.actions.split_off(max);
        let root = |action: &Action| match &action.subject {
            Subject::Value(path) => Some(path.root),
            Subject::Alloc(_) => None,
        };
        let unsaid: BTreeSet<PathRoot> = dropped.iter().filter_map(root).collect();
        // A block that is held in two places is not lost when one of them is forgotten, so neither is told.
        let unseen: BTreeSet<Subject> =
            dropped.into_iter().map(|a| a.subject).filter(|s| matches!(s, Subject::Alloc(_))).collect();
        self.actions.retain(|a| !unseen.contains(&a.subject));
        self.give_to_unknown(&unsaid);
        true
    }

    /// All that is said of these arguments and globals, and of what they lead to, gives way to this: unknown code has them.
    pub fn give_to_unknown(&mut self, roots: &BTreeSet<PathRoot>) {
        let is_said = |a: &Action| matches!(&a.subject, Subject::Value(path) if roots.contains(&path.root));
        self.actions.retain(|a| !is_said(a));
        self.actions.extend(roots.iter().map(|root| Action {
            subject: Subject::Value(AccessPath::root(*root)),
            to: Destination::Unknown,
            guard: Guard::Always,
        }));
        self.drop_unused_blocks();
    }

    /// Whether a fresh block is what the function returns, and is handed out in no other way.
    pub fn is_result(&self, block: AllocId) -> bool {
        let mut told = self.actions.iter().filter(|a| a.subject == Subject::Alloc(block)).peekable();
        told.peek().is_some() && told.all(Action::is_returned)
    }

    /// Whether a fresh block is what the function returns.
    pub fn returns_block(&self, block: AllocId) -> bool {
        self.actions.iter().any(|a| a.subject == Subject::Alloc(block) && a.is_returned())
    }

    /// Whether the result may be a fresh block.
    pub fn returns_fresh(&self) -> bool {
        self.actions.iter().any(|a| matches!(a.subject, Subject::Alloc(_)) && a.is_returned())
    }

    /// Whether the result is a fresh block for all that is known: not one that something else of the caller's may hold as well.
    pub fn returns_own_block(&self) -> bool {
        let is_own = |a: &Action| matches!(a.subject, Subject::Alloc(_)) && a.guard != Guard::Unsure;
        self.actions.iter().any(|a| is_own(a) && a.is_returned())
    }

    /// Whether what an action gives back is taken away from where it was.
    pub fn moves_out(&self, action: &Action) -> bool {
        let Subject::Value(path) = &action.subject else { return false };
        self.overwritten.iter().any(|place| place.same_place(path))
    }

    /// Whether it always moves one value of the caller into the place of another, which it always moves on: `std::swap`.
    pub fn exchanges(&self) -> bool {
        let is_sure = |a: &&Action| a.guard == Guard::Always;
        self.actions.iter().filter(is_sure).any(|one| {
            let Destination::Store(to) = &one.to else { return false };
            let is_moved_on = |other: &Action| match (&other.subject, &other.to) {
                (Subject::Value(path), Destination::Store(next)) => path.same_place(to) && !next.same_place(to),
                _ => false,
            };
            let is_moved = matches!(one.subject, Subject::Value(_)) && !to.steps.is_empty();
            is_moved && self.actions.iter().filter(is_sure).any(is_moved_on)
        })
    }

    /// Whether a place is a part of something else that the function stores: another object each time.
    pub fn is_part_of_new(&self, to: &AccessPath) -> bool {
        let is_prefix = |place: &AccessPath| place.root == to.root && to.steps.starts_with(&place.steps) && place != to;
        self.actions.iter().any(|a| matches!(&a.to, Destination::Store(place) if is_prefix(place)))
    }

    /// Whether several values are put into a place, or what is there is renewed: a buffer of the callee's. What was there is seen to in
    /// outcomes that single actions do not tell.
    pub fn is_buffer(&self, to: &AccessPath) -> bool {
        let is_here = |action: &&Action| match (&action.subject, &action.to) {
            (_, Destination::Store(place)) | (Subject::Value(place), Destination::Renew) => place.same_place(to),
            _ => false,
        };
        self.actions.iter().filter(is_here).count() > 1
    }

    pub fn allocates(&self) -> bool {
        self.actions.iter().any(|a| matches!(a.subject, Subject::Alloc(_)))
    }

    pub fn frees(&self) -> bool {
        self.actions.iter().any(|a| matches!(a.to, Destination::Free { .. }))
    }

    /// Frees what its caller gave it. What only some function does that it may call does not count.
    pub fn is_deallocator(&self) -> bool {
        self.actions.iter().any(|a| matches!(a.to, Destination::Free { .. }) && a.guard.is_own())
    }

    pub fn is_keeper(&self) -> bool {
        let takes = |a: &Action| match &a.to {
            Destination::Keep | Destination::Unknown => true,
            Destination::Store(_) => matches!(a.subject, Subject::Value(_)),
            Destination::Free { .. } | Destination::Renew => false,
        };
        self.actions.iter().any(|a| takes(a) && a.guard.is_own())
    }
}
