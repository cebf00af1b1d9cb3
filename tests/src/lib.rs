//! Owns the end-to-end tests and their fixtures. No product code.

pub mod compared;
pub mod filling;
pub mod judges;
pub mod models;
pub mod processes;
pub mod rollouts;

use std::path::Path;

use assay_node::{Config, ConfigError};

/// The configuration of a node under test: the user's own images, workers from `program` (empty for
/// the running one), no record.
///
/// # Errors
/// If an environment variable is not a setting.
#[expect(
    clippy::disallowed_methods,
    reason = "images are where the environment says, as for the binary"
)]
pub fn config(program: &Path) -> Result<Config, ConfigError> {
    let program = program.to_string_lossy().into_owned();
    let settings = vec![
        ("store", "database", String::new().into()),
        ("sandbox_workers", "program", program.into()),
    ];
    Config::load(None, std::env::vars_os(), settings)
}
