//! Model directories in the Hugging Face layout: configuration and named tensors. Reads them,
//! writes them, and generates synthetic ones for tests. Opens the GPUs whose memory they fill, and
//! measures memory. Owns no forward pass and no tokenizer.

mod available;
pub mod config;
mod directory;
mod error;
mod gpu;
mod map;
pub mod save;
pub mod synthetic;
mod weights;

pub use available::{available_memory, used_memory};
pub use directory::Directory;
pub use error::{LoadError, SaveError, first_line};
pub use gpu::open_gpu;
pub use weights::Weights;
