//! What the shell is told: 0 done, 1 findings, 2 usage or internal error, 130 interrupted.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use assay_client::ClientError;

use crate::terminal;

/// How a command ended, when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It did what was asked.
    Done,
    /// It did what was asked and found something to look at.
    Findings,
    /// It was interrupted and stopped in order.
    Interrupted,
}

/// Longest wait at exit for the log to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

pub(crate) fn code(result: anyhow::Result<Ended>) -> ExitCode {
    // Print the error after the log lines that precede it.
    assay_node::observe::flush_logs(LAST_LINES);
    match result {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::Findings) => ExitCode::from(1),
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, only the exit code reports the error.
            let _ = writeln!(terminal::stderr(), "assay: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whoever read our output had enough, as `head` does: that is no error. A server that breaks off
/// is one.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of_server = error
        .chain()
        .any(|cause| cause.downcast_ref::<ClientError>().is_some());
    !of_server
        && error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
            .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
