//! Rows of datasets in Parquet.
#![no_main]

// The reader catches panics of the library. libFuzzer's own hook would abort at each of them; a panic of the target still ends in
// an abort, at the boundary to libFuzzer.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| assay_fuzzing::rows::parquet(bytes)
);
