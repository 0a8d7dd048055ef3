//! Virtual calls: tables of virtual functions (`_ZTV`), the class hierarchy (`_ZTI`, and base classes in debug info), and
//! which functions a call through a slot may reach. Itanium C++ ABI, 2.5 (tables) and 2.9.5 (type information).

use caulk_ir::entity::Entity;
use caulk_ir::{Constant, InitItem, Initialiser};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{VirtualCall, World};
use crate::identity::Homed;
use crate::ids::{FuncId, GlobalVarId, TypeId};

/// Entries of a table that are never called on purpose.
const PURE: &str = "__cxa_pure_virtual";
const NOT_CALLED: [&str; 2] = [PURE, "__cxa_deleted_virtual"];

/// Where a base lies in an object of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BasePlace {
    At(i64),
    /// A virtual base. Its place is in the table of the whole object's class, this far from where the object's pointer leads (2.5.2).
    Virtual(i64),
    Unknown,
}

type ClassId = usize;

/// The part of a table that objects of one base see.
#[derive(Debug)]
struct Group {
    class: ClassId,
    /// No object is of this class alone: some function of it is pure.
    is_abstract: bool,
    /// Where in the object the pointer to this group lies.
    delta: i64,
    /// Slot and function, by rising slot.
    slots: Vec<(u32, FuncId)>,
    /// Numbers before the slots, by their distance from them: among them, where virtual bases lie.
    offsets: Vec<(i64, i64)>,
}

/// All tables of virtual functions of the program.
#[derive(Debug, Default)]
pub(crate) struct VirtualTables {
    classes: FxHashMap<String, ClassId>,
    groups: Vec<Group>,
    /// Of each class, the groups that an object used as that class may point to.
    groups_of: Vec<Vec<usize>>,
    /// The class of each structure type that has one.
    of_type: FxHashMap<TypeId, ClassId>,
    /// Classes that only one unit knows, by their last name. Debug info has no identity for them.
    unnamed: FxHashMap<String, Vec<ClassId>>,
    is_empty: bool,
}

#[derive(Default)]
struct Hierarchy {
    classes: FxHashMap<String, ClassId>,
    bases: Vec<Vec<(ClassId, BasePlace)>>,
}

impl Hierarchy {
    fn class(&mut self, name: &str) -> ClassId {
        if let Some(&id) = self.classes.get(name) {
            return id;
        }
        self.bases.push(Vec::new());
        self.classes.insert(name.to_owned(), self.bases.len() - 1);
        self.bases.len() - 1
    }

    fn add_base(&mut self, class: ClassId, base: ClassId, place: BasePlace) {
        if class != base && !self.bases[class].contains(&(base, place)) {
            self.bases[class].push((base, place));
        }
    }

    /// The class itself and all its bases, direct or not, with their places where these are known. `virtual_base`: where a virtual base is,
    /// for the place of the class that has it and the distance in the table.
    fn ancestors(&self, class: ClassId, virtual_base: impl Fn(i64, i64) -> Option<i64>) -> Vec<(ClassId, Option<i64>)> {
        let mut found = vec![(class, Some(0))];
        let mut seen: FxHashSet<(ClassId, Option<i64>)> = found.iter().copied().collect();
        let mut next = 0;
        while let Some(&(class, at)) = found.get(next) {
            next += 1;
            for &(base, place) in &self.bases[class] {
                let place = at.and_then(|at| match place {
                    BasePlace::At(offset) => Some(at + offset),
                    BasePlace::Virtual(distance) => virtual_base(at, distance),
                    BasePlace::Unknown => None,
                });
                if seen.insert((base, place)) {
                    found.push((base, place));
                }
            }
        }
        found
    }
}

