//! Arguments of `assay sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OutputFormat, ServerOptions};

#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    #[command(subcommand)]
    pub(crate) action: Option<SessionAction>,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionAction {
    /// List the open sessions (the default)
    List,
    /// Show one session
    Show {
        /// Id of the session
        id: String,
    },
    /// Print the log of a session as JSON
    Log {
        /// Id of the session
        id: String,
    },
    /// End sessions
    End {
        /// Ids of the sessions
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Run the calls of a log again and compare what they return; exit with 1 if it differs
    Replay {
        /// Log of a session, as `assay sessions log` prints it; `-` for standard input
        file: PathBuf,
    },
}
