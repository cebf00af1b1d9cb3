//! Frames and messages of workers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_fuzzing::worker_frames::run(bytes));
