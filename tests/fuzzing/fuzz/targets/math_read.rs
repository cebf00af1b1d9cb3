//! Reading a mathematical answer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::math::read(bytes));
