//! Arguments of `assay sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OutputFormat, ServerKey};

#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    #[command(subcommand)]
    pub(crate) action: Option<SessionAction>,
    /// Server URL [default: the one that uses the database, else the configured address] [env:
    /// ASSAY_SERVER]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) key: ServerKey,
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
