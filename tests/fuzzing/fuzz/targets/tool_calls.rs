//! Tool calls.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::tool_calls::run(bytes));
