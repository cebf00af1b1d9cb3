//! Images of languages that are compiled to WebAssembly: C and C++.
//!
//! Such an image consists of a compiler, which runs as a guest like the programs that it compiles,
//! headers, and a library that all programs share. The library was compiled to machine code and
//! initialised when the image was built. A program is a module that imports the library's
//! functions, memory and table, so only its own functions are compiled when it is graded.

mod archive;
mod build;
mod c_calls;
mod callees;
mod calls;
mod code;
mod compile;
mod diagnostics;
mod entry;
mod gnu;
mod manifest;
mod narrow;
mod objects;
mod program;
mod session;
mod snapshot;
mod tool;

use std::sync::OnceLock;

use assay_worker::program::ImageInfo;
use wasmtime::InstancePre;

use crate::engine;
use crate::errno::Errno;
use crate::files::{FileBytes, Files};
use crate::image::{Folder, public_info};
use crate::kind::ImageKind;
use crate::state::{EPOCH, State};
use crate::{ImageError, trusted, wasi};
pub(crate) use build::build;
use code::CompiledPrograms;
use manifest::Manifest;
pub(crate) use program::Entry;

/// A loaded image with a compiler.
pub(crate) struct Toolchain {
    pub(crate) info: ImageInfo,
    manifest: Manifest,
    compiler: InstancePre<State>,
    runtime_library: InstancePre<State>,
    programs: CompiledPrograms,
    /// The headers and precompiled headers.
    base: Base,
}

impl Toolchain {
    /// Maps an image. The headers are read when a worker compiles its first program.
    ///
    /// # Errors
    /// [`ImageError`].
    pub(crate) fn load(folder: &Folder, kind: &'static ImageKind) -> Result<Self, ImageError> {
        let engine = engine::for_toolchains(false)?;
        let info = folder.info_of(&engine, kind)?;
        let paths = Paths::new(folder, kind, &engine);
        let broken = |error: wasmtime::Error| ImageError::SyntaxError {
            image: kind.name,
            reason: format!("{error:#}"),
        };
        let manifest = Manifest::read(&paths.manifest(), kind)?;
        let load = |path| {
            let module = trusted::map(&engine, path)?;
            wasi::linker(&engine, &module)?.instantiate_pre(&module)
        };
        Ok(Self {
            info: public_info(kind, info),
            compiler: load(&paths.compiler(&manifest)).map_err(broken)?,
            runtime_library: load(&paths.runtime_library()).map_err(broken)?,
            programs: CompiledPrograms::new(engine),
            base: Base::map(&paths, &manifest)?,
            manifest,
        })
    }

    /// The files that exist when the compiler starts.
    fn files(&self) -> Result<Files, Errno> {
        self.base.files()
    }
}

/// The files of a guest from which an image is built.
pub(crate) const GUEST_FILES: [&str; 4] = [
    "compiler.wasm",
    "library.wasm",
    "manifest.json",
    "sysroot.tar",
];

/// Most bytes that the compiler and the linker may write. An object file contains the zeros of
/// large global arrays.
const MAX_WRITTEN: u64 = 640 << 20;

/// The paths of the files of an image, which are in one folder.
struct Paths {
    folder: std::path::PathBuf,
    engine: String,
}

impl Paths {
    fn new(folder: &Folder, kind: &ImageKind, engine: &wasmtime::Engine) -> Self {
        Self {
            folder: folder.home(kind).join(kind.name),
            engine: crate::info::engine_name(engine),
        }
    }

    fn manifest(&self) -> std::path::PathBuf {
        self.folder.join("manifest.json")
    }

    fn sysroot(&self) -> std::path::PathBuf {
        self.folder.join("sysroot.tar")
    }

    fn precompiled(&self, standard: &str) -> std::path::PathBuf {
        self.folder.join(precompiled(standard))
    }

    /// The library, initialised and compiled.
    fn runtime_library(&self) -> std::path::PathBuf {
        self.folder.join(format!("library.{}.cwasm", self.engine))
    }

    /// The compiled compiler. Its name contains the hash of the compiler, so that it can be used
    /// again if only the library changes.
    fn compiler(&self, manifest: &Manifest) -> std::path::PathBuf {
        let hash = manifest.short_hash_of("compiler.wasm");
        self.folder
            .join(format!("compiler.{hash}.{}.cwasm", self.engine))
    }
}

/// The name of the precompiled header of a standard.
fn precompiled(standard: &str) -> String {
    format!("{standard}.pch")
}

/// The mapped files that make up the compiler's initial file tree.
struct Base {
    sysroot: (String, std::sync::Arc<memmap2::Mmap>),
    precompiled: Vec<(String, FileBytes)>,
    tree: OnceLock<Result<Files, Errno>>,
}

impl Base {
    fn map(paths: &Paths, manifest: &Manifest) -> Result<Self, ImageError> {
        let map = |path: std::path::PathBuf| {
            trusted::map_bytes(&path)
                .map(std::sync::Arc::new)
                .map_err(|error| ImageError::File { path, error })
        };
        let mut headers = Vec::new();
        for standard in manifest.precompiled_standards() {
            let mapped = map(paths.precompiled(standard))?;
            let range = 0..mapped.len();
            headers.push((precompiled(standard), FileBytes::Mapped(mapped, range)));
        }
        Ok(Self {
            sysroot: (manifest.sysroot.clone(), map(paths.sysroot())?),
            precompiled: headers,
            tree: OnceLock::new(),
        })
    }

    fn files(&self) -> Result<Files, Errno> {
        let tree = self.tree.get_or_init(|| {
            let (folder, archive) = &self.sysroot;
            let headers = archive::files(archive).map(|(name, range)| {
                let bytes = FileBytes::Mapped(std::sync::Arc::clone(archive), range);
                (format!("{folder}/{name}"), bytes)
            });
            let all: Vec<_> = headers.chain(self.precompiled.iter().cloned()).collect();
            Files::with_base(
                all.iter()
                    .map(|(path, bytes)| (path.as_str(), bytes.clone())),
                MAX_WRITTEN,
                EPOCH,
            )
        });
        tree.clone()
    }
}
