//! Rows of datasets in text formats.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::rows::text(bytes));
