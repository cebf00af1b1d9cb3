//! Owns the wiring: configuration, the table of graders, the record and the API put together. The
//! only crate that names concrete graders and stores; it grades nothing itself.

pub mod config;
pub mod files;
pub mod graders;
mod log_lines;
pub mod models;
mod node;
pub mod observe;
pub mod sandboxes;

pub use config::{Config, ConfigError};
pub use node::{Node, NodeError, listen, set_aside_entries};
