//! LLVM IR that clang did not make from a source: legal constructs that no C program has, and debug info that LLVM's verifier
//! accepts though nodes have a kind that their users do not expect.

mod common;

use caulk_frontend::Isolated;
use caulk_ir::{Constant, Initialiser, Inst, Type, Unit, UnknownReason};
use common::{Project, config};

/// Lowers a text of LLVM IR; clang must accept it, and nothing of it may be lost.
fn lower(text: &str) -> Unit {
    let project = Project::new(&[("unit.ll", text)]);
    let result = project.read(&["unit.ll"], &[], &config()).pop().expect("one job, one result");
    result.unwrap_or_else(|lost| panic!("{}\n{text}", lost.reason)).unit.unpack()
}

/// Lowers functions with the debug info of a small unit: `!0` is the compile unit, `!1` a file, `!2` a subroutine type, `!3` a
/// subprogram, `!4` a location in it.
fn lower_debug(code: &str, nodes: &str) -> Unit {
    lower(&format!(
        "{code}
declare void @llvm.dbg.declare(metadata, metadata, metadata)
declare void @llvm.dbg.value(metadata, metadata, metadata)
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!100}}
!100 = !{{i32 2, !\"Debug Info Version\", i32 3}}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: \"a.c\", directory: \"/src\")
!2 = !DISubroutineType(types: !{{null}})
!3 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 2, column: 3, scope: !3)
{nodes}"
    ))
}

fn body<'u>(unit: &'u Unit, symbol: &str) -> &'u caulk_ir::Body {
    let id = unit.function_by_symbol(symbol).unwrap_or_else(|| panic!("{symbol} is not in the unit"));
    unit.functions[id].body.as_ref().unwrap_or_else(|| panic!("{symbol} has no body"))
}

/// A function `f` that stores to a variable of this type in debug info.
fn lower_variable(nodes: &str) -> Unit {
    let code = "define void @f(ptr %p) !dbg !3 {
  %s = alloca ptr, !dbg !4
  call void @llvm.dbg.declare(metadata ptr %s, metadata !10, metadata !DIExpression()), !dbg !4
  store ptr %p, ptr %s, !dbg !4
  ret void, !dbg !4
}";
    lower_debug(code, nodes)
}

// Debug info of wrong kinds.

#[test]
fn the_file_of_a_block_is_no_file() {
    let code = "define void @f() !dbg !3 {\n  ret void, !dbg !11\n}";
    let unit = lower_debug(
        code,
        "!10 = distinct !DILexicalBlock(scope: !3, file: !{null}, line: 1)\n!11 = !DILocation(line: 7, column: 1, scope: !10)",
    );
    let lines: Vec<u32> = body(&unit, "f").places.values().map(|p| p.line).collect();
    assert!(lines.contains(&7), "{lines:?}");
}

#[test]
fn the_debug_info_of_a_declaration_is_a_location() {
    let unit = lower_debug("declare !dbg !4 void @g()\ndefine void @f() !dbg !3 {\n  ret void, !dbg !4\n}", "");
    let g = unit.function_by_symbol("g").expect("declared");
    assert_eq!(unit.functions[g].line, 0);
}

#[test]
fn the_debug_info_of_a_declaration_is_of_any_kind() {
    for node in ["!{}", "!{!\"text\", i32 1}", "!DIFile(filename: \"a\", directory: \"b\")", "!DIExpression()", "!0"] {
        let attached = if node == "!0" { node } else { "!10" };
        let nodes = if node == "!0" { String::new() } else { format!("!10 = {node}") };
        lower_debug(&format!("declare !dbg {attached} void @g()"), &nodes);
    }
}

#[test]
fn the_debug_info_of_a_variable_is_no_variable() {
    for node in [
        "!{}",
        "!DIGlobalVariableExpression(var: !1, expr: !DIExpression())",
        "!DILocalVariable(name: \"x\", scope: !3)",
    ] {
        lower_debug("@g = global i32 1, !dbg !10", &format!("!10 = {node}"));
    }
}