impl VirtualTables {
    pub(crate) fn new(world: &World<'_>) -> Self {
        let tables: Vec<GlobalVarId> =
            world.globals.iter().filter(|(_, shape)| shape.is_vtable).map(|(id, _)| id).collect();
        if tables.is_empty() {
            return Self { is_empty: true, ..Self::default() };
        }
        let mut hierarchy = Hierarchy::default();
        let of_type = classes_of_types(world, &mut hierarchy);
        bases_from_type_information(world, &mut hierarchy);
        let mut groups = Vec::new();
        for table in tables {
            if let Some(name) = symbol(world, table).strip_prefix("_ZTV") {
                let class = hierarchy.class(name);
                groups.extend(groups_of_table(world, table, class));
            }
        }
        let unnamed = classes_without_identity(&groups, &hierarchy);
        let mut groups_of = vec![Vec::new(); hierarchy.bases.len()];
        let mut part_of_object: FxHashMap<(ClassId, i64), usize> = FxHashMap::default();
        for (index, group) in groups.iter().enumerate() {
            part_of_object.entry((group.class, group.delta)).or_insert(index);
        }
        for (index, group) in groups.iter().enumerate() {
            let virtual_base = |at: i64, distance: i64| {
                let table: &Group = &groups[*part_of_object.get(&(group.class, at))?];
                // A zero is left out of the table.
                let offset = table.offsets.iter().find(|(from, _)| *from == distance).map_or(0, |(_, offset)| *offset);
                Some(at + offset)
            };
            for (class, place) in hierarchy.ancestors(group.class, virtual_base) {
                if place.is_none_or(|p| p == group.delta) && groups_of[class].last() != Some(&index) {
                    groups_of[class].push(index);
                }
            }
        }
        Self { classes: hierarchy.classes, groups, groups_of, of_type, unnamed, is_empty: false }
    }

    /// The functions the call may reach, sorted, and whether the class of the object was known. An unknown class
    /// leaves all functions at that slot of any table.
    pub(crate) fn targets(&self, world: &World<'_>, call: &VirtualCall) -> (Vec<FuncId>, bool) {
        if self.is_empty {
            return (Vec::new(), false);
        }
        let at_slot = |group: &Group| {
            let found = group.slots.binary_search_by_key(&call.slot, |s| s.0).ok()?;
            Some(group.slots[found].1)
        };
        if let Some((ty, delta)) = call.made_as
            && let Some(&class) = self.of_type.get(&ty)
        {
            let mut own = self.groups_of[class].iter().map(|g| &self.groups[*g]);
            if let Some(found) = own.find(|g| g.class == class && g.delta == delta).and_then(at_slot) {
                return (vec![found], true);
            }
        }
        let class = call.class.and_then(|ty| self.of_type.get(&ty).copied());
        let class = class.or_else(|| {
            let method = call.method?;
            let home = world.linked.functions[method];
            let name = class_of_method(world.units[home.unit.index()].unit.symbol(home.local))?;
            self.classes.get(&name).copied()
        });
        let class = class.or_else(|| {
            let (makers, is_known) = self.targets(world, call.given_by.as_deref()?);
            self.class_given_by(world, &makers).filter(|_| is_known)
        });
        let groups: Vec<&Group> = match class {
            Some(class) => self.groups_of[class].iter().map(|&g| &self.groups[g]).collect(),
            None => self.groups_without_identity(world, call.class),
        };
        let is_class_known = !groups.is_empty() || class.is_some();
        let groups = if is_class_known { groups } else { self.groups.iter().collect() };
        let at_slots = |is_candidate: fn(&Group) -> bool| -> Vec<FuncId> {
            groups.iter().copied().filter(|g| is_candidate(g)).filter_map(at_slot).collect()
        };
        // What an abstract class has in its table runs only while an object of a class below it is made or destroyed.
        let mut found = at_slots(|group| !group.is_abstract);
        if found.is_empty() {
            found = at_slots(|_| true);
        }
        found.sort_unstable();
        found.dedup();
        (found, is_class_known)
    }

    /// The class that all functions declare their result to point to.
    fn class_given_by(&self, world: &World<'_>, functions: &[FuncId]) -> Option<ClassId> {
        let mut classes = functions.iter().map(|function| {
            let home = world.linked.functions[*function];
            let given = world.units[home.unit.index()].unit.functions[home.local].ret_pointee;
            let ty = given.target.filter(|_| given.depth == 1)?;
            self.of_type.get(&world.map(home.unit).structs[ty]).copied()
        });
        let first = classes.next()??;
        classes.all(|class| class == Some(first)).then_some(first)
    }

