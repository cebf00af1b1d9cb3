//! Statements as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::sql_text::run(bytes));
