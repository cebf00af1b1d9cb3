//! Constraints of instructions, and responses to them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::instructions::run(bytes));
