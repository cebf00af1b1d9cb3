//! Frames and segments of the spool.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::spool::run(bytes));