#[test]
fn types_of_wrong_kinds() {
    let types = [
        "!1",
        "!{!\"x\"}",
        "!DIDerivedType(tag: DW_TAG_pointer_type, baseType: !{})",
        "!DIDerivedType(tag: DW_TAG_pointer_type, baseType: !3)",
        "!DICompositeType(tag: DW_TAG_structure_type, name: \"s\", scope: !4, elements: !1)",
        "!DICompositeType(tag: DW_TAG_structure_type, name: \"s\", scope: !{}, elements: !{!1, !\"x\", null, i32 3})",
        "!DICompositeType(tag: DW_TAG_structure_type, name: \"s\", elements: !{!DIDerivedType(tag: DW_TAG_inheritance, baseType: !{})})",
        "!DICompositeType(tag: DW_TAG_union_type, name: \"u\", elements: !{!DIDerivedType(tag: DW_TAG_member, name: \"m\", baseType: null, offset: 64, size: 8)})",
        "!DICompositeType(tag: DW_TAG_structure_type, name: \"s\", elements: !{!DIDerivedType(tag: DW_TAG_member, name: \"m\", baseType: null, offset: 18446744073709551608, size: 18446744073709551608)})",
        "!DISubroutineType(types: !1)",
        "!DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)",
    ];
    for ty in types {
        let inline = if ty == "!1" { ty } else { "!11" };
        let node = if ty == "!1" { String::new() } else { format!("!11 = {ty}") };
        lower_variable(&format!(
            "!10 = !DILocalVariable(name: \"p\", scope: !3, file: !1, line: 1, type: {inline})\n{node}"
        ));
    }
}

#[test]
fn a_scope_lies_in_itself() {
    let unit = lower_variable(
        "!10 = !DILocalVariable(name: \"p\", scope: !3, file: !1, line: 1, type: !11)
!11 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: \"s\", scope: !11, file: !1, size: 64, identifier: \"s\")",
    );
    let names: Vec<&str> = unit.structs.values().map(|s| unit.str(s.name)).collect();
    assert!(names.len() == 1 && names[0].ends_with("s::s") && names[0].len() < 4096, "{names:?}");
}

#[test]
fn types_and_scopes_in_circles() {
    let nodes = [
        "!11 = distinct !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !12)
!12 = distinct !DIDerivedType(tag: DW_TAG_typedef, name: \"t\", baseType: !11)",
        "!11 = distinct !DICompositeType(tag: DW_TAG_array_type, baseType: !11, elements: !{})",
        "!11 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: \"a\", scope: !12, size: 64, elements: !13)
!12 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: \"b\", scope: !11, size: 64)
!13 = !{!14}
!14 = distinct !DIDerivedType(tag: DW_TAG_member, name: \"m\", scope: !11, baseType: !11, size: 64)",
    ];
    for types in nodes {
        lower_variable(&format!(
            "!10 = !DILocalVariable(name: \"p\", scope: !3, file: !1, line: 1, type: !11)\n{types}"
        ));
    }
}

/// What an optimiser leaves where a variable is made from two values.
#[test]
fn a_variable_made_from_several_values() {
    let code = "define void @f(i64 %a, i64 %b) !dbg !3 {
  call void @llvm.dbg.value(metadata !DIArgList(i64 %a, i64 %b), metadata !10, metadata !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus, DW_OP_stack_value)), !dbg !4
  call void @llvm.dbg.value(metadata !{}, metadata !10, metadata !DIExpression()), !dbg !4
  call void @llvm.dbg.value(metadata i64 %a, metadata !10, metadata !DIExpression()), !dbg !4
  ret void, !dbg !4
}";
    let unit = lower_debug(code, "!10 = !DILocalVariable(name: \"n\", scope: !3, file: !1, line: 1)");
    let binds = body(&unit, "f").insts.values().filter(|i| matches!(i, Inst::Bind { .. })).count();
    assert_eq!(binds, 1);
}

/// 100 structures whose names are together as long as the file squared.
#[test]
fn names_do_not_multiply() {
    let long = "x".repeat(100_000);
    let structs: String = (200..300)
        .map(|n| {
            format!(
                "!{n} = distinct !DICompositeType(tag: DW_TAG_structure_type, name: \"s{n}\", scope: !11, size: 64)\n"
            )
        })
        .collect();
    let list = (200..300).map(|n| format!("!{n}")).collect::<Vec<_>>().join(", ");
    let unit = lower_debug(
        "define void @f() !dbg !13 {\n  ret void, !dbg !14\n}",
        &format!(
            "!11 = !DINamespace(name: \"{long}\", scope: !12)\n!12 = !DINamespace(name: \"y{long}\", scope: null)\n{structs}
!13 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, type: !2, unit: !15, spFlags: DISPFlagDefinition)
!14 = !DILocation(line: 2, column: 3, scope: !13)
!15 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug, retainedTypes: !{{{list}}})
!llvm.dbg.cu = !{{!15}}"
        ),
    );
    assert_eq!(unit.structs.len(), 100);
    let bytes: usize = unit.structs.values().map(|s| unit.str(s.name).len()).sum();
    assert!(bytes < 100 * 4096, "{bytes}");
}

