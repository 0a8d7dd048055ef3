//! Objects of one function are searched for together: what lies before all of them is executed once.

mod support;

use std::fmt::Write as _;

use support::Run;

/// Calls before the first object.
const PRELUDE: usize = 300;

/// A function that calls something many times, and then makes blocks: every other one it frees where it should not, if `c` is 0.
fn unit(objects: usize) -> String {
    let mut text = String::from(concat!(
        "unit \"together.c\" pointer 8\nfile 0 \"together.c\"\n\n",
        "declare @malloc(i64) -> ptr no_unwind fresh_result alloc_size 0 name malloc at 0:1 -> *\n",
        "declare @free(ptr no_capture -> *) no_unwind name free at 0:1\n",
        "declare @other() no_unwind name other at 0:1\n\n",
        "define @many(c: i32) no_unwind name many at 0:3 {\n  var c param 0 line 3\n",
    ));
    (0..objects).for_each(|n| writeln!(text, "  var p{n} line {} -> *", 10 + n).expect("a string"));
    text.push_str("block0:\n  bind c, %0 @ 3:32\n");
    // The parameter is value 0.
    let mut value = 2;
    for _ in 0..PRELUDE {
        text.push_str("  call void @other() @ 4:1\n");
        value += 1;
    }
    let condition = value;
    writeln!(text, "  %{condition} = ne i32 %0, 0 @ 5:1\n  jump block1 @ 5:1").expect("a string");
    value += 2;
    for n in 0..objects {
        let (line, first) = (10 + n, 1 + 3 * n);
        let (free, next) = (first + 1, first + 3);
        writeln!(text, "block{first}:\n  %{value} = call ptr @malloc(i64 8) @ {line}:1").expect("a string");
        writeln!(text, "  bind p{n}, %{value} @ {line}:2").expect("a string");
        writeln!(text, "  branch %{condition}, block{free}, block{} @ {line}:3", first + 2).expect("a string");
        writeln!(text, "block{free}:\n  call void @free(ptr %{value}) @ {line}:4\n  jump block{next} @ {line}:4")
            .expect("a string");
        writeln!(text, "block{}:", first + 2).expect("a string");
        value += 5;
        if n % 2 == 1 {
            writeln!(text, "  call void @free(ptr %{}) @ {line}:5", value - 5).expect("a string");
            value += 1;
        }
        writeln!(text, "  jump block{next} @ {line}:6").expect("a string");
        value += 1;
    }
    writeln!(text, "block{}:\n  return @ 9:1\n}}", 1 + 3 * objects).expect("a string");
    text
}

#[test]
fn what_lies_before_all_objects_is_executed_once() {
    let (one, many) = (Run::new(&unit(1)), Run::new(&unit(9)));
    let confirmed = |run: &Run| run.lines().iter().filter(|line| line.ends_with(": confirmed")).count();
    assert_eq!((confirmed(&one), confirmed(&many)), (1, 5), "{:#?}", many.lines());
    assert_eq!(many.lines().iter().filter(|line| line.contains(", forgotten, ")).count(), 5);
    assert!(one.steps() > 2 * PRELUDE, "{}", one.steps());
    // Once for all searches, and once for each of the five replays, which begin at the entry; what lies behind it is the rest. Ten times, if every
    // search began there too.
    assert!(many.steps() < 8 * PRELUDE, "{}", many.steps());
}
