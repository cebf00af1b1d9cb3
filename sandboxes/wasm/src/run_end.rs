//! How a run ended.

use assay_worker::program::{End, Limits, Ran};

use crate::guest::{Guest, ReplySource, Stopped, driver_evidence, end_of};
use crate::request_error::RequestError;

/// How an instance ended, and the evidence of its driver.
pub(crate) struct RunEnd {
    pub(crate) end: End,
    pub(crate) driver_evidence: Option<String>,
}

impl RunEnd {
    pub(crate) fn without_evidence(end: End) -> Self {
        Self {
            end,
            driver_evidence: None,
        }
    }

    pub(crate) fn of(
        reply: Result<Vec<u8>, Stopped>,
        source: ReplySource,
    ) -> Result<Self, RequestError> {
        match reply {
            Ok(reply) => {
                let end = match (end_of(&reply), source) {
                    // A program must not be able to blame the task.
                    (End::TaskFailed(text) | End::FailedEarly(text), ReplySource::Program) => {
                        End::Raised(text)
                    }
                    (end, _) => end,
                };
                // Only failures need evidence, and parsing a long reply again takes time.
                let has_failed = !matches!(end, End::Finished | End::Returned(_));
                let driver_evidence = if has_failed {
                    driver_evidence(&reply, source)
                } else {
                    None
                };
                Ok(Self {
                    end,
                    driver_evidence,
                })
            }
            Err(Stopped::Ended(end)) => Ok(Self::without_evidence(end)),
            Err(Stopped::PeerEnded) => Ok(Self::without_evidence(End::Finished)),
            Err(Stopped::HostOutOfMemory) => {
                Err(RequestError::no_result(&Stopped::HostOutOfMemory))
            }
        }
    }
}

/// How a run ended if memory may have been refused. A program may recover from a refusal; if it
/// fails, the memory limit is the reason.
pub(crate) fn with_memory_limit(end: End, is_short_of_memory: bool) -> End {
    match end {
        End::Raised(_) | End::OutOfWork if is_short_of_memory => End::OutOfMemory,
        end => end,
    }
}

/// The result of an instance that has ended.
pub(crate) fn ran(guest: &Guest, limits: Limits, ended: RunEnd) -> Ran {
    let state = guest.state();
    Ran {
        end: with_memory_limit(ended.end, state.memory_refusals > 0),
        driver_evidence: ended.driver_evidence,
        stdout: state.stdout.clone(),
        stderr: state.stderr_tail().to_vec(),
        work: limits.work.saturating_sub(guest.work_left()),
        memory_bytes: guest.memory_bytes(),
        files: Vec::new(),
    }
}
