//! The containers of the C++ standard library: what their member functions do with the elements.
//!
//! Their code is in headers, so it could be read like any other, but it speaks of arrays, nodes and iterators, and what it
//! says of one element is lost on the way. A container of pointers owns nothing it points to: what it alone holds is lost
//! with it. Elements that are structures go out of sight.

/// What a member function of a container does with the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// The last argument points to an element, which goes in.
    Adds,
    /// The result is a reference to an element.
    Gives,
    /// A constructor. It copies the elements of another container, if that is its argument.
    Makes,
    /// Tells how many there are.
    Counts,
    /// Tells whether there is none.
    AsksEmpty,
    /// Nothing: makes room, or destroys the container.
    Leaves,
    /// What the last argument points to is copied into the container, which holds what the copy leads to.
    Copies,
    /// The same of a map of pointers: the last argument is an element, or a pair with one.
    AddsPair,
    /// Anything else, such as giving out an iterator: code that has it may do anything to any element.
    Other,
}

impl Member {
    /// Whether an element goes in as it is.
    #[must_use]
    pub fn adds(self) -> bool {
        matches!(self, Self::Adds | Self::AddsPair)
    }
}

/// Containers whose first template argument is what they hold.
const SEQUENCES: [&str; 7] = ["vector", "list", "deque", "forward_list", "stack", "queue", "priority_queue"];
/// Bases of sequences.
const BASES: [(&str, &str); 3] = [("_List_base", "list"), ("__list_imp", "list"), ("_Fwd_list_base", "list")];
/// Containers whose second one is.
const MAPS: [&str; 2] = ["map", "unordered_map"];
/// Containers whose elements are reached through iterators only, and which hold what they are ordered by.
const SETS: [&str; 4] = ["set", "multiset", "unordered_set", "unordered_multiset"];
/// Those of which only iterators tell where something is.
const MULTIMAPS: [&str; 2] = ["multimap", "unordered_multimap"];

/// Classes that hold one value or none, or one of several kinds: which, nothing here follows. What goes in stays there.
const OPTIONALS: [&str; 3] = ["optional", "variant", "any"];

const ADDS: [&str; 8] =
    ["push_back", "push_front", "push", "insert", "emplace", "emplace_back", "emplace_front", "insert_after"];
const GIVES: [&str; 5] = ["operator[]", "at", "front", "back", "top"];
/// The end of a container by itself leads to no element; code that walks there has its start from another member.
/// What is taken out or cleared has no owner, unless it was fetched before.
const LEAVES: [&str; 14] = [
    "capacity",
    "max_size",
    "reserve",
    "get_allocator",
    "clear",
    "end",
    "cend",
    "pop_back",
    "pop_front",
    "pop",
    "erase",
    "resize",
    "shrink_to_fit",
    "count",
];

/// What a function does, by its name in the source with template arguments, if it is a member of a container whose elements
/// matter.
#[must_use]
pub fn container_member(name: &str) -> Option<Member> {
    let parts = split(name, "::");
    let (member, rest) = parts.split_last()?;
    let member = without_tags(member);
    let (class, namespaces) = rest.split_last()?;
    if namespaces.is_empty() {
        return qt_member(class, member);
    }
    // Versions of the library live in namespaces of their own: `std::__cxx11`, `std::__1`.
    let (std, versions) = namespaces.split_first()?;
    if *std != "std" || !versions.iter().all(|n| n.starts_with("__")) {
        return None;
    }
    let plain = |name: &str| name.split('<').next().unwrap_or_default().to_owned();
    if OPTIONALS.contains(&plain(class).as_str()) {
        let is_filled = [plain(class).as_str(), "operator=", "emplace"].contains(&plain(member).as_str());
        return is_filled.then_some(Member::Copies);
    }
    let (class, arguments) = class.split_once('<')?;
    let arguments = split(arguments.strip_suffix('>')?, ",");
    // Where the destructor of a container only calls that of its base, compilers make them one.
    let (class, member) = match BASES.iter().find(|(base, _)| *base == class) {
        Some((base, list)) if member.strip_prefix('~') == Some(base) => (*list, "~list"),
        Some(_) => return None,
        None => (class, member),
    };
    let held = match class {
        class if SEQUENCES.contains(&class) => arguments.first(),
        class if MAPS.contains(&class) => arguments.get(1),
        class if SETS.contains(&class) => arguments.first(),
        class if MULTIMAPS.contains(&class) => None,
        _ => return None,
    };
    let holds_pointers = held.is_some_and(|ty| ty.ends_with('*'));
    let copies = ADDS.contains(&member.split('<').next().unwrap_or(member));
    match (holds_pointers, copies) {
        (true, _) => Some(classify(class, member)),
        (false, true) => Some(Member::Copies),
        (false, false) => None,
    }
}

