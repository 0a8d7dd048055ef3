//! Names of functions as the source writes them.

use cpp_demangle::{DemangleOptions, Symbol};

/// A function's name for people. Debug info gives most; what only has a symbol is demangled.
pub fn display(name: &str) -> String {
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    Symbol::new(name).ok().and_then(|s| s.demangle_with_options(&options).ok()).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_cpp() {
        assert_eq!(super::display("_Znwm"), "operator new");
        assert_eq!(super::display("_ZN1n1fEi"), "n::f");
        assert_eq!(super::display("xmalloc"), "xmalloc");
        assert_eq!(super::display("_Z"), "_Z");
    }
}
