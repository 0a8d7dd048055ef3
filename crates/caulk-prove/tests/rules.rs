//! The rules of Figures 2 and 3 of the paper, one by one.

use caulk_ir::InstId;
use caulk_program::TypeId;
use caulk_prove::Extensions;
use caulk_prove::assign::{Location, Rules};
use caulk_prove::expr::{Expr, Hop, Root};
use caulk_prove::fact::{Contradiction, Fact, Tag, Truth};
use caulk_prove::regions::{PointerField, Regions};
use caulk_prove::target::{PointsTo, Region};

/// Regions are the same memory if they have the same name.
struct ByName;

impl Regions for ByName {
    fn may_alias(&self, a: Region, b: Region) -> bool {
        a == b
    }

    fn content(&self, target: Region) -> PointsTo {
        match target {
            Region::Field { ty, .. } => PointsTo::To { depth: 1, ty },
            _ => PointsTo::Any,
        }
    }

    fn is_shared_with_numbers(&self, _: Region) -> bool {
        false
    }

    fn may_meet(&self, pointer: PointsTo, cell: PointsTo) -> bool {
        pointer == PointsTo::Any || cell == PointsTo::Any || pointer == cell
    }

    fn pointer_fields(&self, _ty: TypeId) -> Option<std::sync::Arc<[PointerField]>> {
        Some([].into())
    }
}

const REGIONS: ByName = ByName;
const NEXT: Region = Region::Field { ty: TypeId(0), offset: 8 };
const LEFT: Region = Region::Field { ty: TypeId(0), offset: 16 };
const OTHER_TYPE: Region = Region::Field { ty: TypeId(1), offset: 8 };

fn x() -> Expr {
    Expr::value(InstId(1))
}

fn y() -> Expr {
    Expr::value(InstId(2))
}

fn z() -> Expr {
    Expr::value(InstId(3))
}

fn next(base: Expr) -> Expr {
    base.then(Hop::Add(8)).load(NEXT)
}

fn left(base: Expr) -> Expr {
    base.then(Hop::Add(16)).load(LEFT)
}

fn null() -> Expr {
    Expr::root(Expr::NULL)
}

fn rules() -> Rules<'static> {
    let cell = PointsTo::To { depth: 1, ty: TypeId(0) };
    Rules { regions: &REGIONS, extensions: Extensions::default(), cell, shape: None, at: None }
}

/// A fact with these values and regions in S.
fn fact(may: &[Expr], memory: &[Region], hits: &[Expr], misses: &[Expr]) -> Fact {
    let mut fact = Fact::new();
    fact.may.extend(may.iter().map(|e| e.root));
    fact.memory.extend(memory.iter().map(|t| (*t, Tag::Many)));
    fact.hits.extend(hits.iter().cloned());
    fact.misses.extend(misses.iter().cloned());
    fact
}

/// `base->next = value`
fn assign_next(fact: &Fact, base: Expr, value: &Expr) -> Result<Fact, Contradiction> {
    rules().assign(fact, &Location { address: base.then(Hop::Add(8)), target: NEXT }, Some(value))
}

#[test]
fn numbers_addresses_and_values_outside_of_s_miss() {
    let fact = fact(&[x()], &[NEXT], &[], &[]);
    assert!(fact.is_implicit_miss(&null(), &REGIONS));
    assert!(fact.is_implicit_miss(&Expr::root(Root::Local(InstId(9))), &REGIONS));
    assert!(fact.is_implicit_miss(&next(null()), &REGIONS), "null cannot be dereferenced");
    assert!(fact.is_implicit_miss(&y(), &REGIONS));
    assert!(fact.is_implicit_miss(&left(x()), &REGIONS));
    assert!(!fact.is_implicit_miss(&x(), &REGIONS));
    assert!(!fact.is_implicit_miss(&next(y()), &REGIONS));
}

#[test]
fn what_hits_and_misses_is_infeasible() {
    let mut fact = fact(&[x()], &[NEXT], &[x()], &[next(y())]);
    assert_eq!(fact.hit(next(y()), &REGIONS), Err(Contradiction));
    assert_eq!(fact.hit(y(), &REGIONS), Err(Contradiction), "not in S");
    assert_eq!(fact.miss(x(), &REGIONS), Err(Contradiction));
    assert_eq!(fact.hit(next(x()), &REGIONS), Ok(()));
}

#[test]
fn a_pointer_into_the_cell_refers_to_it() {
    let mut fact = fact(&[x()], &[], &[], &[]);
    fact.hit(x().then(Hop::Add(24)), &REGIONS).unwrap();
    assert!(fact.hits.contains(&x()));
}

#[test]
fn cleanup_drops_what_is_implied() {
    let mut fact = fact(&[x()], &[NEXT], &[], &[left(x()), next(x())]);
    fact.clean_up(&REGIONS, true).unwrap();
    assert_eq!(fact.misses.iter().collect::<Vec<_>>(), [&next(x())]);
}

#[test]
fn a_cell_that_nothing_refers_to_cannot_be_lost_later() {
    assert_eq!(fact(&[], &[], &[], &[]).clean_up(&REGIONS, true), Err(Contradiction));
}

/// FILTER1: what does not read the written region stays.
#[test]
fn disjoint_expressions_stay() {
    let before = assign_next(&fact(&[x(), y()], &[LEFT], &[left(x())], &[left(y())]), z(), &null()).unwrap();
    assert!(before.hits.contains(&left(x())) && before.misses.contains(&left(y())));
}

/// S grows by the written region.
#[test]
fn the_old_value_may_have_hit() {
    let before = assign_next(&fact(&[x()], &[], &[x()], &[]), y(), &null()).unwrap();
    assert_eq!(before.memory[&NEXT], Tag::only(next(y())));
}

