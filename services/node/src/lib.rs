//! Owns the configuration and the table of graders, and builds a running node from the engine, the
//! record, the sandboxes, the reward models and the API. Does not own grading.

mod callers;
pub mod config;
mod error;
pub mod files;
mod free_memory;
pub mod graders;
pub mod judges;
mod log_lines;
pub mod models;
mod node;
pub mod observe;
pub mod sandboxes;
mod sessions;

pub use config::{Config, ConfigError};
pub use error::NodeError;
pub use node::{
    Node, backup, copy_record, database_file, listen, open_keys, published_server,
    set_aside_entries, verify,
};
