//! Whether two answers are equal.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::math::decide(bytes));