/// Qt's containers: those of a list, and those whose second template argument is what they hold.
const QT_LISTS: [&str; 5] = ["QList", "QVector", "QLinkedList", "QQueue", "QStack"];
const QT_MAPS: [&str; 2] = ["QMap", "QHash"];

/// The same for containers of Qt.
fn qt_member(class: &str, member: &str) -> Option<Member> {
    let (class, arguments) = class.split_once('<')?;
    let arguments = split(arguments.strip_suffix('>')?, ",");
    let is_map = QT_MAPS.contains(&class);
    let held = if QT_LISTS.contains(&class) { arguments.first() } else { arguments.get(1).filter(|_| is_map) };
    held.filter(|ty| ty.ends_with('*'))?;
    Some(match member {
        "append" | "prepend" | "push_back" | "push_front" | "push" | "enqueue" if !is_map => Member::Adds,
        "insert" | "insertMulti" => Member::Adds,
        "operator[]" | "at" | "first" | "last" | "front" | "back" | "top" | "head" => Member::Gives,
        "clear" | "removeAt" | "removeFirst" | "removeLast" | "removeAll" | "removeOne" | "remove" | "reserve"
        | "squeeze" | "pop_back" | "pop_front" | "contains" | "indexOf" | "end" | "cend" | "constEnd" | "keys" => {
            Member::Leaves
        }
        "size" | "count" | "length" => Member::Counts,
        "isEmpty" | "empty" => Member::AsksEmpty,
        name if name == class => Member::Makes,
        name if name.strip_prefix('~') == Some(class) => Member::Leaves,
        _ => Member::Other,
    })
}

/// What a map of the standard library, by its name in the source with template arguments, leads to from its keys.
#[must_use]
pub fn mapped_type(class: &str) -> Option<&str> {
    let (name, arguments) = class.strip_prefix("std::")?.split_once('<')?;
    let name = name.rsplit("::").next().unwrap_or(name);
    let arguments = split(arguments.strip_suffix('>')?, ",");
    MAPS.contains(&name).then(|| arguments.get(1).copied()).flatten()
}

/// The last part of a name, without the tags by which the library distinguishes its binary interfaces: `erase[abi:cxx11]`.
#[must_use]
pub fn member_name(name: &str) -> &str {
    without_tags(name.rsplit("::").next().unwrap_or_default())
}

fn without_tags(member: &str) -> &str {
    member.split("[abi:").next().unwrap_or(member)
}

/// Whether a class, by its name in the source with template arguments, is a container of pointers.
#[must_use]
pub fn is_pointer_container(class: &str) -> bool {
    container_member(&format!("{class}::size")) == Some(Member::Counts)
}

/// Whether a class, by its name in the source with template arguments, is a template of the program's own that is given a type of
/// pointers: it may hold them.
#[must_use]
pub fn is_own_pointer_template(class: &str) -> bool {
    let Some(arguments) = class.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>')) else { return false };
    !class.starts_with("std::") && split(arguments, ",").iter().any(|argument| argument.ends_with('*'))
}

/// Whether a function, by its name in the source, is the member of an allocator of the standard library that gives memory back.
#[must_use]
pub fn is_deallocation(name: &str) -> bool {
    let parts = split(name, "::");
    matches!(parts.as_slice(), ["std" | "__gnu_cxx", .., "deallocate"])
}

/// Whether a class, by its name in the source with template arguments, is a template that is given a type itself: `Array<Item>`.
#[must_use]
pub fn is_template_of(class: &str, ty: &str) -> bool {
    let arguments = class.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    arguments.is_some_and(|arguments| split(arguments, ",").contains(&ty))
}

