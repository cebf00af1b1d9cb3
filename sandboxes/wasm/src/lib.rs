//! Runs programs in wasmtime: images, instances, work, limits, and the system calls of guests. Does
//! not know graders and compares no results; it is a [`Handler`](assay_worker::Handler) of a
//! worker.
//!
//! An image is a snapshot of the memory of a language's interpreter, which is compiled to
//! WebAssembly and has been started once, or a compiler with the library of its programs
//! (`toolchain`). An instance maps the snapshot copy-on-write, and after a run, the pages that
//! were written to are copied back, so the next run finds the state of a fresh interpreter.
//! Programs of a compiler run in new instances. Work is counted in wasm fuel, and the guest's
//! clock and sleep are derived from it. The same program on the same input therefore gives the
//! same result and uses the same work on any machine under any load.

mod build;
mod call;
mod checksums;
mod compiled_tests;
mod compiler;
mod descriptors;
mod disk;
mod engine;
mod errno;
mod error;
mod exports;
mod files;
mod frozen;
#[doc(hidden)]
pub mod fuzzing;
mod globals;
mod guest;
mod handler;
mod image;
mod info;
#[doc(hidden)]
pub mod inspection;
mod install;
mod instances;
mod judge;
mod kind;
mod message;
mod package;
mod pages;
mod peer;
mod program_thread;
mod request_error;
mod restore;
mod run_end;
mod session;
mod state;
mod toolchain;
mod translate;
mod trusted;
mod wasi;

pub use build::{Built, build, rebuilt_hash};
pub use checksums::{FileStamps, Inspection};
pub use error::ImageError;
pub use handler::ProgramHandler;
pub use image::Folder;
pub use install::{InstallStep, install, is_installed};
pub use kind::{IMAGES, ImageKind, kind};
pub use package::{Package, pack};
