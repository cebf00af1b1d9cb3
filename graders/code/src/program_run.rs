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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramRun {
    pub(crate) end: ProgramEnd,
    /// See [`Ran::driver_evidence`].
    pub(crate) driver_evidence: Option<String>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) work: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) files: Vec<File>,
}

impl ProgramRun {
    /// Converts the reply of a worker.
    ///
    /// # Errors
    /// [`Blocked`] if the task's own code failed.
    pub(crate) fn read(ran: Ran) -> Result<Self, Blocked> {
        let Ran {
            end,
            driver_evidence,
            stdout,
            stderr,
            work,
            memory_bytes,
            files,
        } = ran;
        let end = match end {
            End::Finished => ProgramEnd::Finished,
            End::Exited(status) => ProgramEnd::Exited(status),
            End::Raised(text) => ProgramEnd::Raised(text),
            End::Returned(text) => ProgramEnd::Returned(text),
            End::Refuted(text) => ProgramEnd::TestFailed(text),
            End::OutOfWork => ProgramEnd::OutOfWork,
            End::OutOfMemory => ProgramEnd::OutOfMemory,
            End::OutOfOutput => ProgramEnd::OutOfOutput,
            End::Unjudgeable(message) => {
                return Err(Blocked::by_task(&message, driver_evidence.as_deref()));
            }
            End::FailedEarly(message) => {
                return Err(Blocked {
                    is_certain: false,
                    ..Blocked::by_task(&message, driver_evidence.as_deref())
                });
            }
        };
        Ok(Self {
            end,
            driver_evidence,
            stdout,
            stderr,
            work,
            memory_bytes,
            files,
        })
    }

    /// The run of a program that exceeded its processor time, which counts as using up its work.
    pub(crate) fn overran() -> Self {
        Self::ended(ProgramEnd::OutOfWork)
    }

    /// The run of a program that made the test fail.
    pub(crate) fn of_failed_test(message: String) -> Self {
        Self::ended(ProgramEnd::TestFailed(message))
    }

    fn ended(end: ProgramEnd) -> Self {
        let (stdout, stderr) = (Vec::new(), Vec::new());
        Self {
            end,
            driver_evidence: None,
            stdout,
            stderr,
            work: 0,
            memory_bytes: 0,
            files: Vec::new(),
        }
    }

    /// Bytes of its texts and outputs.
    pub(crate) fn bytes(&self) -> usize {
        let text = match &self.end {
            ProgramEnd::Raised(text)
            | ProgramEnd::Returned(text)
            | ProgramEnd::TestFailed(text) => text.len(),
            _ => 0,
        };
        let file = |file: &File| file.path.len() + file.bytes.len();
        text + self.files.iter().map(file).sum::<usize>()
            + self.driver_evidence.as_ref().map_or(0, String::len)
            + self.stdout.len()
            + self.stderr.len()
    }
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
        let message = format!("{}{hint}", truncated(message.trim_end()));
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

/// Truncates the middle of a long message. Its beginning names what failed, and its end the cause.
fn truncated(message: &str) -> String {
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
        let blocked = ProgramRun::read(ran(
            End::Unjudgeable("the prelude fails\n".to_owned()),
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
        assert!(ProgramRun::read(ran(End::Raised("x".to_owned()), None)).is_ok());
    }

    #[test]
    fn truncates_the_middle_of_long_messages() {
        let message = format!("the prelude: {}é the reason", "é".repeat(10_000));
        let blocked = ProgramRun::read(ran(End::Unjudgeable(message), None)).unwrap_err();
        let message = blocked.fault.message;
        assert!(message.starts_with("the prelude: é") && message.ends_with("é the reason"));
        assert_eq!(message.chars().count(), MAX_MESSAGE + 1);
    }
}
