//! What is spoken with workers: each kind of work has its own words.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::WorkerError;
use crate::frame::{self, MAX_FRAME};

/// Requests about one kind of work.
pub trait WorkerRequest: Serialize + DeserializeOwned {
    /// What they are answered with.
    type Reply: Serialize + DeserializeOwned;
    /// First byte of such a request, by which a worker knows who answers. No two kinds share one.
    const KIND: u8;

    /// A request that asks for next to nothing, to see whether workers answer at all.
    fn probe() -> Self;

    /// Validates a received reply: untrusted work may have compromised the worker that sent it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(_reply: &Self::Reply) -> Result<(), &'static str> {
        Ok(())
    }
}

/// Answers requests of one kind, inside a worker. A panic ends the worker; its parent starts
/// another.
pub trait Handler {
    /// The kind of work.
    type Request: WorkerRequest;

    /// Answers one request.
    fn answer(&mut self, request: Self::Request) -> <Self::Request as WorkerRequest>::Reply;

    /// Whether a request may have compromised the worker, so that it must not be given another one.
    fn is_tainted(&self) -> bool {
        false
    }
}

/// First byte of a reply.
mod mark {
    /// The worker can serve further requests.
    pub(super) const GOOD: u8 = 0;
    /// The worker is to be replaced.
    pub(super) const TAINTED: u8 = 1;
    /// The reply was longer than a frame and was left out.
    pub(super) const TOO_LONG: u8 = 2;
}

/// A reply as a frame that is not finished.
pub(crate) fn framed_reply<R: Serialize>(
    reply: &R,
    is_tainted: bool,
) -> Result<Vec<u8>, postcard::Error> {
    let mut frame = frame::begin();
    frame.push(if is_tainted {
        mark::TAINTED
    } else {
        mark::GOOD
    });
    postcard::to_extend(reply, frame)
}

/// Replaces a reply that does not fit into a frame.
pub(crate) fn framed_too_long() -> Vec<u8> {
    let mut frame = frame::begin();
    frame.push(mark::TOO_LONG);
    frame
}

/// A request as a frame.
pub(crate) fn framed<W: WorkerRequest>(request: &W) -> Result<Vec<u8>, WorkerError> {
    let mut frame = frame::begin();
    frame.push(W::KIND);
    let frame = postcard::to_extend(request, frame).map_err(|error| unreadable(&error))?;
    frame::finish(frame).map_err(|error| WorkerError::Message(error.to_string()))
}

/// Reads the reply of a worker; also returns whether the worker can serve further requests.
pub(crate) fn reply_of<W: WorkerRequest>(bytes: &[u8]) -> (Result<W::Reply, WorkerError>, bool) {
    match bytes.split_first() {
        Some((&mark::GOOD, body)) => {
            let reply = read_reply::<W>(body);
            let is_good = reply.is_ok();
            (reply, is_good)
        }
        Some((&mark::TAINTED, body)) => (read_reply::<W>(body), false),
        Some((&mark::TOO_LONG, _)) => (
            Err(WorkerError::Message(format!(
                "the reply exceeds {MAX_FRAME} bytes"
            ))),
            true,
        ),
        _ => (
            Err(WorkerError::Message("the reply has no mark".to_owned())),
            false,
        ),
    }
}

/// Reads a reply without its mark.
pub(crate) fn read_reply<W: WorkerRequest>(body: &[u8]) -> Result<W::Reply, WorkerError> {
    let reply: W::Reply = postcard::from_bytes(body).map_err(|error| unreadable(&error))?;
    W::check(&reply).map_err(|reason| WorkerError::Message(reason.to_owned()))?;
    Ok(reply)
}

fn unreadable(error: &postcard::Error) -> WorkerError {
    WorkerError::Message(error.to_string())
}
