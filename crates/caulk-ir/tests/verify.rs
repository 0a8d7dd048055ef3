//! The verifier: sound units pass, and each thing that can be wrong has its message.

use caulk_ir::text::parse_unit;
use caulk_ir::verify::verify_unit;
use caulk_ir::{
    Alias, AliasTarget, BlockId, Body, Callee, ConstId, Constant, FileId, FunctionId, GlobalId, Inlined, Inst, InstId,
    Linkage, Operand, Param, PlaceId, Pointee, StrId, StructId, Type, Unit, VarId,
};

fn parse(text: &str) -> Unit {
    parse_unit(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn messages(unit: &Unit) -> Vec<String> {
    verify_unit(unit).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// `lines` is the body of a function that returns nothing.
fn check(lines: &str, expected: &[&str]) {
    let unit = parse(&format!("define @f(p: ptr, n: i32) {{\n{lines}\n}}"));
    assert_eq!(messages(&unit), expected, "{lines}");
}

/// A sound unit, spoiled in a way that text cannot say.
fn check_spoiled(spoil: impl FnOnce(&mut Unit, &mut Body), expected: &[&str]) {
    let mut unit = parse(
        "struct s {\n a: 0\n b: 8\n}\nglobal @g size 16 = { +0 null, +8 1:i8 }\ndefine @f(p: ptr) {\n var v\n \
         %l = local 8 var v\n scope_start %l\n bind v, %p @ 1:2\n call void @h(ptr null)\n %a = address %p, s.b\n return\n}",
    );
    assert_eq!(messages(&unit), [""; 0]);
    let mut body = unit.functions[FunctionId(0)].body.take().unwrap();
    spoil(&mut unit, &mut body);
    unit.functions[FunctionId(0)].body = Some(body);
    assert_eq!(messages(&unit), expected);
}

#[test]
fn everything_is_sound() {
    assert_eq!(messages(&parse(include_str!("units/everything.ir"))), [""; 0]);
}

#[test]
fn blocks_have_their_shape() {
    check("", &["@f: the body has no blocks"]);
    check("a:\nb: return", &["@f, block0: it is empty"]);
    check("%x = local 8", &["@f, block0, `%2 = local 8`: the block does not end in a terminator"]);
    check("return\nreturn", &["@f, block0, `return`: a terminator stands before the end of the block"]);
    check(
        "jump a\na: %x = local 8\n%y = phi i32 [a: 0]\njump a",
        &["@f, block1, `%4 = phi i32 [block1: 0]`: a phi stands after other instructions"],
    );
}

#[test]
fn control_flow_is_whole() {
    check("a: jump a", &["@f, block0: the entry can be reached from block0"]);
    check("return\nb: return", &["@f, block1: no way leads here from the entry"]);
    check(
        "%c = eq i32 %n, 0\nbranch %c, a, b\na: jump b\nb: %x = phi i32 [a: 0]\nreturn",
        &["@f, block2, `%5 = phi i32 [block1: 0]`: no value comes from block0"],
    );
    check(
        "jump a\na: %x = phi i32 [b: 1, c: 2]\nreturn\nb: unreachable\nc: unreachable",
        &[
            "@f, block1, `%3 = phi i32 [block2: 1, block3: 2]`: no value comes from block0",
            "@f, block1, `%3 = phi i32 [block2: 1, block3: 2]`: a value comes from block2, which does not lead here",
            "@f, block1, `%3 = phi i32 [block2: 1, block3: 2]`: a value comes from block3, which does not lead here",
            "@f, block2: no way leads here from the entry",
            "@f, block3: no way leads here from the entry",
        ],
    );
    check(
        "a: jump b\nb: %x = phi i32 [a: 1, a: 2]\nreturn",
        &["@f, block1, `%3 = phi i32 [block0: 1, block0: 2]`: two values come from block0"],
    );
    // Two edges from one block are one way in.
    check("a: switch i32 %n { 1 -> b, 2 -> b, else -> b }\nb: %x = phi i32 [a: 1]\nreturn", &[]);
}

#[test]
fn values_are_computed_before_their_use() {
    check(
        "%x = add i32 %y, 1\n%y = add i32 %x, 1\nreturn",
        &["@f, block0, `%2 = add i32 %3, 1`: %3 is not computed on every way to this use"],
    );
    check(
        "%c = eq i32 %n, 0\nbranch %c, a, b\na: %x = add i32 %n, 1\njump b\nb: %y = add i32 %x, 1\nreturn",
        &["@f, block2, `%6 = add i32 %4, 1`: %4 is not computed on every way to this use"],
    );
    check(
        "a: %c = eq i32 %n, 0\nbranch %c, b, c\nb: %x = add i32 %n, 1\njump c\nc: %y = phi i32 [a: %x, b: %x]\nreturn",
        &["@f, block2, `%6 = phi i32 [block0: %4, block1: %4]`: %4 is not computed on every way to this use"],
    );
    check(
        "jump b\nb: scope_end %l\n%l = local 8\nreturn",
        &["@f, block1, `scope_end %4`: %4 is not computed on every way to this use"],
    );
    // Around a loop, a phi may use itself and what comes after it.
    check(
        "a: jump b\nb: %x = phi i32 [a: 0, b: %y]\n%z = phi i32 [a: 0, b: %z]\n%y = add i32 %x, 1\n\
         %c = eq i32 %y, 9\nbranch %c, b, d\nd: return",
        &[],
    );
}

#[test]
fn operands_have_their_types() {
    let at = |inst: &str, problem: &str| {
        let printed = inst.replace("%n", "%1").replace("%p", "%0");
        let makes_value = !["store", "copy", "fill", "call void"].iter().any(|w| inst.starts_with(w));
        let name = if makes_value { "%2 = " } else { "" };
        check(&format!("{inst}\nreturn"), &[&format!("@f, block0, `{name}{printed}`: {problem}")]);
    };
    at("local 1 * %p", "the count is ptr, not an integer");
    at("load ptr %n", "the address is i32, not ptr");
    at("store i32 %p, %p", "the value is ptr, not i32");
    at("store i32 %n, %n", "the address is i32, not ptr");
    at("address %n, +8", "the base is i32, not ptr");
    at("address %p, [%p * 8]", "the index is ptr, not an integer");
    at("copy %n, %p, 8", "the destination is i32, not ptr");
    at("copy %p, %n, 8", "the source is i32, not ptr");
    at("copy %p, %p, %p", "the length is ptr, not an integer");
    at("fill %n, 0, 8", "the destination is i32, not ptr");
    at("fill %p, %n, 8", "the byte is i32, not i8");
    at("add i32 %p, 1", "the left side is ptr, not i32");
    at("eq ptr %p, %n", "the right side is i32, not ptr");
    at("zext i8 %n to i64", "the value is i32, not i8");
    at("select i32 %n, 1, 2", "the condition is i32, not i1");
    at("select i32 true, %p, 2", "the first choice is ptr, not i32");
    at("select i32 true, 1, %p", "the second choice is ptr, not i32");
    at("insert agg8 %n, %n at 0", "the aggregate is i32, not agg8");
    at("call void %n()", "the called value is i32, not ptr");
    at("call void @g(ptr %n)", "argument 0 is i32, not ptr");
    at("call void @g(i32 by_value %n)", "argument 0, passed by value, is i32, not ptr");
}

#[test]
fn terminators_have_their_types() {
    check("branch %n, a, a\na: return", &["@f, block0, `branch %1, block1, block1`: the condition is i32, not i1"]);
    check(
        "switch i8 %n { else -> a }\na: return",
        &["@f, block0, `switch i8 %1 { else -> block1 }`: the value is i32, not i8"],
    );
    check("indirect_jump %n []", &["@f, block0, `indirect_jump %1 []`: the address is i32, not ptr"]);
    check("return %n", &["@f, block0, `return %1`: the returned value is i32, not void"]);
    check(
        "a: jump b\nb: %x = phi ptr [a: %n]\nreturn",
        &["@f, block1, `%3 = phi ptr [block0: %1]`: the value from block0 is i32, not ptr"],
    );
    let unit = parse("define @f() -> ptr { return\n}");
    assert_eq!(messages(&unit), ["@f, block0, `return`: the function returns ptr, and no value is given"]);
}

#[test]
fn a_call_may_disagree_with_what_it_calls() {
    check("call i32 @abs(ptr %p, i32 %n)\n%x = call ptr @abs()\nreturn", &[]);
}

#[test]
fn ids_in_a_body_exist() {
    let retarget = |inst: Inst| move |_: &mut Unit, body: &mut Body| body.insts[InstId(4)] = inst;
    let value = |id: u32| Operand::Value(InstId(id));
    check_spoiled(
        retarget(Inst::Resume { value: value(99) }),
        &[
            "@f, block0, `resume %99`: a terminator stands before the end of the block",
            "@f, block0, `resume %99`: %99 does not exist",
        ],
    );
    check_spoiled(
        retarget(Inst::Bind { var: VarId(3), value: Operand::Const(ConstId(7)) }),
        &[
            "@f, block0, `bind <no var3>, <no const7>`: const7 does not exist",
            "@f, block0, `bind <no var3>, <no const7>`: var3 does not exist",
        ],
    );
    check_spoiled(retarget(Inst::ScopeEnd { local: InstId(0) }), &["@f, block0, `scope_end %0`: %0 is not a local"]);
    check_spoiled(
        retarget(Inst::Param { index: 0, ty: Type::Ptr }),
        &["@f, block0, `%4 = param 0 ptr`: a parameter stands in a block"],
    );
    check_spoiled(
        retarget(Inst::Bind { var: VarId(0), value: value(2) }),
        &["@f, block0, `bind v, %2`: %2 has no value"],
    );
    check_spoiled(
        |_, body| body.insts[InstId(6)] = Inst::Jump { target: BlockId(8) },
        &["@f, block0, `jump block8`: block8 does not exist"],
    );
    check_spoiled(
        |unit, _| unit.structs = Default::default(),
        &["@f, block0, `%5 = address %0, <no struct0>+8`: struct0 does not exist"],
    );
}

#[test]
fn calls_in_a_body_are_whole() {
    fn call(body: &mut Body) -> &mut caulk_ir::CallData {
        let Inst::Call(call) = &mut body.insts[InstId(4)] else { panic!("%4 is the call") };
        call
    }
    check_spoiled(
        |_, body| call(body).callee = Callee::Direct(FunctionId(9)),
        &["@f, block0, `call void <no fn9>(ptr null)`: fn9 does not exist"],
    );
    check_spoiled(
        |_, body| call(body).callee = Callee::Assembly(StrId(99)),
        &["@f, block0, `call void asm \"<no such string>\"(ptr null)`: str99 does not exist"],
    );
    check_spoiled(
        |_, body| call(body).arg_types.clear(),
        &["@f, block0, `call void @h(<no type> null)`: 1 arguments, but 0 types of arguments"],
    );
    check_spoiled(
        |_, body| call(body).by_value.push(1),
        &["@f, block0, `call void @h(ptr null)`: the arguments passed by value are not a rising list of arguments"],
    );
}

#[test]
fn tables_of_a_body_are_whole() {
    check_spoiled(
        |_, b| b.insts[InstId(0)] = Inst::Param { index: 1, ty: Type::Ptr },
        &["@f: instruction 0 is not `param 0 ptr`, as the signature asks"],
    );
    check_spoiled(
        |_, b| b.blocks[BlockId(0)].first = InstId(2),
        &["@f, block0: it begins at %2, but the block before it ends at %1"],
    );
    check_spoiled(
        |_, b| b.blocks[BlockId(0)].end = InstId(99),
        &["@f, block0: it ends at %99, beyond the last instruction"],
    );
    check_spoiled(|_, b| b.blocks[BlockId(0)].end = InstId(4), &["@f: %4 and what follows stand in no block"]);
    check_spoiled(|_, b| b.vars[VarId(0)].name = StrId(99), &["@f: the name of var0, str99, does not exist"]);
    check_spoiled(
        |_, b| b.vars[VarId(0)].param = Some(1),
        &["@f: var0 is a parameter that the function does not have"],
    );
    check_spoiled(
        |_, b| b.vars[VarId(0)].pointee = Pointee { target: Some(StructId(9)), ..Pointee::default() },
        &["@f: struct9 does not exist"],
    );
    check_spoiled(|_, b| b.places[PlaceId(0)].file = FileId(5), &["@f: place0 lies in file5, which does not exist"]);
    check_spoiled(|_, b| b.inst_places[InstId(1)] = PlaceId(9), &["@f: the place of %1, place9, does not exist"]);
    check_spoiled(|_, b| _ = b.inst_places.push(PlaceId(0)), &["@f: 8 places for 7 instructions"]);
    let inlined = |function: u32, at: u32| Some(Inlined { function: StrId(function), at: PlaceId(at) });
    check_spoiled(
        |_, b| b.places[PlaceId(1)].inlined = inlined(99, 0),
        &["@f: the function of place1, str99, does not exist"],
    );
    check_spoiled(
        |_, b| b.places[PlaceId(1)].inlined = inlined(0, 9),
        &["@f: place1 is inlined at place9, which does not exist"],
    );
    check_spoiled(
        |_, b| {
            b.places[PlaceId(0)].inlined = inlined(0, 1);
            b.places[PlaceId(1)].inlined = inlined(0, 0);
        },
        &["@f: a place is inlined into itself"],
    );
}

#[test]
fn constants_are_whole() {
    let constant = |constant: Constant| move |_: &mut Unit, body: &mut Body| body.consts[ConstId(0)] = constant;
    check_spoiled(constant(Constant::Int { bits: 0, value: 0 }), &["@f: an integer constant cannot have 0 bits"]);
    check_spoiled(constant(Constant::Int { bits: 65, value: 0 }), &["@f: an integer constant cannot have 65 bits"]);
    check_spoiled(constant(Constant::Int { bits: 8, value: 256 }), &["@f: the constant 0x100 does not fit into i8"]);
    check_spoiled(constant(Constant::Global { global: GlobalId(4), offset: 0 }), &["@f: global4 does not exist"]);
    check_spoiled(constant(Constant::Function(FunctionId(4))), &["@f: fn4 does not exist"]);
    check_spoiled(constant(Constant::Undef(Type::Void)), &["@f: a constant cannot be void"]);
}

#[test]
fn tables_of_a_unit_are_whole() {
    let (f, g, s) = (FunctionId(0), GlobalId(0), StructId(0));
    let nothing = StrId(99);
    check_spoiled(|u, _| u.pointer_bytes = 3, &["unit \"\": a pointer cannot have 3 bytes"]);
    check_spoiled(|u, _| u.files[FileId(0)] = nothing, &["file0: its path, str99, does not exist"]);
    check_spoiled(|u, _| u.structs[s].name = nothing, &["struct0: its name, str99, does not exist"]);
    check_spoiled(|u, _| u.structs[s].identity = Some(nothing), &["struct s: its identity, str99, does not exist"]);
    check_spoiled(|u, _| u.structs[s].fields.reverse(), &["struct s: its fields do not stand by rising offset"]);
    check_spoiled(
        |u, _| u.structs[s].kind = caulk_ir::StructKind::Union,
        &["struct s: it is a union, and has a field at 8"],
    );
    check_spoiled(|u, _| u.structs[s].fields[1].size = u64::MAX, &["struct s: the field at 8 ends beyond all memory"]);
    check_spoiled(
        |u, _| u.structs[s].fields[0].name = Some(nothing),
        &["struct s: its field's name, str99, does not exist"],
    );
    check_spoiled(|u, _| u.globals[g].file = Some(FileId(7)), &["@g: file7 does not exist"]);
    check_spoiled(|u, _| u.globals[g].size = 8, &["@g: its initial value at 8 lies outside of it"]);
    check_spoiled(
        |u, _| {
            let caulk_ir::Initialiser::Items { items, .. } = &mut u.globals[g].init else { panic!("@g has values") };
            items.reverse();
        },
        &["@g: its initial values do not stand by rising offset"],
    );
    check_spoiled(
        |u, _| u.globals[g].init = caulk_ir::Initialiser::Text(nothing),
        &["@g: its text, str99, does not exist"],
    );
    check_spoiled(|u, _| u.functions[f].annotations.push(nothing), &["@f: its annotation, str99, does not exist"]);
    check_spoiled(
        |u, _| u.functions[f].flags.alloc_size = Some(1),
        &["@f: alloc_size names a parameter that it does not have"],
    );
    let param = Param { name: None, flags: Default::default(), pointee: Pointee::default() };
    check_spoiled(|u, _| u.functions[f].params.push(param), &["@f: 2 parameters, but 1 in its signature"]);
    check_spoiled(
        |u, _| {
            let symbol = u.strings.intern("g");
            u.aliases.push(Alias { symbol, linkage: Linkage::Weak, target: AliasTarget::Global(GlobalId(3)) });
        },
        &["alias @g: global3 does not exist", "@g: several things have this symbol"],
    );
    assert_eq!(messages(&parse("declare @f(void)")), ["@f: a parameter cannot be void"]);
}

#[test]
fn cases_fit_into_the_type_of_their_switch() {
    let mut unit = parse("define @f(n: i32) {\nswitch i32 %n { 1 -> a, else -> a }\na: return\n}");
    let body = unit.functions[FunctionId(0)].body.as_mut().unwrap();
    let Inst::Switch { cases, .. } = &mut body.insts[InstId(1)] else { panic!("the first after the parameter") };
    cases[0].0 = 1 << 40;
    assert!(messages(&unit).iter().any(|m| m.ends_with("the case 0x10000000000 does not fit into i32")));
}
