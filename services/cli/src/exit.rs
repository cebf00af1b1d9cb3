//! Exit codes: 0 done, 1 findings, 2 usage or internal error, 130 interrupted. They do not depend
//! on whether the output is read to its end.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use assay_base::causes::with_causes;

use crate::terminal::{self, StdoutClosed};

/// How a command ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandStatus {
    /// The command completed.
    Done,
    /// The command completed and found problems.
    Findings,
    /// The command was interrupted and shut down gracefully.
    Interrupted,
}

/// Maximum time to wait at exit for the log to be written.
const LOG_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) fn code(result: anyhow::Result<CommandStatus>) -> ExitCode {
    // Print the error after the log lines that precede it.
    assay_node::observe::flush(LOG_FLUSH_TIMEOUT);
    match result {
        Ok(CommandStatus::Done) => ExitCode::SUCCESS,
        Ok(CommandStatus::Findings) => ExitCode::from(1),
        Ok(CommandStatus::Interrupted) => ExitCode::from(130),
        Err(error) if is_stdout_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, only the exit code reports the error.
            let _ = writeln!(terminal::stderr(), "assay: {}", with_causes(error.as_ref()));
            ExitCode::from(2)
        }
    }
}

/// Whether the reader of the output closed it early, as `head` does, which is not an error of a
/// command that only prints. Commands with a verdict do not fail then; see `terminal`.
fn is_stdout_closed(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>()?.get_ref())
        .any(<dyn std::error::Error + Send + Sync>::is::<StdoutClosed>)
}