    /// The groups of the classes that a type without identity may be: those of its name that only one unit knows.
    fn groups_without_identity(&self, world: &World<'_>, ty: Option<TypeId>) -> Vec<&Group> {
        let name = ty.map(|ty| {
            let info = world.types.get(ty);
            let unit = &world.units[info.unit.index()].unit;
            plain_name(unit.str(unit.structs[info.local].name))
        });
        let classes = name.and_then(|name| self.unnamed.get(name)).into_iter().flatten();
        let mut groups: Vec<usize> = classes.flat_map(|class| self.groups_of[*class].iter().copied()).collect();
        groups.sort_unstable();
        groups.dedup();
        groups.into_iter().map(|group| &self.groups[group]).collect()
    }
}

fn symbol<'a>(world: &World<'a>, global: GlobalVarId) -> &'a str {
    let home = world.linked.globals[global];
    let unit = &world.units[home.unit.index()].unit;
    unit.str(unit.globals[home.local].symbol)
}

/// Debug info names a type `_ZTS3Foo` where its table is `_ZTV3Foo`.
fn classes_of_types(world: &World<'_>, hierarchy: &mut Hierarchy) -> FxHashMap<TypeId, ClassId> {
    let mut of_type = FxHashMap::default();
    let homed: Vec<Homed<'_>> = world.units.iter().map(|unit| Homed::new(&unit.unit)).collect();
    for (id, info) in world.types.infos.iter() {
        let unit = &world.units[info.unit.index()].unit;
        let identity = homed[info.unit.index()].identity(unit, &unit.structs[info.local]);
        if let Some(name) = identity.as_deref().and_then(|i| i.strip_prefix("_ZTS")) {
            of_type.insert(id, hierarchy.class(name));
        }
    }
    for (id, info) in world.types.infos.iter() {
        let Some(&class) = of_type.get(&id) else { continue };
        for field in info.fields.iter().filter(|f| f.is_base) {
            if let Some(base) = field.target.and_then(|t| of_type.get(&t)) {
                let place = i64::try_from(field.offset).map_or(BasePlace::Unknown, BasePlace::At);
                hierarchy.add_base(class, *base, place);
            }
        }
    }
    of_type
}

/// A name without its template arguments.
fn plain_name(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}

/// Classes in anonymous namespaces and functions, by their last name.
fn classes_without_identity(groups: &[Group], hierarchy: &Hierarchy) -> FxHashMap<String, Vec<ClassId>> {
    let mut names: Vec<(&str, ClassId)> =
        hierarchy.classes.iter().map(|(name, class)| (name.as_str(), *class)).collect();
    names.sort_unstable();
    let with_table: FxHashSet<ClassId> = groups.iter().map(|g| g.class).collect();
    let mut found: FxHashMap<String, Vec<ClassId>> = FxHashMap::default();
    for (mangled, class) in names.into_iter().filter(|(_, class)| with_table.contains(class)) {
        if let Some(name) = unnamed_class(mangled) {
            found.entry(name.to_owned()).or_default().push(class);
        }
    }
    found
}

/// The last name of a class that only one unit knows: `Foo` of `N12_GLOBAL__N_13FooE` and of `Z3barvE3Foo`.
fn unnamed_class(mangled: &str) -> Option<&str> {
    const ANONYMOUS: &str = "12_GLOBAL__N_1";
    let mut rest = match mangled.rfind(ANONYMOUS) {
        Some(at) => mangled.get(at + ANONYMOUS.len()..)?,
        None => mangled.strip_prefix('Z').and_then(|local| local.get(local.rfind('E')? + 1..))?,
    };
    let mut last = None;
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: usize = rest[..digits].parse().ok()?;
        let end = digits.checked_add(length)?;
        last = rest.get(digits..end);
        rest = rest.get(end..)?;
    }
    last
}

fn bases_from_type_information(world: &World<'_>, hierarchy: &mut Hierarchy) {
    let mut described: FxHashSet<ClassId> = FxHashSet::default();
    for id in world.globals.keys() {
        let Some(name) = symbol(world, id).strip_prefix("_ZTI") else { continue };
        let items = items(world, id);
        let word = u64::from(pointer_bytes(world, id));
        let class = hierarchy.class(name);
        if !items.is_empty() && described.insert(class) {
            // What debug info says of virtual bases is no place in the object.
            hierarchy.bases[class].clear();
        }
        let int_at = |offset: u64| items.iter().find(|i| i.offset == offset).and_then(|i| number(i.value));
        let found: Vec<(u64, &str)> = items
            .iter()
            .filter_map(|i| Some((i.offset, type_information(world, id, i)?)))
            .filter(|(offset, _)| *offset >= 2 * word)
            .collect();
        for (offset, base) in found {
            let base = hierarchy.class(base);
            // One base at offset zero has no more words; several have flags and count before, and a word of flags
            // each: whether it is virtual in bit 0, its offset from bit 8.
            let place = if offset == 2 * word {
                BasePlace::At(0)
            } else {
                match int_at(offset + word).unwrap_or(0) {
                    flags if flags & 1 == 0 => BasePlace::At(flags >> 8),
                    flags => BasePlace::Virtual(flags >> 8),
                }
            };
            hierarchy.add_base(class, base, place);
        }
    }
}

