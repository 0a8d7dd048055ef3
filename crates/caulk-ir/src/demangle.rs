//! Names of C++ functions as the source writes them, from their symbols.
//!
//! Symbols come from untrusted files. A symbol of a few hundred letters can stand for a name of gigabytes, since each part
//! may refer twice to the part before, so the name is written to a buffer that refuses to grow beyond a bound.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, Symbol};

/// Longer symbols stay as they are.
const MAX_SYMBOL_BYTES: usize = 16 << 10;
/// A symbol that stands for a longer name stays as it is.
const MAX_NAME_BYTES: usize = 16 << 10;

/// The name with its classes and namespaces, without parameters. None for what is no symbol of C++.
pub fn demangled(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") || symbol.len() > MAX_SYMBOL_BYTES {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let mut name = BoundedName(String::new());
    Symbol::new(symbol).ok()?.structured_demangle(&mut name, &options).ok()?;
    Some(name.0)
}

struct BoundedName(String);

impl DemangleWrite for BoundedName {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_NAME_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn names_have_their_scopes_and_no_parameters() {
        assert_eq!(demangled("_Znwm").as_deref(), Some("operator new"));
        assert_eq!(demangled("_ZN1n1fEi").as_deref(), Some("n::f"));
        assert_eq!(demangled("xmalloc"), None);
        assert_eq!(demangled("_Z"), None);
    }

    /// Each argument is twice the one before: `f<A<int, int>, A<A<int, int>, A<int, int>>, ...>`.
    #[test]
    fn a_name_that_doubles_with_every_part_is_refused() {
        let doubling = |parts: usize| {
            let digit = |n: usize| char::from_digit(n as u32, 36).expect("below 36").to_ascii_uppercase();
            let part = |n: usize| format!("S0_IS{0}_S{0}_E", digit(n));
            format!("_Z1fI1AIiiE{}Evv", (1..=parts).map(part).collect::<String>())
        };
        let name = demangled(&doubling(3)).expect("a short one is written out");
        assert_eq!(name.matches("A<int, int>").count(), 1 + 2 + 4 + 8);
        assert_eq!(demangled(&doubling(34)), None);
    }
}