/// FILTER2: a miss was written, so what hits is another place.
#[test]
fn a_hit_stays_if_a_miss_was_written() {
    let after = fact(&[x()], &[NEXT], &[next(x())], &[]);
    assert!(assign_next(&after, y(), &null()).unwrap().hits.contains(&next(x())));
    // Not so if nothing is known of what was written.
    let after = fact(&[x(), z()], &[NEXT], &[next(x())], &[]);
    assert!(!assign_next(&after, y(), &z()).unwrap().hits.contains(&next(x())));
}

/// FILTER3: a hit was written, so what misses is another place.
#[test]
fn a_miss_stays_if_a_hit_was_written() {
    let after = fact(&[x(), z()], &[NEXT], &[z()], &[next(x())]);
    assert!(assign_next(&after, y(), &z()).unwrap().misses.contains(&next(x())));
    let after = fact(&[x(), z()], &[NEXT], &[x()], &[next(x())]);
    assert!(!assign_next(&after, y(), &z()).unwrap().misses.contains(&next(x())));
}

/// FILTER4: if the right side itself is overwritten, it is so with its own value.
#[test]
fn the_right_side_stays() {
    let after = fact(&[x(), y()], &[NEXT], &[next(x())], &[]);
    assert!(assign_next(&after, y(), &next(x())).unwrap().hits.contains(&next(x())));
}

/// SUBST1: what is read through the written place was reached through the value.
#[test]
fn the_written_place_is_replaced_by_the_value() {
    let after = fact(&[x(), y(), z()], &[NEXT, LEFT], &[next(y())], &[left(next(y()))]);
    let before = assign_next(&after, y(), &z()).unwrap();
    assert!(before.hits.contains(&z()));
    assert!(before.misses.contains(&left(z())));
    // The rest of the path may read what was written: nothing is known then.
    let after = fact(&[x(), y(), z()], &[NEXT], &[next(next(y()))], &[]);
    assert!(assign_next(&after, y(), &z()).unwrap().hits.is_empty());
}

/// SUBST2, and the example of section 4.3: after `*a = y` with nothing but y in S, y must have missed.
#[test]
fn a_value_written_to_memory_that_misses_misses() {
    assert_eq!(assign_next(&fact(&[y()], &[], &[y()], &[]), x(), &y()), Err(Contradiction));
    let before = assign_next(&fact(&[y(), z()], &[], &[z()], &[]), x(), &y()).unwrap();
    assert!(before.misses.contains(&y()));
}

/// 4.8, first extension.
#[test]
fn memory_of_another_type_does_not_grow_s() {
    let after = fact(&[x()], &[], &[x()], &[]);
    let place = Location { address: y().then(Hop::Add(8)), target: OTHER_TYPE };
    assert!(rules().assign(&after, &place, Some(&null())).unwrap().memory.is_empty());
    let mut plain = rules();
    plain.extensions.typed_growth = false;
    assert!(plain.assign(&after, &place, Some(&null())).unwrap().memory.contains_key(&OTHER_TYPE));
}

/// 4.8, second extension.
#[test]
fn a_region_whose_only_place_misses_leaves_s() {
    let mut after = fact(&[x()], &[], &[x()], &[next(y())]);
    after.memory.insert(NEXT, Tag::only(next(y())));
    let mut kept = after.clone();
    after.clean_up(&REGIONS, true).unwrap();
    assert!(after.memory.is_empty());
    kept.clean_up(&REGIONS, false).unwrap();
    assert!(kept.memory.contains_key(&NEXT));
}

#[test]
fn unknown_values_are_distinguished_by_case() {
    let after = fact(&[x(), z()], &[NEXT], &[next(x())], &[]);
    let place = Location { address: y().then(Hop::Add(8)), target: NEXT };
    let cases = rules().assign_by_case(&after, &place, &z());
    assert_eq!(cases.len(), 2);
    assert!(cases[0].hits.contains(&z()), "what was written hits");
    assert!(cases[1].misses.contains(&z()) && cases[1].hits.contains(&next(x())), "or it misses, and the rest stays");
}

#[test]
fn facts_join_to_what_both_know() {
    let a = fact(&[x()], &[NEXT], &[x(), next(y())], &[z()]);
    let b = fact(&[x(), z()], &[LEFT, NEXT], &[x()], &[]);
    let joined = a.join(&b, &REGIONS);
    assert_eq!(joined.hits.iter().collect::<Vec<_>>(), [&x()]);
    assert!(joined.memory.contains_key(&NEXT) && joined.memory.contains_key(&LEFT));
    assert!(!joined.misses.contains(&z()), "may hit in one of them");
    // Explicit in one, implied in the other.
    let c = fact(&[x()], &[], &[x()], &[]);
    let d = fact(&[x(), z()], &[], &[x()], &[z()]);
    assert!(c.join(&d, &REGIONS).misses.contains(&z()));
}

#[test]
fn phis_take_all_at_once() {
    // x, y = y, x
    let after = fact(&[x()], &[], &[x()], &[]);
    let phis = [(InstId(1), Some(y())), (InstId(2), Some(x()))];
    let before = after.define_all(&phis, [InstId(1), InstId(2)], &REGIONS).unwrap();
    assert!(before.hits.contains(&y()) && before.misses.contains(&x()));
}

#[test]
fn comparisons_contradict_each_other_and_hits() {
    let mut fact = fact(&[x(), y()], &[], &[x()], &[]);
    fact.tell(y(), Truth::Not(0)).unwrap();
    assert_eq!(fact.tell(y(), Truth::Is(0)), Err(Contradiction));
    assert_eq!(fact.tell(x(), Truth::Is(0)), Err(Contradiction));
    assert_eq!(fact.tell(Expr::root(Root::Number(1)), Truth::Is(2)), Err(Contradiction));
}
