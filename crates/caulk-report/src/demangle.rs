//! Names of functions as the source writes them.

use caulk_ir::cpp_names::shortened;
use caulk_ir::demangle::demangled;

/// A function's name for people. Debug info gives most; what only has a symbol is demangled.
pub(crate) fn display(name: &str) -> String {
    let demangled = demangled(name);
    shortened(demangled.as_deref().unwrap_or(name)).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_cpp() {
        assert_eq!(super::display("_Znwm"), "operator new");
        assert_eq!(super::display("_ZN1n1fEi"), "n::f");
        assert_eq!(super::display("xmalloc"), "xmalloc");
        assert_eq!(super::display("std::vector<P *, std::allocator<P *> >::push_back"), "std::vector<P*>::push_back");
        assert_eq!(super::display("_Z"), "_Z");
    }
}
