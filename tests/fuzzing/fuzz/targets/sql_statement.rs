//! Statements that are run.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::sqlite::statement(bytes));
