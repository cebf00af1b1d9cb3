//! Builds an image from a guest: initialises the library, and compiles the library, the compiler
//! and the headers.
//!
//! As with interpreters, nothing depends on the machine, and the hash of the image identifies
//! everything that affects a verdict.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use assay_worker::program::{COMPILE_MEMORY, WORK_PER_SECOND};
use wasmtime::{Engine, Module, Store};

use super::manifest::Manifest;
use super::narrow::{ModuleKind, narrow};
use super::tool::{self, ToolEnd, ToolLimits, lock};
use super::{MAX_WRITTEN, Paths, archive, precompiled, snapshot};
use crate::build::{Built, build_state, finish};
use crate::disk::{create_folder, read, write};
use crate::engine;
use crate::files::{FileBytes, Files};
use crate::image::Folder;
use crate::info::Info;
use crate::kind::ImageKind;
use crate::state::EPOCH;
use crate::{ImageError, checksums, trusted, wasi};

/// Limits for compiling a header, which takes about ten seconds.
const HEADER_LIMITS: ToolLimits = ToolLimits {
    work: 100 * WORK_PER_SECOND,
    memory_bytes: 2 * COMPILE_MEMORY,
};

/// Export that runs the constructors of the library.
const INITIALIZE: &str = "_initialize";

/// Builds an image from the folder of its guest, unless the folder of images already contains it.
///
/// # Errors
/// [`ImageError`].
pub(crate) fn build(
    folder: &Folder,
    kind: &'static ImageKind,
    guest: &Path,
) -> Result<Built, ImageError> {
    folder.check_owner()?;
    let engine = engine::for_toolchains(true)?;
    let manifest = Manifest::read(&guest.join("manifest.json"), kind)?;
    let manifest_hash = blake3::hash(&read(&guest.join("manifest.json"))?)
        .to_hex()
        .to_string();
    let paths = Paths::new(folder, kind, &engine);
    let existing = std::fs::read(folder.info(kind))
        .ok()
        .and_then(|text| serde_json::from_slice::<Info>(&text).ok())
        .filter(|info| info.interpreter == manifest_hash);
    if let Some(info) = existing
        && checksums::is_intact(folder, kind)?
    {
        return Ok(Built {
            hash: info.hash,
            version: info.version,
            fresh: false,
        });
    }
    let broken = |error: wasmtime::Error| ImageError::SyntaxError {
        image: kind.name,
        reason: format!("{error:#}"),
    };
    let staging = Paths {
        folder: folder
            .path()
            .join(format!("{}.part{}", kind.name, std::process::id())),
        engine: paths.engine.clone(),
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| ImageError::File { path, error }
    };
    create_folder(&staging.folder).map_err(failed(&staging.folder))?;
    let library = {
        tracing::info!(image = kind.name, "initializing the library");
        let library = read(&guest.join("library.wasm"))?;
        let initialized = initialize_library(&engine, &library).map_err(broken)?;
        let compiled = engine.precompile_module(&initialized).map_err(broken)?;
        write(&staging.runtime_library(), &compiled)?;
        initialized
    };
    for name in ["manifest.json", "sysroot.tar"] {
        write(&staging.folder.join(name), &read(&guest.join(name))?)?;
    }
    let (compiler, earlier) = (staging.compiler(&manifest), paths.compiler(&manifest));
    let is_reusable = checksums::is_intact_file(folder, kind, &engine, &earlier);
    if !is_reusable || std::fs::hard_link(&earlier, &compiler).is_err() {
        tracing::info!(
            image = kind.name,
            "compiling the compiler, which takes a minute or two"
        );
        let source = read(&guest.join("compiler.wasm"))?;
        write(
            &compiler,
            &engine.precompile_module(&source).map_err(broken)?,
        )?;
    }
    tracing::info!(image = kind.name, "compiling the headers");
    let headers = compile_headers(&engine, &staging, &manifest).map_err(broken)?;
    // Running workers keep their mappings of the old folder's files.
    let _ = std::fs::remove_dir_all(&paths.folder);
    std::fs::rename(&staging.folder, &paths.folder).map_err(failed(&paths.folder))?;
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(manifest_hash.as_bytes())
        .update(blake3::hash(&library).as_bytes());
    for header in headers {
        hasher.update(header.as_bytes());
    }
    let info = Info {
        hash: hasher.finalize().to_hex().to_string(),
        version: manifest.version(),
        modules: Vec::new(),
        interpreter: manifest_hash,
        globals: None,
    };
    finish(folder, kind, &engine, info)
}