/// Groups begin after a pointer to type information, which follows the offset to the top of the object. Without type
/// information only the offset, negative and thus not zero, tells where another group begins.
fn groups_of_table(world: &World<'_>, table: GlobalVarId, class: ClassId) -> Vec<Group> {
    let items = items(world, table);
    let word = u64::from(pointer_bytes(world, table));
    let int_at = |offset: u64| items.iter().find(|i| i.offset == offset).and_then(|i| number(i.value));
    let mut starts: Vec<(u64, i64)> = items
        .iter()
        .filter(|i| i.offset >= word && type_information(world, table, i).is_some())
        .map(|i| (i.offset + word, int_at(i.offset - word).unwrap_or(0)))
        .collect();
    if starts.is_empty() {
        starts.push((2 * word, 0));
        let offsets = items.iter().filter_map(|i| Some((i.offset, number(i.value)?)));
        starts.extend(offsets.filter(|o| o.1 < 0).map(|(at, to_top)| (at + 2 * word, to_top)));
    }
    let home = world.linked.globals[table];
    let unit = &world.units[home.unit.index()].unit;
    let map = world.map(home.unit);
    let is_pure = |item: &InitItem| matches!(item.value, Constant::Function(f) if unit.symbol(f) == PURE);
    let is_abstract = items.iter().any(is_pure);
    let group =
        |&(_, to_top): &(u64, i64)| Group { class, is_abstract, delta: -to_top, slots: vec![], offsets: vec![] };
    let mut groups: Vec<Group> = starts.iter().map(group).collect();
    for item in items {
        let group = starts.partition_point(|s| s.0 <= item.offset);
        if let (Some(number), Some((start, _))) = (number(item.value), starts.get(group)) {
            groups[group].offsets.push((item.offset as i64 - *start as i64, number));
        }
        let Constant::Function(function) = item.value else { continue };
        if group == 0 || NOT_CALLED.contains(&unit.symbol(function)) {
            continue;
        }
        let slot = (item.offset - starts[group - 1].0) / word;
        groups[group - 1].slots.push((slot as u32, map.functions.first(function)));
    }
    groups
}

/// Clang fills tables with pointers, and makes pointers of the numbers among them.
fn number(value: Constant) -> Option<i64> {
    match value {
        Constant::Pointer(value) => Some(value as i64),
        _ => value.as_signed(),
    }
}

fn items<'a>(world: &World<'a>, global: GlobalVarId) -> &'a [InitItem] {
    match &world.global(global).init {
        Initialiser::Items { items, .. } => items,
        _ => &[],
    }
}

fn pointer_bytes(world: &World<'_>, global: GlobalVarId) -> u8 {
    world.units[world.linked.globals[global].unit.index()].unit.pointer_bytes.max(1)
}

/// The class whose type information an item points to.
fn type_information<'a>(world: &World<'a>, holder: GlobalVarId, item: &InitItem) -> Option<&'a str> {
    let Constant::Global { global, offset: 0 } = item.value else { return None };
    let unit = &world.units[world.linked.globals[holder].unit.index()].unit;
    unit.str(unit.globals[global].symbol).strip_prefix("_ZTI")
}

