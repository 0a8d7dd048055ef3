; NAME stands for something that a terminal would obey.
source_filename = "NAME.c"

%"struct NAME" = type { ptr, ptr }
@"global NAME" = global ptr null

declare ptr @malloc(i64)
declare void @"unknown NAME"(ptr)

define i32 @"f NAME"(i64 %"n NAME") !dbg !3 {
  %"p NAME" = call ptr @malloc(i64 %"n NAME"), !dbg !6
  ret i32 0, !dbg !7
}

define ptr @"g NAME"(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  call void @"unknown NAME"(ptr %p)
  %q = call ptr @malloc(i64 %n)
  store ptr %q, ptr @"global NAME"
  %r = call ptr @malloc(i64 %n)
  ret ptr %r
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, producer: "NAME", emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "NAME.c", directory: "/")
!3 = distinct !DISubprogram(name: "f NAME", scope: !2, file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !5)
!5 = !{null}
!6 = !DILocation(line: 3, column: 5, scope: !3)
!7 = !DILocation(line: 4, column: 5, scope: !3)