/// Rewrites the library for a 32-bit memory, runs its constructors and saves its memory.
fn initialize_library(engine: &Engine, library: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let narrowed = narrow(library, ModuleKind::Library)?.module;
    let module = Module::new(engine, &narrowed)?;
    let mut store = Store::new(engine, build_state());
    store.limiter(|state| state);
    store.set_fuel(u64::MAX >> 1)?;
    let instance = wasi::linker(engine, &module)?.instantiate(&mut store, &module)?;
    let stack = instance
        .get_global(&mut store, "__stack_pointer")
        .ok_or_else(|| wasmtime::format_err!("the library exports no stack pointer"))?;
    let before = format!("{:?}", stack.get(&mut store));
    instance
        .get_typed_func::<(), ()>(&mut store, INITIALIZE)?
        .call(&mut store, ())?;
    if format!("{:?}", stack.get(&mut store)) != before {
        wasmtime::bail!("the constructors of the library moved the stack pointer");
    }
    let memory = instance
        .get_memory(&mut store, "memory")
        .ok_or_else(|| wasmtime::format_err!("the library exports no memory"))?;
    snapshot::with_memory(&narrowed, memory.data(&store))
}

/// Compiles the headers of each standard, two at a time. Returns their hashes.
fn compile_headers(
    engine: &Engine,
    paths: &Paths,
    manifest: &Manifest,
) -> wasmtime::Result<Vec<String>> {
    let module = trusted::map(engine, &paths.compiler(manifest))?;
    let compiler = wasi::linker(engine, &module)?.instantiate_pre(&module)?;
    let sysroot = Arc::new(trusted::map_bytes(&paths.sysroot())?);
    let files = archive::files(&sysroot).map(|(name, range)| {
        let bytes = FileBytes::Mapped(Arc::clone(&sysroot), range);
        (format!("{}/{name}", manifest.sysroot), bytes)
    });
    let files: Vec<_> = files.collect();
    let base = Files::with_base(
        files
            .iter()
            .map(|(path, bytes)| (path.as_str(), bytes.clone())),
        MAX_WRITTEN,
        EPOCH,
    )
    .map_err(|error| wasmtime::format_err!("the headers cannot be read: {error:?}"))?;
    let compile = |standard: &str| -> wasmtime::Result<String> {
        let (files, name) = (Arc::new(Mutex::new(base.clone())), precompiled(standard));
        let values = [
            ("standard", standard),
            ("precompiled", name.as_str()),
            ("warnings", "-w"),
            ("builtins", ""),
        ];
        let command = manifest.command("precompile", &values);
        match tool::run(&compiler, &files, HEADER_LIMITS, command) {
            ToolEnd::Succeeded(_) => {}
            ended => wasmtime::bail!("the headers of {standard} do not compile: {ended:?}"),
        }
        let header = lock(&files).content(&name).map(<[u8]>::to_vec);
        let header = header
            .ok_or_else(|| wasmtime::format_err!("the compiler wrote no header of {standard}"))?;
        write(&paths.precompiled(standard), &header)
            .map_err(|error| wasmtime::format_err!("{error}"))?;
        Ok(blake3::hash(&header).to_hex().to_string())
    };
    let standards: Vec<&str> = manifest.precompiled_standards().collect();
    on_two_threads(&standards, compile)
}

/// Applies a function to each item on two threads with large stacks.
fn on_two_threads<T: Send>(
    items: &[&str],
    apply: impl Fn(&str) -> wasmtime::Result<T> + Sync,
) -> wasmtime::Result<Vec<T>> {
    let (mut results, apply) = (Vec::new(), &apply);
    for pair in items.chunks(2) {
        let done: Vec<_> = std::thread::scope(|scope| {
            let threads = pair.iter().map(|item| {
                std::thread::Builder::new()
                    .stack_size(engine::THREAD_STACK)
                    .spawn_scoped(scope, move || apply(item))
            });
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .map(|thread| match thread?.join() {
                    Ok(result) => result,
                    Err(_) => wasmtime::bail!("a thread of the build panicked"),
                })
                .collect()
        });
        for result in done {
            results.push(result?);
        }
    }
    Ok(results)
}
