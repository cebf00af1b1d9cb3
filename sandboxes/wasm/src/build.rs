//! Builds images: starts an interpreter once, saves its memory as a module, and compiles the
//! module.
//!
//! Nothing depends on the machine: the clock does not advance, random numbers come from a fixed
//! seed, and there are no files. The image therefore has the same hash everywhere, and the hash
//! identifies the code that graded.

use std::path::Path;

use assay_worker::program::Limits;
use serde_json::{Value, json};
use wasmtime::{Config, Engine, Instance, Module, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

use crate::disk::{create_folder, read, write};
use crate::engine::{self, MAX_MEMORY};
use crate::globals;
use crate::guest::Guest;
use crate::image::Folder;
use crate::info::Info;
use crate::kind::{ImageContent, ImageKind};
use crate::message::Message;
use crate::state::State;
use crate::{ImageError, checksums, toolchain, trusted, wasi};

/// The export that starts the interpreter. The snapshot removes it from the image.
const INITIALIZE: &str = "initialize";

/// Stack for starting it, in bytes: imports of modules recurse deeply.
const INIT_STACK: usize = 4 << 20;

/// An image that was built, or that was already up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Its hash.
    pub hash: String,
    /// Version of the language.
    pub version: String,
    /// Whether it was built by this call.
    pub fresh: bool,
}

/// Builds an image from its guest, unless the folder already contains it. The guest is an
/// interpreter, which is a reactor of WASI preview 1, or the folder of a compiler.
///
/// # Errors
/// [`ImageError`].
pub fn build(
    folder: &Folder,
    kind: &'static ImageKind,
    interpreter: &Path,
) -> Result<Built, ImageError> {
    if kind.content == ImageContent::Toolchain {
        return toolchain::build(folder, kind, interpreter);
    }
    let engine = engine::for_interpreters()?;
    let broken = |error: wasmtime::Error| syntax_error(kind, &error);
    let source = read(interpreter)?;
    let from = blake3::hash(&source).to_hex().to_string();
    let existing = std::fs::read(folder.info(kind))
        .ok()
        .and_then(|text| serde_json::from_slice::<Info>(&text).ok());
    let existing = existing.filter(|info| info.interpreter == from && info.globals.is_some());
    if let Some(info) = &existing
        && checksums::is_intact(folder, kind)?
    {
        return Ok(Built {
            hash: info.hash.clone(),
            version: info.version.clone(),
            fresh: false,
        });
    }
    folder.check_owner()?;
    create_folder(folder.path()).map_err(|error| ImageError::File {
        path: folder.path().to_owned(),
        error,
    })?;
    tracing::info!(
        image = kind.name,
        "starting the interpreter and saving its memory"
    );
    let (source, globals) = globals::exported(&source).map_err(broken)?;
    let started = start(&source).map_err(broken)?;
    tracing::info!(image = kind.name, "compiling the image");
    let compiled = engine.precompile_module(&started).map_err(broken)?;
    let hash = blake3::hash(&started).to_hex().to_string();
    let (version, modules) = describe(&engine, &compiled).map_err(broken)?;
    let info = Info {
        hash,
        version,
        modules,
        interpreter: from,
        globals: Some(globals),
    };
    // Each file of an image is replaced atomically. The last one makes the image valid.
    write(&folder.started(kind), &started)?;
    write(&folder.compiled(kind, &engine), &compiled)?;
    finish(folder, kind, &engine, info)
}

/// The hash of the image that [`build`] makes from an interpreter, without compiling that image,
/// which takes most of the time of a build.
///
/// # Errors
/// [`ImageError`].
pub fn rebuilt_hash(kind: &'static ImageKind, interpreter: &Path) -> Result<String, ImageError> {
    let broken = |error: wasmtime::Error| syntax_error(kind, &error);
    let (source, _) = globals::exported(&read(interpreter)?).map_err(broken)?;
    let started = start(&source).map_err(broken)?;
    Ok(blake3::hash(&started).to_hex().to_string())
}

fn syntax_error(kind: &ImageKind, error: &wasmtime::Error) -> ImageError {
    ImageError::SyntaxError {
        image: kind.name,
        reason: format!("{error:#}"),
    }
}

