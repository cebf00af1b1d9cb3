//! The result of a run of a program. If code of the task failed by itself, there is no result, and
//! so no verdict.

use assay_core::{ErrorCode, Fault};
use assay_worker::program::{End, Ran};

use crate::told::{Limit, Told};

/// Longest message about code of the task, in characters.
const LONGEST_MESSAGE: usize = 1_500;

/// How a program ended. A fault of the task cannot be expressed in this type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// To its end.
    Finished,
    /// By exiting with this status.
    Exited(i32),
    /// By an uncaught exception, or a trap.
    Raised(String),
    /// The called function returned, in the notation of the image's driver.
    Returned(String),
    /// The test was run and did not pass.
    Refuted(String),
    OutOfWork,
    OutOfMemory,
    OutOfOutput,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramRun {
    pub(crate) end: ProgramEnd,
    /// See [`Ran::told`].
    pub(crate) told: Option<String>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) work: u64,
    pub(crate) memory_bytes: u64,
}

impl ProgramRun {
    /// Reads what a worker answered.
    ///
    /// # Errors
    /// [`Blocked`] if code of the task failed by itself.
    pub(crate) fn read(ran: Ran) -> Result<Self, Blocked> {
        let Ran {
            end,
            told,
            stdout,
            stderr,
            work,
            memory_bytes,
        } = ran;
        let end = match end {
            End::Finished => ProgramEnd::Finished,
            End::Exited(status) => ProgramEnd::Exited(status),
            End::Raised(text) => ProgramEnd::Raised(text),
            End::Returned(text) => ProgramEnd::Returned(text),
            End::Refuted(text) => ProgramEnd::Refuted(text),
            End::OutOfWork => ProgramEnd::OutOfWork,
            End::OutOfMemory => ProgramEnd::OutOfMemory,
            End::OutOfOutput => ProgramEnd::OutOfOutput,
            End::Unjudgeable(message) => return Err(Blocked::by_task(&message, told.as_deref())),
        };
        Ok(Self {
            end,
            told,
            stdout,
            stderr,
            work,
            memory_bytes,
        })
    }

    /// The run of a program that exceeded its wall time, which counts as using up its work.
    pub(crate) fn overran() -> Self {
        let (stdout, stderr) = (Vec::new(), Vec::new());
        Self {
            end: ProgramEnd::OutOfWork,
            told: None,
            stdout,
            stderr,
            work: 0,
            memory_bytes: 0,
        }
    }

    /// Bytes of its texts and outputs.
    pub(crate) fn bytes(&self) -> usize {
        let text = match &self.end {
            ProgramEnd::Raised(text) | ProgramEnd::Returned(text) | ProgramEnd::Refuted(text) => {
                text.len()
            }
            _ => 0,
        };
        text + self.told.as_ref().map_or(0, String::len) + self.stdout.len() + self.stderr.len()
    }
}

/// Why an item gets no verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blocked {
    pub(crate) fault: Fault,
    /// The limit of the sandbox that code of the task reached.
    pub(crate) limit: Option<Limit>,
}

impl Blocked {
    /// Code of the task failed by itself.
    fn by_task(message: &str, told: Option<&str>) -> Self {
        let limit = told.and_then(Told::read).and_then(|told| told.limit);
        let hint = match &limit {
            Some(limit) if limit.cause == "module" => {
                format!(
                    "; the image has no module `{}`; `assay doctor --json` lists its modules",
                    limit.name
                )
            }
            Some(limit) => format!("; the sandbox does not support `{}`", limit.name),
            None => String::new(),
        };
        let message = format!("{}{hint}", shortened(message.trim_end()));
        Self {
            fault: Fault::lasting(ErrorCode::TaskAtFault, message),
            limit,
        }
    }
}

impl From<Fault> for Blocked {
    fn from(fault: Fault) -> Self {
        Self { fault, limit: None }
    }
}

/// Keeps the beginning of a long message, which says what failed, and its end, which says why.
fn shortened(message: &str) -> String {
    let count = message.chars().count();
    if count <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let head: String = message.chars().take(LONGEST_MESSAGE / 5).collect();
    let tail: String = message
        .chars()
        .skip(count - LONGEST_MESSAGE * 4 / 5)
        .collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(end: End, told: Option<&str>) -> Ran {
        let told = told.map(str::to_owned);
        Ran {
            end,
            told,
            stdout: Vec::new(),
            stderr: Vec::new(),
            work: 0,
            memory_bytes: 0,
        }
    }

    #[test]
    fn a_fault_of_the_task_is_no_run_of_the_program() {
        let told = r#"{"limit":{"cause":"module","name":"numpy"}}"#;
        let blocked = ProgramRun::read(ran(
            End::Unjudgeable("the prelude fails\n".to_owned()),
            Some(told),
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
    fn long_messages_keep_their_beginning_and_their_end() {
        let message = format!("the prelude: {}é the reason", "é".repeat(10_000));
        let blocked = ProgramRun::read(ran(End::Unjudgeable(message), None)).unwrap_err();
        let message = blocked.fault.message;
        assert!(message.starts_with("the prelude: é") && message.ends_with("é the reason"));
        assert_eq!(message.chars().count(), LONGEST_MESSAGE + 1);
    }
}
