//! What the directory of a model holds: its configuration, and tensors under their names, as
//! Hugging Face lays them out. Reads them, writes them, and makes them up for tests. Owns no
//! forward pass and no tokenizer.

pub mod config;
mod directory;
mod error;
mod map;
pub mod save;
pub mod synthetic;
mod weights;

pub use directory::Directory;
pub use error::{LoadError, SaveError, first_line};
pub use weights::Weights;