fn classify(class: &str, member: &str) -> Member {
    let is_map = MAPS.contains(&class);
    // A template that inserts is given a range, one that emplaces an element; that of a map may be given a pair.
    let takes_element = member.starts_with("emplace") || (is_map && member.starts_with("insert<"));
    let plain = if takes_element { member.split('<').next().unwrap_or(member) } else { member };
    match plain {
        name if ADDS.contains(&name) => match is_map {
            true if is_given_range(member) => Member::Copies,
            true => Member::AddsPair,
            false => Member::Adds,
        },
        name if GIVES.contains(&name) => Member::Gives,
        name if LEAVES.contains(&name) => Member::Leaves,
        "size" => Member::Counts,
        "empty" => Member::AsksEmpty,
        name if name == class => Member::Makes,
        name if name.strip_prefix('~') == Some(class) => Member::Leaves,
        _ => Member::Other,
    }
}

/// Whether a template is given iterators, or references to what the parts of an element are made of.
fn is_given_range(member: &str) -> bool {
    member.contains("iterator") || member.contains("piecewise") || member.contains("std::tuple<")
}

/// Whether a function, by its name in the source, is a member of an iterator of the standard library that leads to elements. It holds
/// nothing, and moving it on leaves all elements where they are.
#[must_use]
pub fn is_iterator_member(name: &str) -> bool {
    let parts = split(name, "::");
    let Some((_, classes)) = parts.split_last().filter(|_| matches!(parts.first(), Some(&("std" | "__gnu_cxx"))))
    else {
        return false;
    };
    let class = classes.last().map(|class| class.split('<').next().unwrap_or_default()).unwrap_or_default();
    class.ends_with("iterator") && !class.ends_with("insert_iterator")
}

/// Containers that keep each element in a node of its own.
const NODES: [&str; 10] = [
    "list",
    "forward_list",
    "map",
    "multimap",
    "set",
    "multiset",
    "unordered_map",
    "unordered_multimap",
    "unordered_set",
    "unordered_multiset",
];

/// Whether a function, by its name in the source, is a member by which a container of nodes makes one. Its code links nodes and the container
/// with each other, and none of that concerns a caller.
#[must_use]
pub fn makes_node(name: &str) -> bool {
    let parts = split(name, "::");
    let Some((member, rest)) = parts.split_last().filter(|_| parts.first() == Some(&"std")) else { return false };
    let plain = |name: &str| name.split('<').next().unwrap_or_default().to_owned();
    let is_node = rest.last().is_some_and(|class| class.contains('<') && NODES.contains(&plain(class).as_str()));
    let member = plain(without_tags(member));
    is_node && (ADDS.contains(&member.as_str()) || MAKES_NODES.contains(&member.as_str()))
}

const MAKES_NODES: [&str; 4] = ["operator[]", "try_emplace", "insert_or_assign", "emplace_hint"];

/// Classes of the standard library that look after the memory they need themselves, whatever they hold, and their bases.
const SELF_CONTAINED: [&str; 21] = [
    "_Vector_base",
    "_Bvector_base",
    "_List_base",
    "_Fwd_list_base",
    "_Deque_base",
    "_Rb_tree",
    "_Hashtable",
    "_Hashtable_alloc",
    "basic_string",
    "function",
    "_Function_base",
    "_Any_data",
    "__hash_table",
    "__tree",
    "__split_buffer",
    "__list_imp",
    "shared_ptr",
    "__shared_ptr",
    "__shared_count",
    "__shared_weak_count",
    "weak_ptr",
];

/// Whether a function, by its name in the source, is a member of a container, a string or the like. Nodes and buffers that
/// such a class allocates are its own affair.
#[must_use]
pub fn is_self_contained(name: &str) -> bool {
    let parts = split(name, "::");
    let Some((&"std", rest)) = parts.split_first() else { return false };
    // Versions of the library and its details live in namespaces of their own.
    let class = rest.iter().find(|part| part.contains('<') || !part.starts_with("__"));
    let Some(class) = class.and_then(|class| class.split('<').next()).filter(|_| rest.len() > 1) else { return false };
    let lists: [&[&str]; 5] = [&SEQUENCES, &MAPS, &SETS, &MULTIMAPS, &SELF_CONTAINED];
    lists.iter().any(|list| list.contains(&class))
}

