//! Values a model can speak of: a parameter, the return value, and what they point to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ModelRoot {
    /// The argument with this index, counted from 0. Indices past the declared parameters name variadic arguments.
    Param(u8),
    /// The value returned.
    Ret,
}

/// A root and how often it is dereferenced: `p0`, `*p0`, `ret`.
///
/// The path denotes a *value*, a pointer most of the time. `*p0` is the pointer stored where the first argument points to,
/// `*p0+4` what is stored 4 bytes behind that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModelPath {
    pub root: ModelRoot,
    pub derefs: u8,
    /// Bytes between where the last dereferenced pointer points to and the value: 0 without a dereference.
    pub offset: u8,
}

impl ModelPath {
    pub const RET: ModelPath = ModelPath { root: ModelRoot::Ret, derefs: 0, offset: 0 };

    #[must_use]
    pub const fn param(index: u8) -> ModelPath {
        ModelPath { root: ModelRoot::Param(index), derefs: 0, offset: 0 }
    }

    /// The path one dereference further.
    #[must_use]
    pub const fn deref(self) -> ModelPath {
        ModelPath { root: self.root, derefs: self.derefs + 1, offset: 0 }
    }

    /// The parameter it starts at, if it does.
    #[must_use]
    pub const fn param_index(self) -> Option<u8> {
        match self.root {
            ModelRoot::Param(index) => Some(index),
            ModelRoot::Ret => None,
        }
    }

    /// True for `ret` itself.
    #[must_use]
    pub fn is_ret(self) -> bool {
        self == ModelPath::RET
    }
}

/// More dereferences than any C interface has; keeps arithmetic on depths far from overflow.
const MAX_DEREFS: usize = 4;

/// The number in `*p0+4`.
fn offset_of(text: &str, derefs: usize) -> Result<u8, String> {
    if derefs == 0 {
        return Err("an offset belongs to a value that is stored somewhere, such as `*p0+4`".to_owned());
    }
    let bytes = text.trim();
    bytes.parse().map_err(|_| format!("`{bytes}` is no offset; write a number of bytes up to {}", u8::MAX))
}

impl FromStr for ModelPath {
    type Err = String;

    fn from_str(text: &str) -> Result<ModelPath, String> {
        let text = text.trim();
        let name = text.trim_start_matches('*');
        let derefs = text.len() - name.len();
        if derefs > MAX_DEREFS {
            return Err(format!("`{text}` dereferences more than {MAX_DEREFS} times"));
        }
        let (name, offset) = match name.split_once('+') {
            Some((name, offset)) => (name.trim_end(), offset_of(offset, derefs).map_err(|e| format!("`{text}`: {e}"))?),
            None => (name, 0),
        };
        let root = if name == "ret" {
            ModelRoot::Ret
        } else {
            let digits = name.strip_prefix('p').filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
            match digits.and_then(|d| d.parse::<u8>().ok()) {
                Some(index) => ModelRoot::Param(index),
                None => {
                    return Err(format!("`{text}` is no place; write `p0` for the first parameter, `*p0` or `ret`"));
                }
            }
        };
        Ok(ModelPath { root, derefs: derefs as u8, offset })
    }
}

impl fmt::Display for ModelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in 0..self.derefs {
            f.write_str("*")?;
        }
        match self.root {
            ModelRoot::Param(index) => write!(f, "p{index}")?,
            ModelRoot::Ret => f.write_str("ret")?,
        }
        if self.offset > 0 { write!(f, "+{}", self.offset) } else { Ok(()) }
    }
}

/// What a pointer given back or handed on may point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pointer {
    /// Exactly the value at the place: `p0`.
    Value(ModelPath),
    /// Somewhere into the block the place points to: `inside p0`.
    Inside(ModelPath),
    /// Some pointer stored in what the place leads to, over any number of steps: `reachable p0`.
    Reachable(ModelPath),
    /// Memory of the library that is never freed: `static`.
    Static,
    /// Memory with another owner: `borrowed`.
    Borrowed,
}

impl Pointer {
    /// The place it is described by, if any.
    #[must_use]
    pub const fn place(self) -> Option<ModelPath> {
        match self {
            Pointer::Value(place) | Pointer::Inside(place) | Pointer::Reachable(place) => Some(place),
            Pointer::Static | Pointer::Borrowed => None,
        }
    }
}

impl FromStr for Pointer {
    type Err = String;

    fn from_str(text: &str) -> Result<Pointer, String> {
        match text.trim() {
            "static" => Ok(Pointer::Static),
            "borrowed" => Ok(Pointer::Borrowed),
            text => {
                if let Some(rest) = text.strip_prefix("inside ") {
                    rest.parse().map(Pointer::Inside)
                } else if let Some(rest) = text.strip_prefix("reachable ") {
                    rest.parse().map(Pointer::Reachable)
                } else {
                    text.parse().map(Pointer::Value).map_err(|_| {
                        format!(
                            "`{text}` is no pointer; write a place (`p0`), `inside p0`, `reachable p0`, `static` or `borrowed`"
                        )
                    })
                }
            }
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pointer::Value(place) => write!(f, "{place}"),
            Pointer::Inside(place) => write!(f, "inside {place}"),
            Pointer::Reachable(place) => write!(f, "reachable {place}"),
            Pointer::Static => f.write_str("static"),
            Pointer::Borrowed => f.write_str("borrowed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_print_as_they_parse() {
        for text in ["p0", "*p1", "**p12", "ret", "*ret", "*p0+4"] {
            assert_eq!(text.parse::<ModelPath>().unwrap().to_string(), text);
        }
        for text in ["", "p", "*", "p256", "q0", "p-1", "p0*", "*****p0", "Ret", "p0+4", "*p0+", "*p0+x", "*p0+256"] {
            assert!(text.parse::<ModelPath>().is_err(), "{text}");
        }
    }

    #[test]
    fn pointers_print_as_they_parse() {
        for text in ["p0", "inside p0", "reachable *p1", "static", "borrowed"] {
            assert_eq!(text.parse::<Pointer>().unwrap().to_string(), text);
        }
        assert!("into p0".parse::<Pointer>().is_err());
    }
}
