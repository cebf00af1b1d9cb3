//! Documents in every format.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::document::run(bytes));