/// The mangled class of a method, as it stands in the name of the class's table: `3Foo` of `_ZN3Foo3barEv`, `N2ns3FooE` of
/// `_ZN2ns3Foo3barEv`. Only plain names are understood; templates and substitutions say nothing.
fn class_of_method(symbol: &str) -> Option<String> {
    let nested = symbol.strip_prefix("_ZN")?.trim_start_matches(['K', 'V', 'R', 'O']);
    let mut rest = nested;
    let mut ends = Vec::new();
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: usize = rest[..digits].parse().ok()?;
        rest = rest.get(digits.checked_add(length)?..)?;
        ends.push(nested.len() - rest.len());
    }
    // The last part is the method, unless what follows is an operator, constructor or destructor.
    let is_special = rest.starts_with(|c: char| c.is_ascii_lowercase() || c == 'C' || c == 'D');
    let classes = if is_special { ends.as_slice() } else { ends.split_last()?.1 };
    let name = nested.get(..*classes.last()?)?;
    Some(if classes.len() == 1 { name.to_owned() } else { format!("N{name}E") })
}

/// Whether a symbol is that of a constructor: `C1` or `C2` behind the name of the class and its template arguments.
pub fn is_constructor(symbol: &str) -> bool {
    is_special_member(symbol, &["C1", "C2"])
}

/// Whether a symbol is that of a destructor. `D0` frees the object too, `D1` ends the bases that are virtual, and `D2` is what both call.
pub fn is_destructor(symbol: &str) -> bool {
    is_special_member(symbol, &["D0", "D1", "D2"])
}

fn is_special_member(symbol: &str, marks: &[&str]) -> bool {
    let Some(nested) = symbol.strip_prefix("_ZN") else { return false };
    let mut rest = nested.trim_start_matches("St");
    while let Some(length) = rest.split(|c: char| !c.is_ascii_digit()).next().filter(|d| !d.is_empty()) {
        let end = length.parse::<usize>().ok().and_then(|n| n.checked_add(length.len()));
        match end.and_then(|end| rest.get(end..)) {
            Some(next) => rest = next,
            None => return false,
        }
    }
    let is_behind_arguments = || marks.iter().any(|mark| rest.contains(&format!("E{mark}")));
    marks.iter().any(|mark| rest.starts_with(mark)) || (rest.starts_with('I') && is_behind_arguments())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_of_a_method() {
        assert_eq!(class_of_method("_ZN3Foo3barEv").as_deref(), Some("3Foo"));
        assert_eq!(class_of_method("_ZNK3Foo3barEv").as_deref(), Some("3Foo"));
        assert_eq!(class_of_method("_ZN3FooD2Ev").as_deref(), Some("3Foo"));
        assert_eq!(class_of_method("_ZN3FooeqERKS_").as_deref(), Some("3Foo"));
        assert_eq!(class_of_method("_ZN2ns3Foo3barEv").as_deref(), Some("N2ns3FooE"));
        assert_eq!(class_of_method("_Z3bari").as_deref(), None);
        assert_eq!(class_of_method("main").as_deref(), None);
    }

    #[test]
    fn classes_that_one_unit_knows() {
        assert_eq!(unnamed_class("N12_GLOBAL__N_13FooE"), Some("Foo"));
        assert_eq!(unnamed_class("N2ns12_GLOBAL__N_15Outer3FooE"), Some("Foo"));
        assert_eq!(unnamed_class("N12_GLOBAL__N_13FooIiEE"), Some("Foo"));
        assert_eq!(unnamed_class("Z3barvE3Foo"), Some("Foo"));
        assert_eq!(unnamed_class("3Foo"), None);
        assert_eq!(unnamed_class("N2ns3FooE"), None);
    }

    #[test]
    fn constructors_are_told_by_their_symbols() {
        for symbol in ["_ZN3FooC1Ev", "_ZN2ns3FooC2ERKS0_", "_ZNSt6vectorIPcSaIS0_EEC2Ev"] {
            assert!(is_constructor(symbol), "{symbol}");
        }
        for symbol in ["_ZN3FooD1Ev", "_ZN3Foo2C1Ev", "_Z2C1v", "main", "_ZN99C1", "_ZNSt6vectorIPcE4pushEv"] {
            assert!(!is_constructor(symbol), "{symbol}");
        }
    }

    #[test]
    fn bases_are_found_with_their_places() {
        let mut h = Hierarchy::default();
        let (a, b, c, d) = (h.class("1A"), h.class("1B"), h.class("1C"), h.class("1D"));
        h.add_base(c, a, Some(0));
        h.add_base(c, b, Some(16));
        h.add_base(d, c, Some(8));
        h.add_base(a, d, None);
        let found = h.ancestors(d);
        assert!(found.contains(&(b, Some(24))) && found.contains(&(a, Some(8))) && found.contains(&(d, None)));
    }
}
