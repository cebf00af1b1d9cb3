//! The parser: reads any text without a panic, and the same text the same way.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    assert_eq!(assay_math::read(text), assay_math::read(text), "deterministic");
});
