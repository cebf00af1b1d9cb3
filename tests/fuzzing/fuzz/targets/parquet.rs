//! Rows of datasets in Parquet.
#![no_main]

// The reader catches panics of the library, but libFuzzer's panic hook would abort at each of them.
// A panic of the target still aborts at the boundary to libFuzzer.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| assay_fuzzing::rows::parquet(bytes)
);
