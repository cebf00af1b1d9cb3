//! Frozen instances. A worker that a program has compromised can send any bytes as one.
//!
//! Properties: reading is deterministic and does not fail otherwise than by refusing the bytes, and
//! an instance that was frozen is thawed.

use assay_wasm::fuzzing::freeze_again;

/// Thaws an instance twice.
pub fn run(bytes: &[u8]) {
    let frozen = freeze_again(bytes);
    assert!(frozen == freeze_again(bytes), "deterministic");
    if let Some(frozen) = frozen {
        let again = freeze_again(&frozen);
        assert!(again.is_some(), "an instance that was frozen is thawed");
    }
}
