//! Which structure types are the same.

use caulk_ir::StructId;
use caulk_program::UnitId;

use crate::support::{check, program};

#[test]
fn types_are_unified_by_name_and_layout() {
    let p = program(&[
        "struct node {\n next: 0 -> *node\n}\nstruct opaque size 0\nclass Foo size 16 identity \"_ZTS3Foo\" {\n x: 0\n}",
        "struct node {\n next: 0 -> *node\n}\nstruct node#2 {\n other: 0\n}\nstruct opaque {\n hidden: 0\n}",
        "class Bar size 16 identity \"_ZTS3Foo\" {\n x: 0\n}",
    ]);
    let id = |unit: u32, local: u32| p.resolve_struct(UnitId(unit), StructId(local));
    assert_eq!(id(0, 0), id(1, 0));
    assert_ne!(id(1, 0), id(1, 1));
    assert_eq!(id(0, 1), id(1, 2), "a declaration is the type that has a layout");
    assert_eq!(id(0, 2), id(2, 0), "C++ types go by identity");
    assert_eq!(p.totals().struct_types, 4);
    assert_eq!(p.type_name(id(0, 1)), "opaque");
}

#[test]
fn a_unit_need_not_list_the_fields() {
    let p = program(&[
        "struct ops size 16\nglobal @impl size 16 const -> ops = { +8 &@stop }\ndefine @stop() {\n return\n}\n\
         define @f() {\n call void @use(ptr @impl)\n return\n}",
        "struct other size 8\nstruct ops size 16 {\n start: 0 -> * fn\n stop: 8 -> * fn\n}\n\
         define @use(o: ptr -> *ops) {\n %a = address %o, ops.stop\n %g = load ptr %a\n call void %g()\n return\n}",
        "struct ops size 32\nclass ops#2 size 16 identity \"_ZTS3ops\" {\n start: 0 -> * fn\n stop: 8 -> * fn\n}\n\
         struct ops#3 size 16 {\n _: 0\n _: 8\n}",
    ]);
    check(&p, "use", "stop /0.c");
    let id = |unit: u32, local: u32| p.resolve_struct(UnitId(unit), StructId(local));
    assert_eq!(id(0, 0), id(1, 1));
    assert_ne!(id(0, 0), id(2, 0), "the size differs");
    assert_eq!(id(0, 0), id(2, 1), "a type of C seen from C++");
    assert_eq!(id(0, 0), id(2, 2), "fields without names say no more than the size");
}

#[test]
fn offsets_lead_into_embedded_structures_and_arrays() {
    let p = program(&["struct in size 16 {\n a: 0\n f: 8 -> * fn\n}\n\
         struct out size 56 {\n head: 0\n inner: 8 size 32 -> in\n table: 40 size 16 -> * fn\n}"]);
    let (inner, outer) = (p.resolve_struct(UnitId(0), StructId(0)), p.resolve_struct(UnitId(0), StructId(1)));
    let spot = |offset| p.types().spot(outer, offset);
    assert_eq!((spot(16).ty, spot(16).offset, spot(16).outer), (inner, 8, 16));
    assert_eq!((spot(32).ty, spot(32).offset, spot(32).outer), (inner, 8, 16), "the second element");
    assert_eq!((spot(48).ty, spot(48).offset), (outer, 40), "an array of pointers is one");
    assert_eq!(spot(56 + 16), spot(16), "the second structure of an array");
}
