//! Messages of guests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::guest_message::run(bytes));
