//! What is known about a built image.

use serde::{Deserialize, Serialize};
use wasmtime::Engine;

/// Metadata stored with an image.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Info {
    /// BLAKE3 of the started image.
    pub(crate) hash: String,
    /// Version of the language, as reported by the image.
    pub(crate) version: String,
    /// Modules that programs may import.
    pub(crate) modules: Vec<String>,
    /// BLAKE3 of the interpreter from which the image was built.
    pub(crate) interpreter: String,
    /// Number of mutable globals, all of which the image exports. An image without this number was
    /// built by another version.
    #[serde(default)]
    pub(crate) globals: Option<usize>,
}

/// A hash of an engine's settings. Compiled code can only be used with the same settings.
pub(crate) fn engine_name(engine: &Engine) -> String {
    use std::hash::{Hash, Hasher};

    struct Blake3(blake3::Hasher);

    impl Hasher for Blake3 {
        fn finish(&self) -> u64 {
            u64::from_le_bytes(std::array::from_fn(|at| self.0.finalize().as_bytes()[at]))
        }

        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }

    let mut hasher = Blake3(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
