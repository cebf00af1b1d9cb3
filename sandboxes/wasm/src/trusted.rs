//! Loads compiled images without validation. The only unsafe code of this crate: wasmtime cannot
//! validate machine code.

use std::path::Path;

use memmap2::Mmap;
use wasmtime::{Engine, Module, Result};

/// Maps a compiled image from its file.
#[expect(unsafe_code, reason = "wasmtime trusts compiled files")]
pub(crate) fn map(engine: &Engine, file: &Path) -> Result<Module> {
    // SAFETY: the file was written by `Engine::precompile_module` of an engine with these settings,
    // which are part of its name, and was renamed into place. wasmtime checks the version and the
    // settings in its header. `Folder::check_owner` rejects a folder that other users can write.
    unsafe { Module::deserialize_file(engine, file) }
}

/// Maps a file that is only read.
#[expect(unsafe_code, reason = "a file can change while it is mapped")]
pub(crate) fn map_bytes(file: &Path) -> std::io::Result<Mmap> {
    let file = std::fs::File::open(file)?;
    // SAFETY: files of images are written once, renamed into place and never changed.
    unsafe { Mmap::map(&file) }
}

/// Loads an image that this process has just compiled.
#[expect(unsafe_code, reason = "wasmtime trusts compiled bytes")]
pub(crate) fn load(engine: &Engine, compiled: &[u8]) -> Result<Module> {
    // SAFETY: the bytes are the result of `Engine::precompile_module` of the same engine.
    unsafe { Module::deserialize(engine, compiled) }
}
