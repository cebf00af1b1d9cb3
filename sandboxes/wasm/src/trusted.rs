//! Compiled images, taken as they are. The only unsafe code of this crate: wasmtime cannot check
//! machine code.

use std::path::Path;

use wasmtime::{Engine, Module, Result};

/// Maps a compiled image from its file.
#[expect(unsafe_code, reason = "wasmtime trusts compiled files")]
pub(crate) fn map(engine: &Engine, file: &Path) -> Result<Module> {
    // SAFETY: the file was written by `Engine::precompile_module` of an engine with these settings
    // (its name says so) and moved into place whole; wasmtime checks version and settings at its
    // head. Whoever may write the folder may replace the binary as well.
    unsafe { Module::deserialize_file(engine, file) }
}

/// Takes an image that was compiled a moment ago.
#[expect(unsafe_code, reason = "wasmtime trusts compiled bytes")]
pub(crate) fn load(engine: &Engine, compiled: &[u8]) -> Result<Module> {
    // SAFETY: the bytes come straight from `Engine::precompile_module` of the same engine.
    unsafe { Module::deserialize(engine, compiled) }
}
