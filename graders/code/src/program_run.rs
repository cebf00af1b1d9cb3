//! The result of a run of a program. If the task's own code fails, there is no result and therefore
//! no verdict.

use assay_core::{ErrorCode, Fault};
use assay_worker::program::{End, File, Ran};

use crate::driver_evidence::{DriverEvidence, Limit};

/// Longest message about the task's own code, in characters.
const MAX_MESSAGE: usize = 1_500;

/// How a program ended. This type cannot express a fault of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// It ran to its end.
    Finished,
    /// It exited with this status.
    Exited(i32),
    /// It raised an uncaught exception, or trapped: the message.
    Raised(String),
    /// The called function returned a value, in the notation of the image's driver.
    Returned(String),
    /// The test code ran and failed: the message.
    TestFailed(String),
    OutOfWork,
    OutOfMemory,
    OutOfOutput,
}

/// One run of a program.
pub(crate) type ProgramRun = Ran<ProgramEnd>;

/// Reads the reply of a worker.
///
/// # Errors
/// [`Blocked`] if the task's own code failed.
pub(crate) fn read(mut ran: Ran) -> Result<ProgramRun, Blocked> {
    let end = match std::mem::replace(&mut ran.end, End::Finished) {
        End::Finished => ProgramEnd::Finished,
        End::Exited(status) => ProgramEnd::Exited(status),
        End::Raised(text) => ProgramEnd::Raised(text),
        End::Returned(text) => ProgramEnd::Returned(text),
        End::TestFailed(text) => ProgramEnd::TestFailed(text),
        End::OutOfWork => ProgramEnd::OutOfWork,
        End::OutOfMemory => ProgramEnd::OutOfMemory,
        End::OutOfOutput => ProgramEnd::OutOfOutput,
        End::TaskFailed(message) => {
            return Err(Blocked::by_task(&message, ran.driver_evidence.as_deref()));
        }
        End::FailedEarly(message) => {
            return Err(Blocked {
                is_certain: false,
                ..Blocked::by_task(&message, ran.driver_evidence.as_deref())
            });
        }
    };
    Ok(ran.with_end(end))
}

/// Bytes of the texts and outputs of a run.
pub(crate) fn bytes(run: &ProgramRun) -> usize {
    let text = match &run.end {
        ProgramEnd::Raised(text) | ProgramEnd::Returned(text) | ProgramEnd::TestFailed(text) => {
            text.len()
        }
        _ => 0,
    };
    let file = |file: &File| file.path.len() + file.bytes.len();
    text + run.files.iter().map(file).sum::<usize>()
        + run.driver_evidence.as_ref().map_or(0, String::len)
        + run.stdout.len()
        + run.stderr.len()
}

/// Why an item cannot get a verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blocked {
    pub(crate) fault: Fault,
    /// The limit of the sandbox that the task's code reached.
    pub(crate) limit: Option<Limit>,
    /// Whether the program cannot be the cause.
    pub(crate) is_certain: bool,
}

impl Blocked {
    /// Whether the task is at fault, and not the service.
    pub(crate) fn is_of_task(&self) -> bool {
        self.fault.code == ErrorCode::TaskAtFault
    }

    /// The task's own code failed.
    fn by_task(message: &str, driver_evidence: Option<&str>) -> Self {
        let limit = driver_evidence
            .and_then(DriverEvidence::read)
            .and_then(|driver_evidence| driver_evidence.limit);
        let hint = limit.as_ref().map(Limit::hint).unwrap_or_default();
        let message = format!("{}{hint}", without_middle(message.trim_end()));
        Self {
            fault: Fault::permanent(ErrorCode::TaskAtFault, message),
            limit,
            is_certain: true,
        }
    }
}

impl From<Fault> for Blocked {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            limit: None,
            is_certain: true,
        }
    }
}

/// A message, without its middle if it is long. Its beginning names what failed, and its end the
/// cause.
fn without_middle(message: &str) -> String {
    let count = message.chars().count();
    if count <= MAX_MESSAGE {
        return message.to_owned();
    }
    let head: String = message.chars().take(MAX_MESSAGE / 5).collect();
    let tail: String = message.chars().skip(count - MAX_MESSAGE * 4 / 5).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(end: End, driver_evidence: Option<&str>) -> Ran {
        let driver_evidence = driver_evidence.map(str::to_owned);
        Ran {
            end,
            driver_evidence,
            stdout: Vec::new(),
            stderr: Vec::new(),
            work: 0,
            memory_bytes: 0,
            files: Vec::new(),
        }
    }

    #[test]
    fn task_faults_are_errors() {
        let driver_evidence = r#"{"limit":{"cause":"module","name":"numpy"}}"#;
        let blocked = read(ran(
            End::TaskFailed("the prelude fails\n".to_owned()),
            Some(driver_evidence),
        ))
        .unwrap_err();
        assert_eq!(
            (blocked.fault.code, blocked.fault.retryable),
            (ErrorCode::TaskAtFault, false)
        );
        assert!(
            blocked
                .fault
                .message
                .starts_with("the prelude fails; the image has no module `numpy`")
        );
        assert_eq!(blocked.limit.unwrap().name, "numpy");
        assert!(read(ran(End::Raised("x".to_owned()), None)).is_ok());
    }

    #[test]
    fn truncates_the_middle_of_long_messages() {
        let message = format!("the prelude: {}é the reason", "é".repeat(10_000));
        let blocked = read(ran(End::TaskFailed(message), None)).unwrap_err();
        let message = blocked.fault.message;
        assert!(message.starts_with("the prelude: é") && message.ends_with("é the reason"));
        assert_eq!(message.chars().count(), MAX_MESSAGE + 1);
    }
}
