//! Links lowered units into one program with a call graph.