/// Splits where no template argument list is open.
fn split<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'<' | b'(' => depth += 1,
            b'>' | b')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && text.as_bytes()[at..].starts_with(separator.as_bytes()) => {
                parts.push(text[start..at].trim());
                at += separator.len();
                start = at;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_containers_of_pointers() {
        let vector = |member: &str| container_member(&format!("std::vector<char*, std::allocator<char*> >::{member}"));
        assert_eq!(vector("push_back"), Some(Member::Adds));
        assert_eq!(vector("emplace_back<char*&>"), Some(Member::Adds));
        assert_eq!(vector("insert<char**, void>"), Some(Member::Other));
        assert_eq!(vector("operator[]"), Some(Member::Gives));
        assert_eq!(vector("vector"), Some(Member::Makes));
        assert_eq!(vector("~vector"), Some(Member::Leaves));
        assert_eq!(vector("begin"), Some(Member::Other));
        let list = "std::__cxx11::list<ns::T<int>*, std::allocator<ns::T<int>*> >::push_back";
        assert_eq!(container_member(list), Some(Member::Adds));
        let map = "std::map<int, char*, std::less<int>, std::allocator<std::pair<int const, char*> > >";
        assert_eq!(container_member(&format!("{map}::operator[]")), Some(Member::Gives));
        assert_eq!(container_member(&format!("{map}::insert")), Some(Member::AddsPair));
        assert_eq!(container_member(&format!("{map}::insert<std::_Rb_tree_iterator<X> >")), Some(Member::Copies));
        assert_eq!(container_member(&format!("{map}::insert<std::pair<int, char*> >")), Some(Member::AddsPair));
        assert_eq!(container_member("std::__cxx11::_List_base<T*, A>::~_List_base"), Some(Member::Leaves));
        assert_eq!(container_member("QList<T*>::append"), Some(Member::Adds));
        assert_eq!(container_member("QHash<QString, T*>::value"), Some(Member::Other));
        assert_eq!(container_member("QList<QString>::append"), None);
        assert_eq!(container_member("std::vector<Pair, std::allocator<Pair> >::push_back"), Some(Member::Copies));
        assert_eq!(container_member("std::optional<int*>::optional<int*, true>"), Some(Member::Copies));
        assert_eq!(container_member("std::variant<int, int*>::operator=<int*>"), Some(Member::Copies));
        assert_eq!(container_member("std::optional<int*>::operator*"), None);
        assert_eq!(container_member("std::set<char*, std::less<char*> >::insert"), Some(Member::Adds));
        assert_eq!(container_member("std::set<char*, std::less<char*> >::find"), Some(Member::Other));
    }

    #[test]
    fn templates_of_the_program_that_are_given_pointers() {
        assert!(is_own_pointer_template("Array<ns::Item *>"));
        assert!(is_own_pointer_template("Table<int, Item *>"));
        assert!(is_deallocation("std::__new_allocator<Item>::deallocate") && !is_deallocation("my::pool::deallocate"));
        assert!(is_template_of("Array<ns::Item, 4>", "ns::Item"));
        assert!(!is_template_of("Array<Item *>", "Item") && !is_template_of("Item", "Item"));
        for class in ["Array<Item>", "Array<Holder<Item *> >", "std::vector<Item *>", "Item", "<", ""] {
            assert!(!is_own_pointer_template(class), "{class}");
        }
    }

    #[test]
    fn classes_that_look_after_their_own_memory() {
        for name in [
            "std::vector<Part, std::allocator<Part> >::push_back",
            "std::_Vector_base<Part, std::allocator<Part> >::_Vector_base",
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append",
            "std::__detail::_Hashtable_alloc<std::allocator<int> >::_M_allocate_node<int>",
        ] {
            assert!(is_self_contained(name), "{name}");
        }
        for name in [
            "std::unique_ptr<int, std::default_delete<int> >::reset",
            "std::make_unique<int, int>",
            "my::vector<int>::f",
            "f",
        ] {
            assert!(!is_self_contained(name), "{name}");
        }
    }

    #[test]
    fn everything_else_is_none_of_these() {
        for name in [
            "std::vector<int, std::allocator<int> >::size",
            "std::set<int, std::less<int> >::find",
            "std::map<char*, int, std::less<char*> >::operator[]",
            "my::vector<char*>::push_back",
            "std::vector<char*>::_Temporary_value::_M_val",
            "main",
            "operator<",
            "",
            "std::<::>::",
        ] {
            assert_eq!(container_member(name), None, "{name}");
        }
    }
}
