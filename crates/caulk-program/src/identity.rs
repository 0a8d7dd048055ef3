//! Which class a structure type is, over all units.
//!
//! Debug info names a class by its mangled name (`_ZTS3Foo`) in every unit but one: the unit that defines the table of its virtual functions for
//! all others describes the class in full and leaves the name out. There the table's symbol tells it.

use std::borrow::Cow;

use caulk_ir::{Initialiser, Linkage, StructType, Unit};
use rustc_hash::FxHashSet;

/// The classes whose tables a unit defines for all others, by their mangled names.
pub(crate) struct Homed<'a>(FxHashSet<&'a str>);

impl<'a> Homed<'a> {
    pub(crate) fn new(unit: &'a Unit) -> Self {
        let defined =
            unit.globals.values().filter(|g| g.linkage == Linkage::External && g.init != Initialiser::External);
        Self(defined.filter_map(|g| unit.str(g.symbol).strip_prefix("_ZTV")).collect())
    }

    /// The mangled name of a type, as debug info has it or as the unit's tables tell.
    pub(crate) fn identity<'u>(&self, unit: &'u Unit, ty: &StructType) -> Option<Cow<'u, str>> {
        if let Some(identity) = ty.identity {
            return Some(Cow::Borrowed(unit.str(identity)));
        }
        if self.0.is_empty() {
            return None;
        }
        let name = mangled(unit.str(ty.name))?;
        self.0.contains(name.as_str()).then(|| Cow::Owned(format!("_ZTS{name}")))
    }
}

/// The mangled name of a class that is no template: `N2ns3FooE` of `ns::Foo`.
fn mangled(name: &str) -> Option<String> {
    let is_plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let parts: Vec<&str> = name.split("::").collect();
    if !parts.iter().all(|part| is_plain(part)) {
        return None;
    }
    let text: String = parts.iter().map(|part| format!("{}{part}", part.len())).collect();
    Some(if parts.len() > 1 { format!("N{text}E") } else { text })
}

#[cfg(test)]
mod tests {
    use super::mangled;

    #[test]
    fn plain_names_are_mangled() {
        assert_eq!(mangled("Foo").as_deref(), Some("3Foo"));
        assert_eq!(mangled("ns::Foo").as_deref(), Some("N2ns3FooE"));
        assert_eq!(mangled("Foo<int>"), None);
        assert_eq!(mangled("(anonymous namespace)::Foo"), None);
    }
}
