//! Replies of judges.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::judge_reply::run(bytes));
