//! The call graph as a whole: order, depth, determinism, numbers, drawings.

use caulk_program::{Program, ProgramConfig, calls_dot, cfg_dot};

use crate::support::{calls_of, function, program, unit};

#[test]
fn groups_come_bottom_up() {
    let p = program(&["define @top() {\n call void @even()\n call void @puts()\n return\n}\n\
         define @even() {\n call void @odd()\n return\n}\ndefine @odd() {\n call void @even()\n call void @leaf()\n return\n}\n\
         define @leaf() {\n return\n}"]);
    let groups: Vec<Vec<&str>> = p.sccs().iter().map(|g| g.iter().map(|f| p.function(*f).symbol).collect()).collect();
    assert_eq!(groups, [vec!["leaf"], vec!["even", "odd"], vec!["puts"], vec!["top"]]);
    let odd = function(&p, "odd");
    assert_eq!(p.callers(odd).map(|f| p.function(f).symbol).collect::<Vec<_>>(), ["even"]);
    assert_eq!(p.callees(odd).map(|f| p.function(f).symbol).collect::<Vec<_>>(), ["even", "leaf"]);
}

#[test]
fn a_chain_of_a_hundred_thousand_calls() {
    let length = 100_000;
    let mut text = String::from("unit \"/0.c\" pointer 8\n");
    for i in 0..length {
        text += &format!("define @f{i}() {{\n call void @f{}()\n return\n}}\n", i + 1);
    }
    let p = Program::link(vec![unit(&text)], ProgramConfig::default());
    assert_eq!(p.sccs().len(), length + 1);
    assert_eq!(p.function(p.sccs()[0][0]).symbol, format!("f{length}"));
    assert_eq!(p.function(p.sccs()[length][0]).symbol, "f0");
}

/// Units with shared helpers, tables, weak and private symbols.
fn many_units() -> Vec<caulk_program::UnitInput> {
    (0..40)
        .map(|i| {
            let (dir, other) = (i % 5, (i * 7 + 3) % 40);
            let entry = if i % 8 == 0 { "define @main() {\n call void @helper()\n call void @w()\n return\n}\n" } else { "" };
            let helper = if i % 6 == 1 { "define @helper() {\n return\n}\n" } else { "" };
            unit(&format!(
                "unit \"/d{dir}/{i}.c\" pointer 8\nstruct ops size 16 {{\n a: 0 -> * fn\n b: 8 -> * fn\n}}\n\
                 global @table{i} size 32 const -> ops = {{ +0 &@g{i}, +8 &@s, +16 &@g{other}, +24 &@w }}\n\
                 declare @g{other}()\n{entry}{helper}\
                 define internal @s() {{\n call void @g{other}()\n return\n}}\n\
                 define weak @w() {{\n call void @s()\n return\n}}\n\
                 define @g{i}() {{\n call void @h{i}(ptr @table{i})\n call void @helper()\n return\n}}\n\
                 define @h{i}(o: ptr -> *ops) {{\n %x = address %o, ops.b\n %c = load ptr %x\n call void %c()\n return\n}}\n"
            ))
        })
        .collect()
}

fn dump(p: &Program) -> String {
    let mut text = format!("{:?}\n{:?}\n{:?}\n", p.totals(), p.sccs(), p.missing_bodies());
    for f in p.functions() {
        text += &format!("{f} {} -> {}\n", p.function(f).symbol, calls_of(p, f));
    }
    text + &calls_dot(p, None, 0)
}

#[test]
fn any_number_of_threads_gives_the_same_program() {
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| dump(&Program::link(many_units(), ProgramConfig::default())))
    };
    let one = with_threads(1);
    assert_eq!(one, with_threads(4));
    assert_eq!(one, with_threads(3));
}

#[test]
fn totals_count_everything() {
    let p = program(&[
        "unknown vector 2\nstruct s size 8 {\n f: 0 -> * fn\n}\nglobal @g size 8\n\
         define @f(cb: ptr -> * fn, o: ptr -> *s) {\n call void %cb()\n call void @ext()\n call void @ext()\n\
         call void asm \"nop\"()\n call void &@f2()\n jump b\nb: return\n}\ndefine @f2() {\n return\n}",
        "unknown vector 1",
    ]);
    let t = p.totals();
    assert_eq!((t.units, t.functions_with_body, t.functions_without_body), (2, 2, 1));
    assert_eq!((t.blocks, t.instructions), (3, 10));
    assert_eq!((t.direct_calls, t.assembly_calls, t.indirect_calls), (2, 1, 2));
    assert_eq!((t.indirect_resolved, t.indirect_many, t.indirect_unresolved), (1, 0, 1));
    assert_eq!((t.globals, t.struct_types, t.sccs, t.largest_scc), (1, 1, 3, 1));
    assert_eq!(t.unknown_values.values().sum::<u64>(), 3);
    let missing: Vec<_> = p.missing_bodies().iter().map(|m| (p.function(m.0).symbol, m.1)).collect();
    assert_eq!(missing, [("ext", 2)]);
}

#[test]
fn the_neighbourhood_of_a_function_as_a_graph() {
    let p = program(&["define @a() {\n call void @b()\n return\n}\ndefine @b() at 7 {\n call void @c()\n return\n}\n\
         define @c() {\n call void @d()\n return\n}\ndefine @d() {\n return\n}\ndefine @far() {\n call void @a()\n return\n}"]);
    let expected = "digraph calls {\n  node [shape=box, fontname=monospace];\n  func0 [label=\"a\"];\n  \
                    func1 [label=\"b\\n0.c:7\", style=bold];\n  func2 [label=\"c\"];\n  func0 -> func1;\n  \
                    func1 -> func2;\n}\n";
    assert_eq!(calls_dot(&p, Some(function(&p, "b")), 1), expected);
    assert!(calls_dot(&p, None, 1).contains("func4 -> func0;"));
}

#[test]
fn the_control_flow_as_a_graph() {
    let p = program(&[
        "global @.s size 3 const = \"a\\\"b\"\ndefine @f(n: i32) at 1 {\n %c = eq i32 %n, 0 @ 2:3\n branch %c, t, e @ 2:7\n\
         t: call void asm \"say \\\"hi\\\"\"() @ 3:5\n jump e\ne: return\n}",
    ]);
    let dot = cfg_dot(&p, function(&p, "f"));
    assert!(dot.contains("block0 -> block1 [label=\"true\"];"), "{dot}");
    assert!(dot.contains("block0 -> block2 [label=\"false\"];"), "{dot}");
    assert!(dot.contains("@ 2:3\\l"), "{dot}");
    // Quotes inside of a label are escaped once for the text form and once for Graphviz.
    assert!(dot.contains(r#"asm \"say \\\"hi\\\"\""#), "{dot}");
    let p = program(&["declare @g()"]);
    assert_eq!(cfg_dot(&p, function(&p, "g")), "digraph \"g\" {\n  node [shape=box, fontname=monospace];\n}\n");
}