// Types that core IR has no word for.

#[test]
fn scalable_vectors_are_unknown_values() {
    let unit = lower(
        "define <vscale x 4 x ptr> @f(<vscale x 4 x ptr> %v, ptr %p, i64 %n) {
  %s = alloca <vscale x 4 x ptr>
  store <vscale x 4 x ptr> %v, ptr %s
  %l = load <vscale x 4 x ptr>, ptr %s
  %e = extractelement <vscale x 4 x ptr> %l, i64 0
  store ptr %e, ptr %p
  %g = getelementptr <vscale x 4 x ptr>, ptr %p, i64 %n
  %h = getelementptr i8, <vscale x 4 x ptr> %l, i64 1
  %c = icmp eq <vscale x 4 x ptr> %l, %h
  %z = select <vscale x 4 x i1> %c, <vscale x 4 x ptr> %l, <vscale x 4 x ptr> %h
  store ptr %g, ptr %p
  ret <vscale x 4 x ptr> %z
}
define { <vscale x 2 x i64>, <vscale x 2 x i64> } @pair(<vscale x 2 x i64> %v) {
  %a = insertvalue { <vscale x 2 x i64>, <vscale x 2 x i64> } poison, <vscale x 2 x i64> %v, 0
  %b = insertvalue { <vscale x 2 x i64>, <vscale x 2 x i64> } %a, <vscale x 2 x i64> zeroinitializer, 1
  %x = extractvalue { <vscale x 2 x i64>, <vscale x 2 x i64> } %b, 1
  ret { <vscale x 2 x i64>, <vscale x 2 x i64> } %b
}",
    );
    assert_eq!(unit.functions.values().next().map(|f| f.signature.ret), Some(Type::Vector(0)));
    assert!(unit.unknowns.get(&UnknownReason::Vector).is_some_and(|n| *n >= 3), "{:?}", unit.unknowns);
}