/// Writes the metadata and the checksums of a new image, which make it valid.
pub(crate) fn finish(
    folder: &Folder,
    kind: &'static ImageKind,
    engine: &Engine,
    info: Info,
) -> Result<Built, ImageError> {
    write(&folder.info(kind), json!(info).to_string().as_bytes())?;
    checksums::store(folder, kind, engine)?;
    Ok(Built {
        hash: info.hash,
        version: info.version,
        fresh: true,
    })
}

/// The state of an instance that is part of a build.
pub(crate) fn build_state() -> State {
    let limits = Limits {
        work: 0,
        memory_bytes: MAX_MEMORY as u64,
        output_bytes: 1 << 20,
    };
    State::new(limits, 0, Vec::new())
}

/// Starts the interpreter and saves its memory as a module.
fn start(interpreter: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let mut config = Config::new();
    // The code is compiled once and runs once, so compilation must be fast and execution need not
    // be. Fuel is enabled because calls to the host charge it.
    config
        .cranelift_opt_level(wasmtime::OptLevel::None)
        .consume_fuel(true);
    config.relaxed_simd_deterministic(true);
    config
        .max_wasm_stack(INIT_STACK)
        .async_stack_size(2 * INIT_STACK);
    let engine = Engine::new(&config)?;
    let mut store = Store::new(&engine, build_state());
    store.limiter(|state| state);
    store.set_fuel(u64::MAX >> 1)?;
    let mut wizer = Wizer::new();
    wizer.init_func(INITIALIZE);
    let (context, instrumented) = wizer.instrument(interpreter)?;
    let module = Module::new(&engine, &instrumented)?;
    let instance = wasi::linker(&engine, &module)?.instantiate(&mut store, &module)?;
    for function in ["_initialize", INITIALIZE] {
        let started = instance
            .get_typed_func::<(), ()>(&mut store, function)?
            .call(&mut store, ());
        started.map_err(|error| {
            let stderr = String::from_utf8_lossy(store.data().stderr_tail()).into_owned();
            error.context(format!("`{function}` of the interpreter fails: {stderr}"))
        })?;
    }
    block_on(wizer.snapshot(&context, &mut StartedInterpreter { store, instance }))
}

/// A started interpreter, whose state the snapshot reads.
struct StartedInterpreter {
    store: Store<State>,
    instance: Instance,
}

impl InstanceState for StartedInterpreter {
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        let global = self.instance.get_global(&mut self.store, name);
        match global.map(|global| global.get(&mut self.store)) {
            Some(Val::I32(value)) => SnapshotVal::I32(value),
            Some(Val::I64(value)) => SnapshotVal::I64(value),
            Some(Val::F32(bits)) => SnapshotVal::F32(bits),
            Some(Val::F64(bits)) => SnapshotVal::F64(bits),
            // The snapshot reads only globals that it exported itself, and rejects references
            // before that.
            other => unreachable!("a global of the image is {other:?}"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        // As above: the snapshot exported it.
        let memory = self.instance.get_memory(&mut self.store, name);
        contents(memory.map_or(&[], |memory| memory.data(&self.store)));
    }
}

/// Requests the version of the language and the modules from the image's driver.
fn describe(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<(String, Vec<String>)> {
    let module = trusted::load(engine, compiled)?;
    let ready = wasi::linker(engine, &module)?.instantiate_pre(&module)?;
    let mut guest = Guest::start(&ready, 0, build_state())?;
    let header = [("op".to_owned(), json!("version"))].into_iter().collect();
    let reply = guest
        .request(header, &[])
        .map_err(|stopped| wasmtime::format_err!("the driver does not reply: {stopped:?}"))?;
    let message = Message::read(&reply)
        .ok_or_else(|| wasmtime::format_err!("the reply of the driver is malformed"))?;
    let modules = message
        .header
        .get("modules")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    Ok((
        message.text("version").to_owned(),
        modules
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    ))
}

/// Runs a future that never waits: the interface for reading an instance is asynchronous, but the
/// implementation here is not.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}
