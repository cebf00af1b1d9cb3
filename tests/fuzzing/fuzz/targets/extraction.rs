//! Answers and programs in completions.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::extraction::run(bytes));