#[test]
fn types_of_one_target_are_unknown_values() {
    lower(
        "@g = global target(\"spirv.DeviceEvent\") zeroinitializer
define target(\"spirv.Image\", void, 1, 1, 0, 0, 0, 0, 0) @f(target(\"spirv.Image\", void, 1, 1, 0, 0, 0, 0, 0) %i, ptr %p) {
  ret target(\"spirv.Image\", void, 1, 1, 0, 0, 0, 0, 0) %i
}
define void @h(ptr %p) {
  %e = load target(\"spirv.DeviceEvent\"), ptr %p
  %s = alloca target(\"spirv.DeviceEvent\")
  store target(\"spirv.DeviceEvent\") %e, ptr %s
  store target(\"spirv.DeviceEvent\") zeroinitializer, ptr %s
  ret void
}
define x86_amx @tile(x86_amx %t) {
  ret x86_amx %t
}
declare x86_amx @llvm.x86.tileloadd64.internal(i16, i16, ptr, i64)
define void @tiles(ptr %p) {
  %t = call x86_amx @llvm.x86.tileloadd64.internal(i16 8, i16 8, ptr %p, i64 64)
  ret void
}",
    );
}

#[test]
fn tokens_are_unknown_values() {
    lower(
        "declare token @llvm.call.preallocated.setup(i32)
declare ptr @llvm.call.preallocated.arg(token, i32)
declare void @g(ptr preallocated(i32))
declare token @llvm.experimental.convergence.entry()
define void @f() convergent {
  %c = call token @llvm.experimental.convergence.entry()
  call void @f() [ \"convergencectrl\"(token %c) ]
  ret void
}
define void @h() {
  %t = call token @llvm.call.preallocated.setup(i32 1)
  %a = call ptr @llvm.call.preallocated.arg(token %t, i32 0) preallocated(i32)
  store i32 1, ptr %a
  call void @g(ptr preallocated(i32) %a) [\"preallocated\"(token %t)]
  ret void
}",
    );
}

#[test]
fn exceptions_of_another_platform() {
    lower(
        "declare i32 @__CxxFrameHandler3(...)
declare void @may_throw()
declare void @handle(ptr)
define void @f() personality ptr @__CxxFrameHandler3 {
  %slot = alloca ptr
  invoke void @may_throw() to label %end unwind label %dispatch
dispatch:
  %s = catchswitch within none [label %handler] unwind label %cleanup
handler:
  %c = catchpad within %s [ptr null, i32 64, ptr %slot]
  %e = load ptr, ptr %slot
  call void @handle(ptr %e) [ \"funclet\"(token %c) ]
  catchret from %c to label %end
cleanup:
  %p = cleanuppad within none []
  cleanupret from %p unwind to caller
end:
  ret void
}",
    );
}

#[test]
fn numbers_of_any_width() {
    let unit = lower(
        "@wide = global i1048576 1
define i1 @f(i1048576 %a, i100000 %b, ptr %p) {
  %z = zext i100000 %b to i1048576
  %s = add i1048576 %a, %z
  %t = trunc i1048576 %s to i8
  store i1048576 %s, ptr %p
  %i = getelementptr i32, ptr %p, i1048576 %s
  store i8 %t, ptr %i
  %n = alloca i32, i1048576 %s
  store i32 0, ptr %n
  %o = atomicrmw add ptr %p, i256 1 seq_cst
  %x = cmpxchg ptr %p, i256 0, i256 1 seq_cst seq_cst
  %c = icmp ult i1048576 %a, 5
  ret i1 %c
}
define i32 @choose(i128 %n, i1048576 %m) {
  switch i128 %n, label %other [ i128 18446744073709551616, label %big i128 0, label %zero ]
big:
  switch i1048576 %m, label %other [ i1048576 1, label %zero ]
zero:
  ret i32 1
other:
  ret i32 2
}
define i128 @constant() {
  ret i128 ptrtoint (ptr getelementptr (i8, ptr null, i64 5) to i128)
}",
    );
    assert_eq!(unit.functions.values().next().map(|f| f.signature.params[0]), Some(Type::Vector(131072)));
}

#[test]
fn floats_of_any_kind() {
    lower(
        "define x86_fp80 @f(bfloat %b, half %h, fp128 %q, ppc_fp128 %p, x86_fp80 %x) {
  %1 = fpext bfloat %b to fp128
  %2 = fadd fp128 %1, %q
  %3 = fcmp olt ppc_fp128 %p, 0xM00000000000000000000000000000000
  %4 = fneg half %h
  %5 = fneg <2 x bfloat> <bfloat 1.0, bfloat 2.0>
  %6 = fadd x86_fp80 %x, 0xK3FFF8000000000000000
  %7 = select i1 %3, x86_fp80 %6, x86_fp80 poison
  ret x86_fp80 %7
}",
    );
}

#[test]
fn odd_control_flow() {
    lower(
        "@table = global [2 x ptr] [ptr blockaddress(@f, %a), ptr blockaddress(@f, %b)]
define void @f(ptr %p) {
  indirectbr ptr %p, [label %a, label %b]
a:
  callbr void asm sideeffect \"\", \"!i\"() to label %b [label %c]
b:
  %r = callbr i32 asm \"\", \"=r,!i\"() to label %d [label %c]
c:
  ret void
d:
  %k = phi i32 [ %r, %b ]
  %v = freeze i32 %k
  store i32 %v, ptr %p
  indirectbr ptr %p, []
}
define void @endless() {
  br label %l
l:
  br label %l
}
define void @dead() {
  unreachable
x:
  %a = add i32 %b, 1
  %b = add i32 %a, 1
  br label %x
}
declare ptr @llvm.invariant.start.p0(i64, ptr)
declare void @llvm.trap()
define ptr @marked(ptr %p) {
  %m = call ptr @llvm.invariant.start.p0(i64 4, ptr %p)
  ret ptr %m
}",
    );
}

#[test]
fn names_that_look_alike() {
    let unit = lower(
        "@0 = global i32 1
@.unnamed.0 = global i32 2
@\"\\FF\" = global i32 3
@\"\\FE\" = global i32 4
define void @1() {
  ret void
}
@f = ifunc void (), ptr @resolve
define ptr @resolve() {
  ret ptr @1
}
define void @calls() {
  call void @f()
  ret void
}
@one = alias i32, ptr @\"\\FF\"
@two = alias i32, ptr @one
@part = alias i8, getelementptr (i8, ptr @two, i64 1)
@three = alias i8, ptr @part",
    );
    assert_eq!((unit.globals.len(), unit.aliases.len()), (4, 4));
}

#[test]
fn constants_of_any_size() {
    let unit = lower(
        "%opaque = type opaque
%empty = type {}
@huge = external global [1152921504606846976 x i8]
@beyond = global [4294967295 x [4294967295 x i64]] zeroinitializer
@undefined = global [4294967295 x ptr] undef
@mixed = global { [4294967295 x ptr], ptr } { [4294967295 x ptr] poison, ptr @mixed }
@wrapped = global { [2305843009213693952 x i64], ptr } { [2305843009213693952 x i64] zeroinitializer, ptr @mixed }
@nothing = global %empty zeroinitializer
@declared = external global %opaque
@array = global [0 x %empty] zeroinitializer
@vector = global <2 x ptr> <ptr @huge, ptr getelementptr (i8, ptr @huge, i64 4)>
@signed = global ptr ptrauth (ptr @beyond, i32 0)
@llvm.global_ctors = appending global [0 x { i32, ptr, ptr }] zeroinitializer
define ptr @f(i64 %n, ptr addrspace(1) %far) {
  %local = alloca [1152921504606846976 x i8]
  %p = getelementptr [1152921504606846976 x i8], ptr %local, i64 %n, i64 %n
  %q = addrspacecast ptr addrspace(1) %far to ptr
  store ptr %p, ptr %q
  %e = alloca %empty
  %x = load %empty, ptr %e
  store %empty %x, ptr %q
  ret ptr addrspacecast (ptr addrspace(1) null to ptr)
}
define { ptr, { [3 x ptr], i8 } } @deep({ ptr, { [3 x ptr], i8 } } %v, i32 %n) {
  %a = extractvalue { ptr, { [3 x ptr], i8 } } %v, 1, 0, 2
  %b = insertvalue { ptr, { [3 x ptr], i8 } } %v, ptr %a, 1, 0, 1
  %c = insertvalue { ptr, { [3 x ptr], i8 } } %b, [3 x ptr] [ptr null, ptr @huge, ptr poison], 1, 0
  ret { ptr, { [3 x ptr], i8 } } %c
}
define i32 @cast() {
  ret i32 bitcast (<4 x i8> <i8 1, i8 2, i8 3, i8 ptrtoint (ptr @huge to i8)> to i32)
}
define ptr @argument(ptr %list) {
  %a = va_arg ptr %list, ptr
  ret ptr %a
}",
    );
    assert!(unit.function_by_symbol("argument").is_some());
}

/// Bitcode stores equal parts once, so a small file may mean more parts than there is memory. Text has to repeat them.
#[test]
fn parts_of_initialisers_are_looked_at_up_to_a_bound() {
    let row = format!("[4096 x i8] c\"{}\"", "a".repeat(4096));
    let table = |rows: usize| {
        let ty = format!("[{rows} x [4096 x i8]]");
        let unit = lower(&format!(
            "@x = global i8 0\n@table = global {{ {ty}, [5000 x ptr] }} {{ {ty} [{}], [5000 x ptr] [{}] }}",
            vec![row.as_str(); rows].join(", "),
            vec!["ptr @x"; 5000].join(", ")
        ));
        let table = unit.globals.values().find(|g| unit.str(g.symbol) == "table").expect("defined");
        let Initialiser::Items { items, .. } = &table.init else { panic!("{:?}", table.init) };
        items.iter().any(|i| matches!(i.value, Constant::Global { .. }))
    };
    assert!(table(400), "the pointer after a large table is seen");
    assert!(!table(600), "what lies beyond the bound is left open");
}

// Lowering in a child.

/// The outcome for a file of bitcode, and for a source beside it, when the child that lowers the first does this.
fn lowered_by(script: &str) -> (String, bool) {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new(&[("unit.ll", "@x = global i32 1"), ("own.c", "int y;"), ("child", script)]);
    let child = project.path("child");
    std::fs::set_permissions(&child, std::fs::Permissions::from_mode(0o755)).expect("our own file");
    let config = caulk_frontend::Config { isolated: Some(Isolated::new(child)), ..config() };
    let results = project.read(&["unit.ll", "own.c"], &[], &config);
    (results[0].as_ref().map_or_else(|lost| lost.reason.clone(), |_| "read".to_owned()), results[1].is_ok())
}

#[test]
fn a_child_that_dies_costs_its_unit_alone() {
    let outcomes = [
        ("kill -SEGV $$", "LLVM cannot cope with this bitcode: reading it crashed"),
        ("exit 3", "LLVM cannot cope with this bitcode: reading it ended with status 3"),
        ("exit 0", "cannot read what was made of it: No such file or directory (os error 2)"),
        ("printf '\\000the reason' > \"$3\"", "the reason"),
        ("printf '\\001nonsense' > \"$3\"", "the stored unit is damaged: a body lies outside of the file"),
        (": > \"$3\"", "internal error, please report it: nothing was made of the bitcode"),
    ];
    for (script, reason) in outcomes {
        assert_eq!(lowered_by(&format!("#!/bin/sh\n{script}\n")), (reason.to_owned(), true), "{script}");
    }
}
