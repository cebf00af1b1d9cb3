//! An image's `manifest.json`: how its compiler and linker are called.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::ImageError;
use crate::kind::ImageKind;

/// The part of the manifest that the host uses.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Manifest {
    /// SHA-256 hashes of the other files of the guest, by name.
    pub(super) files: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    /// The folder of the headers, as the compiler sees it.
    pub(super) sysroot: String,
    /// Command lines by purpose, with placeholders such as `{source}`.
    commands: BTreeMap<String, Vec<String>>,
    /// The standards of each language.
    standards: BTreeMap<String, Vec<String>>,
    /// Functions of the library that cannot work, with the feature that they belong to.
    pub(super) refused_imports: BTreeMap<String, String>,
    /// Objects that call a `main` of an unusual type, by its signature (`entry.rs`).
    pub(super) main_callers: BTreeMap<String, String>,
    /// The headers with which GCC's library declares the names of each C header.
    pub(super) declaring: BTreeMap<String, Vec<String>>,
    /// Headers of which that is known.
    pub(super) standard_headers: Vec<String>,
    pub(super) memory: LibraryMemory,
}

/// How the library uses the memory.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct LibraryMemory {
    /// Bytes of the stack, which is at the start of the memory.
    pub(super) stack_bytes: u64,
}

/// The key of the compiler among the versions.
const COMPILER: &str = "@yowasp/clang";

/// Standards with a precompiled header.
const PRECOMPILED: [&str; 3] = ["gnu++17", "gnu++20", "gnu++23"];

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ImageError`].
    pub(super) fn read(path: &Path, kind: &ImageKind) -> Result<Self, ImageError> {
        let text = std::fs::read(path).map_err(|error| ImageError::File {
            path: path.to_owned(),
            error,
        })?;
        serde_json::from_slice(&text).map_err(|error| ImageError::SyntaxError {
            image: kind.name,
            reason: format!("its manifest is malformed: {error}"),
        })
    }

    /// The language of a standard; `None` if the compiler does not support the standard.
    pub(super) fn language_of(&self, standard: &str) -> Option<&str> {
        let mut languages = self.standards.iter();
        languages.find_map(|(language, standards)| {
            let known = standards.iter().any(|known| known == standard);
            known.then_some(language.as_str())
        })
    }

    /// Standards whose header is compiled when the image is built.
    pub(super) fn precompiled_standards(&self) -> impl Iterator<Item = &'static str> + '_ {
        PRECOMPILED
            .into_iter()
            .filter(|standard| self.language_of(standard).is_some())
    }

    /// A command line with its placeholders replaced, without words that become empty; empty if the
    /// manifest does not contain it.
    pub(super) fn command(&self, purpose: &str, values: &[(&str, &str)]) -> Vec<String> {
        let words = self.commands.get(purpose).into_iter().flatten();
        words
            .map(|word| {
                values.iter().fold(word.clone(), |word, (name, value)| {
                    word.replace(&format!("{{{name}}}"), value)
                })
            })
            .filter(|word| !word.is_empty())
            .collect()
    }

    /// The version of the compiler.
    pub(super) fn version(&self) -> String {
        let version = self.versions.get(COMPILER).map_or("", String::as_str);
        format!("clang {version}")
    }

    /// The beginning of the hash of a file.
    pub(super) fn short_hash_of(&self, file: &str) -> &str {
        let hash = self.files.get(file).map_or("", String::as_str);
        hash.get(..16).unwrap_or(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        serde_json::from_str(
            r#"{
                "files": {"compiler.wasm": "0123456789abcdef0123"},
                "versions": {}, "sysroot": "/lib",
                "commands": {"c": ["clang", "-std={standard}", "{source}", "{caller}"]},
                "standards": {"c": ["gnu17"], "c++": ["gnu++17", "gnu++20"]},
                "refused_imports": {}, "main_callers": {}, "memory": {"stack_bytes": 1},
                "declaring": {}, "standard_headers": []
            }"#,
        )
        .unwrap()
    }

    #[test]
    fn replaces_placeholders_of_commands() {
        let values = [("standard", "gnu17"), ("source", "main.c"), ("caller", "")];
        assert_eq!(
            manifest().command("c", &values),
            ["clang", "-std=gnu17", "main.c"]
        );
        assert!(manifest().command("unknown", &values).is_empty());
    }

    #[test]
    fn maps_standards_to_languages() {
        let manifest = manifest();
        assert_eq!(manifest.language_of("gnu++20"), Some("c++"));
        assert_eq!(manifest.language_of("gnu17"), Some("c"));
        assert_eq!(manifest.language_of("gnu++26"), None);
        let precompiled: Vec<_> = manifest.precompiled_standards().collect();
        assert_eq!(precompiled, ["gnu++17", "gnu++20"]);
        assert_eq!(manifest.short_hash_of("compiler.wasm"), "0123456789abcdef");
    }
}
