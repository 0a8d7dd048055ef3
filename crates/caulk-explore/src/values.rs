//! The values of instructions on one path. Paths part at every branch, so the table lies in pieces that paths share until one of them
//! sets a value there: a path of a large function costs what it changes, not what the function has.

use std::rc::Rc;

use caulk_ir::{Entity, InstId};
use caulk_solver::TermId;

/// Values of one piece.
const PIECE: usize = 64;

type Piece = [Option<TermId>; PIECE];

#[derive(Clone, Debug)]
pub(crate) struct Values {
    pieces: Rc<[Rc<Piece>]>,
}

impl Values {
    /// None yet, for a function of so many instructions.
    pub(crate) fn new(len: usize) -> Self {
        let none = Rc::new([None; PIECE]);
        Self { pieces: vec![none; len.div_ceil(PIECE)].into() }
    }

    pub(crate) fn get(&self, inst: InstId) -> Option<TermId> {
        self.at(inst.index())
    }

    fn at(&self, place: usize) -> Option<TermId> {
        self.pieces[place / PIECE][place % PIECE]
    }

    pub(crate) fn set(&mut self, inst: InstId, value: Option<TermId>) {
        if self.get(inst) != value {
            let place = inst.index();
            Rc::make_mut(&mut Rc::make_mut(&mut self.pieces)[place / PIECE])[place % PIECE] = value;
        }
    }

    /// What is known, by instruction, in their order.
    pub(crate) fn known(&self) -> impl Iterator<Item = (InstId, TermId)> + '_ {
        let places = self.pieces.iter().flat_map(|piece| piece.iter());
        places.enumerate().filter_map(|(place, value)| Some((InstId::from_index(place), (*value)?)))
    }

    /// Where two paths of one function differ, in the order of instructions.
    pub(crate) fn differing(&self, other: &Values) -> Vec<InstId> {
        let mut differing = Vec::new();
        for (number, (one, other)) in self.pieces.iter().zip(other.pieces.iter()).enumerate() {
            if Rc::ptr_eq(one, other) || one == other {
                continue;
            }
            let places = (0..PIECE).filter(|at| one[*at] != other[*at]);
            differing.extend(places.map(|at| InstId::from_index(number * PIECE + at)));
        }
        differing
    }
}

#[cfg(test)]
mod tests {
    use caulk_solver::{SolverConfig, TermPool};

    use super::*;

    #[test]
    fn paths_share_what_neither_has_changed() {
        let mut pool = TermPool::new(SolverConfig::default());
        let [a, b] = [1, 2].map(|number| pool.constant(64, number));
        let mut one = Values::new(200);
        one.set(InstId(3), Some(a));
        let mut other = one.clone();
        other.set(InstId(130), Some(b));
        other.set(InstId(199), Some(a));
        assert!(Rc::ptr_eq(&one.pieces[0], &other.pieces[0]) && !Rc::ptr_eq(&one.pieces[2], &other.pieces[2]));
        assert_eq!(one.differing(&other), [InstId(130), InstId(199)]);
        assert_eq!(other.known().collect::<Vec<_>>(), [(InstId(3), a), (InstId(130), b), (InstId(199), a)]);
        other.set(InstId(130), None);
        other.set(InstId(199), None);
        assert_eq!(one.differing(&other), []);
        assert_eq!((other.get(InstId(3)), other.get(InstId(130))), (Some(a), None));
    }
}
