//! Compiles units with clang and lowers them to core IR.
