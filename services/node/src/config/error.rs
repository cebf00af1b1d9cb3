//! Errors of the configuration.

use std::fmt;
use std::path::PathBuf;

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration `{}`: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The file is not TOML.
    #[error("`{}` is not valid TOML, line {line}: {message}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, without the text of the line, which may contain a password.
        message: String,
    },
    /// A variable matches no setting, and unknown variables are rejected.
    #[error(
        "`{}` is not a known setting; the most similar is `{}`; run `assay serve --print-config` \
         to list all settings (`workers` of `[engine]` is `ASSAY_ENGINE_WORKERS`)",
        .0.name,
        .0.nearest
    )]
    UnknownVariable(UnknownVariable),
    /// A key or value is invalid.
    #[error("{origin}: {message}")]
    Invalid {
        /// The file, variable or flag that sets it.
        origin: String,
        /// What is wrong.
        message: String,
    },
}

/// A variable with the prefix that matches no setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVariable {
    /// The variable.
    pub name: String,
    /// The variable of the setting with the most similar name.
    pub nearest: String,
}

impl fmt::Display for UnknownVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, nearest } = self;
        write!(
            f,
            "ignoring the variable `{name}`, which is not a known setting; the most similar is \
             `{nearest}`"
        )
    }
}
