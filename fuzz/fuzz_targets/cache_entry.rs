#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| caulk_fuzz_targets::drive("cache_entry", input));
