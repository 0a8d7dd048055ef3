//! What library functions do with memory, as data.
