//! Templates of datasets.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::row_template::run(bytes));
