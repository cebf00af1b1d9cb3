//! Chat templates of reward models.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::chat_template::run(bytes));
