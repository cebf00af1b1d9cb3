//! Compiled programs as machine code. Each worker compiles the modules that it runs, and keeps
//! recent ones.

use std::sync::Arc;

use blake3::Hash;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use wasmparser::{Parser, Payload};
use wasmtime::{Engine, ExternType, InstancePre, Module};

use super::manifest::Manifest;
use super::narrow::{LIBRARY, Narrowed};
use crate::state::{MAX_ELEMENTS, State};

/// Size of the cache of a worker, in bytes of modules. Machine code takes several times as much.
const CACHE_BYTES: u64 = 16 << 20;

/// Number of programs that the cache is sized for.
const EXPECTED: usize = 256;

/// Largest module, in bytes. Compiling a module of this size to machine code takes seconds.
const MAX_MODULE: usize = 8 << 20;

/// Largest function, in bytes. The time to compile a function can grow faster than its size.
const MAX_FUNCTION: usize = 256 << 10;

/// A program that is ready to run.
pub(super) struct Program {
    pub(super) module: Module,
    /// Names of its imports from the library, in order.
    pub(super) imports: Vec<String>,
    /// Minimum number of pages of the memory.
    pub(super) pages: u64,
    /// Minimum number of elements of the table.
    pub(super) elements: u64,
    bytes: usize,
}

/// The programs of a worker.
pub(super) struct CompiledPrograms {
    engine: Engine,
    cache: Cache<Hash, Arc<Program>, Bytes>,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Hash, Arc<Program>> for Bytes {
    fn weight(&self, _: &Hash, program: &Arc<Program>) -> u64 {
        1_024 + program.bytes as u64
    }
}

impl CompiledPrograms {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            cache: Cache::with_weighter(EXPECTED, CACHE_BYTES, Bytes),
        }
    }

    /// Validates a module and compiles it to machine code. Returns the module.
    ///
    /// # Errors
    /// A message for the author of the program, if it is not supported.
    pub(super) fn add(
        &self,
        library: &InstancePre<State>,
        manifest: &Manifest,
        narrowed: Narrowed,
    ) -> Result<Vec<u8>, String> {
        let Narrowed {
            module, elements, ..
        } = narrowed;
        check_size(&module)?;
        if elements > MAX_ELEMENTS as u64 {
            return Err("the program has too many functions".to_owned());
        }
        let program = self
            .program(&module)
            .map_err(|error| format!("{error:#}"))?;
        for import in program.module.imports() {
            let name = import.name();
            if let Some(purpose) = manifest.refused_imports.get(name) {
                return Err(format!("{purpose} are not supported by the sandbox"));
            }
            match (import.ty(), library.module().get_export(name)) {
                (_, None) => return Err(format!("undefined symbol: {name}")),
                (ExternType::Func(declared), Some(ExternType::Func(defined)))
                    if !defined.matches(&declared) =>
                {
                    return Err(format!(
                        "`{name}` is declared with another type than that of the library"
                    ));
                }
                _ => {}
            }
        }
        self.cache.insert(blake3::hash(&module), program);
        Ok(module)
    }

    /// The program of a module that [`CompiledPrograms::add`] returned in this worker or another
    /// one.
    ///
    /// # Errors
    /// If the module is not valid.
    pub(super) fn get(&self, module: &[u8]) -> wasmtime::Result<Arc<Program>> {
        let hash = blake3::hash(module);
        if let Some(program) = self.cache.get(&hash) {
            return Ok(program);
        }
        let program = self.program(module)?;
        self.cache.insert(hash, Arc::clone(&program));
        Ok(program)
    }

    fn program(&self, bytes: &[u8]) -> wasmtime::Result<Arc<Program>> {
        let module = Module::new(&self.engine, bytes)?;
        let (mut imports, mut pages, mut elements) = (Vec::new(), 0, 0);
        for import in module.imports() {
            if import.module() != LIBRARY {
                wasmtime::bail!("the program imports from `{}`", import.module());
            }
            match import.ty() {
                ExternType::Memory(memory) => pages = memory.minimum(),
                ExternType::Table(table) => elements = table.minimum(),
                _ => {}
            }
            imports.push(import.name().to_owned());
        }
        Ok(Arc::new(Program {
            module,
            imports,
            pages,
            elements,
            bytes: bytes.len(),
        }))
    }
}

/// Rejects modules whose compilation to machine code could take too long.
fn check_size(module: &[u8]) -> Result<(), String> {
    if module.len() > MAX_MODULE {
        return Err(format!(
            "the program is too large: its module has {} bytes, of at most {MAX_MODULE}",
            module.len()
        ));
    }
    for payload in Parser::new(0).parse_all(module) {
        if let Ok(Payload::CodeSectionEntry(body)) = payload
            && body.range().len() > MAX_FUNCTION
        {
            return Err(format!(
                "a function of the program is too large: {} bytes, of at most {MAX_FUNCTION}",
                body.range().len()
            ));
        }
    }
    Ok(())
}
