//! Runs programs in wasmtime: images, instances, work, limits, and the system calls of guests.
//! Knows no grader and compares nothing; it is one [`Handler`](assay_worker::Handler) of a worker.
//!
//! A language is an image: an interpreter compiled to WebAssembly, started once, its memory kept.
//! An instance is that memory again, copied on write, so that a fresh interpreter costs tens of
//! microseconds and shares nothing with the one before. Work is counted in wasm fuel; the guest's
//! clock and sleep follow it. So the same program on the same input does the same, to the last unit
//! of work, on any machine under any load.

mod build;
mod descriptors;
mod engine;
mod errno;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod guest;
mod handler;
mod image;
mod judge;
mod message;
mod state;
mod trusted;
mod wasi;

pub use build::{Built, build};
pub use error::ImageError;
pub use handler::Programs;
pub use image::{Folder, LANGUAGES, Language};
