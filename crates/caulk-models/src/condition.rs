//! When an effect happens: conjunctions over arguments, the returned value, and success or failure of the call.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model_path::ModelPath;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Operator {
    /// Longer spellings first, so that `<=` is not read as `<`.
    const SPELLED: [(&'static str, Operator); 6] = [
        ("==", Operator::Eq),
        ("!=", Operator::Ne),
        ("<=", Operator::Le),
        (">=", Operator::Ge),
        ("<", Operator::Lt),
        (">", Operator::Gt),
    ];

    #[must_use]
    pub const fn negate(self) -> Operator {
        match self {
            Operator::Eq => Operator::Ne,
            Operator::Ne => Operator::Eq,
            Operator::Lt => Operator::Ge,
            Operator::Le => Operator::Gt,
            Operator::Gt => Operator::Le,
            Operator::Ge => Operator::Lt,
        }
    }

    #[must_use]
    pub const fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Operator::Eq => left == right,
            Operator::Ne => left != right,
            Operator::Lt => left < right,
            Operator::Le => left <= right,
            Operator::Gt => left > right,
            Operator::Ge => left >= right,
        }
    }
}

/// `place operator constant`, signed. `null` is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Comparison {
    pub place: ModelPath,
    pub operator: Operator,
    pub value: i64,
}

impl Comparison {
    pub const RET_NOT_NULL: Comparison = Comparison { place: ModelPath::RET, operator: Operator::Ne, value: 0 };

    #[must_use]
    pub const fn negate(self) -> Comparison {
        Comparison { operator: self.operator.negate(), ..self }
    }
}

impl FromStr for Comparison {
    type Err = String;

    fn from_str(text: &str) -> Result<Comparison, String> {
        let wrong = || format!("`{text}` is no condition; write for instance `p1 == null`, `ret >= 0` or `success`");
        let (left, operator, right) = Operator::SPELLED
            .iter()
            .find_map(|&(spelled, operator)| text.split_once(spelled).map(|(left, right)| (left, operator, right)))
            .ok_or_else(wrong)?;
        let value = match right.trim() {
            "null" => 0,
            number => number.parse().map_err(|_| wrong())?,
        };
        Ok(Comparison { place: left.parse()?, operator, value })
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spelled = Operator::SPELLED.iter().find(|(_, operator)| *operator == self.operator).map_or("?", |(s, _)| s);
        write!(f, "{} {spelled} {}", self.place, self.value)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Atom {
    /// The call succeeded, as [`Success`] of the model shows it.
    Success,
    Failure,
    /// Arguments are compared as they were at the call, `ret` and what it leads to after it.
    Compare(Comparison),
}

/// All atoms hold; with none it always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Condition {
    pub atoms: Vec<Atom>,
}

impl Condition {
    pub const ALWAYS: Condition = Condition { atoms: Vec::new() };

    #[must_use]
    pub fn success() -> Condition {
        Condition { atoms: vec![Atom::Success] }
    }

    #[must_use]
    pub fn is_always(&self) -> bool {
        self.atoms.is_empty()
    }

    /// True if it speaks of success or failure of the call.
    #[must_use]
    pub fn asks_outcome(&self) -> bool {
        self.atoms.iter().any(|atom| matches!(atom, Atom::Success | Atom::Failure))
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = ModelPath> + '_ {
        self.atoms.iter().filter_map(|atom| match atom {
            Atom::Compare(comparison) => Some(comparison.place),
            Atom::Success | Atom::Failure => None,
        })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        if text.trim() == "always" {
            return Ok(Condition::ALWAYS);
        }
        let atoms = text.split(" and ").map(|part| match part.trim() {
            "success" => Ok(Atom::Success),
            "failure" => Ok(Atom::Failure),
            comparison => comparison.parse().map(Atom::Compare),
        });
        Ok(Condition { atoms: atoms.collect::<Result<_, String>>()? })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.atoms.is_empty() {
            return f.write_str("always");
        }
        for (index, atom) in self.atoms.iter().enumerate() {
            if index > 0 {
                f.write_str(" and ")?;
            }
            match atom {
                Atom::Success => f.write_str("success")?,
                Atom::Failure => f.write_str("failure")?,
                Atom::Compare(comparison) => write!(f, "{comparison}")?,
            }
        }
        Ok(())
    }
}

/// How a caller sees that a call succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Success {
    /// The model does not say, and no effect depends on it.
    #[default]
    Unstated,
    /// The call cannot fail (or ends the program if it does).
    Always,
    /// It succeeded if and only if this holds after it.
    When(Comparison),
}

impl FromStr for Success {
    type Err = String;

    fn from_str(text: &str) -> Result<Success, String> {
        match text.trim() {
            "always" => Ok(Success::Always),
            comparison => comparison.parse().map(Success::When),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_print_as_they_parse() {
        for text in ["always", "success", "p1 == 0", "*p0 != 0 and success", "ret >= -1 and failure", "p0 < 3"] {
            assert_eq!(text.parse::<Condition>().unwrap().to_string(), text);
        }
        assert_eq!("p1 == null".parse::<Condition>(), "p1 == 0".parse::<Condition>());
        for text in ["", "p1", "p1 = 0", "p1 == x", "success or failure", "p0 == 0 and"] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }

    #[test]
    fn negation_is_the_opposite() {
        for (_, operator) in Operator::SPELLED {
            for (left, right) in [(0, 0), (0, 1), (1, 0)] {
                assert_ne!(operator.holds(left, right), operator.negate().holds(left, right));
            }
        }
    }
}
