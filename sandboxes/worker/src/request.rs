//! Requests to workers and their replies. Each kind of work has its own types.

use crate::WorkerError;
use crate::frame::{self, MAX_FRAME};

/// A request or a reply, as bytes. Implemented by [`message!`](crate::message).
pub trait Message: Sized {
    /// Appends the message to a frame.
    ///
    /// # Errors
    /// If the message cannot be written.
    fn append_to(&self, frame: Vec<u8>) -> Result<Vec<u8>, postcard::Error>;

    /// Reads a message.
    ///
    /// # Errors
    /// If the bytes are malformed.
    fn read(bytes: &[u8]) -> Result<Self, postcard::Error>;
}

/// Implements [`Message`](crate::Message) for types that serde can write and read. The code is
/// compiled in the crate that uses this macro. Generic functions would be compiled in the crates
/// that call them, some of which are not optimised in development builds.
#[macro_export]
macro_rules! message {
    ($($message:ty),+) => {$(
        impl $crate::Message for $message {
            fn append_to(&self, frame: Vec<u8>) -> Result<Vec<u8>, postcard::Error> {
                postcard::to_extend(self, frame)
            }

            fn read(bytes: &[u8]) -> Result<Self, postcard::Error> {
                postcard::from_bytes(bytes)
            }
        }
    )+};
}

/// Requests of one kind of work.
pub trait WorkerRequest: Message {
    /// The type of the replies.
    type Reply: Message;
    /// First byte of an encoded request, by which a worker selects the handler. Must be unique.
    const KIND: u8;

    /// A request that needs almost no work, to test whether workers answer.
    fn probe() -> Self;

    /// Validates a received reply: untrusted work may have compromised the worker that sent it.
    ///
    /// # Errors
    /// The message about an invalid reply.
    fn check(_reply: &Self::Reply) -> Result<(), &'static str> {
        Ok(())
    }
}

/// Answers requests of one kind inside a worker. A panic ends the worker; its parent starts
/// another.
pub trait Handler {
    /// The kind of work.
    type Request: WorkerRequest;

    /// Answers one request.
    fn answer(&mut self, request: Self::Request) -> <Self::Request as WorkerRequest>::Reply;

    /// Whether a request may have compromised the worker, so that it must not receive another one.
    fn is_tainted(&self) -> bool {
        false
    }
}

/// First byte of a reply.
mod status {
    /// The worker can serve further requests.
    pub(super) const REUSABLE: u8 = 0;
    /// The worker must be replaced.
    pub(super) const TAINTED: u8 = 1;
    /// The reply was longer than a frame and was left out.
    pub(super) const TOO_LONG: u8 = 2;
}

/// A reply as an unfinished frame.
pub(crate) fn framed_reply<R: Message>(
    reply: &R,
    is_tainted: bool,
) -> Result<Vec<u8>, postcard::Error> {
    let mut frame = frame::begin();
    frame.push(if is_tainted {
        status::TAINTED
    } else {
        status::REUSABLE
    });
    reply.append_to(frame)
}

/// The unfinished frame that replaces a reply longer than [`MAX_FRAME`].
pub(crate) fn framed_too_long() -> Vec<u8> {
    let mut frame = frame::begin();
    frame.push(status::TOO_LONG);
    frame
}

/// A request as a frame.
pub(crate) fn framed<W: WorkerRequest>(request: &W) -> Result<Vec<u8>, WorkerError> {
    let mut frame = frame::begin();
    frame.push(W::KIND);
    let frame = request
        .append_to(frame)
        .map_err(|error| unreadable(&error))?;
    frame::finish(frame).map_err(|error| WorkerError::Message(error.to_string()))
}

/// Reads the reply of a worker; also returns whether the worker can serve further requests.
pub(crate) fn reply_of<W: WorkerRequest>(bytes: &[u8]) -> (Result<W::Reply, WorkerError>, bool) {
    match bytes.split_first() {
        Some((&status::REUSABLE, body)) => {
            let reply = read_reply::<W>(body);
            let is_reusable = reply.is_ok();
            (reply, is_reusable)
        }
        Some((&status::TAINTED, body)) => (read_reply::<W>(body), false),
        Some((&status::TOO_LONG, _)) => (
            Err(WorkerError::Message(format!(
                "the reply exceeds {MAX_FRAME} bytes"
            ))),
            true,
        ),
        _ => (
            Err(WorkerError::Message(
                "the reply has no valid status byte".to_owned(),
            )),
            false,
        ),
    }
}

/// Reads a reply without its status byte.
pub(crate) fn read_reply<W: WorkerRequest>(body: &[u8]) -> Result<W::Reply, WorkerError> {
    let reply = W::Reply::read(body).map_err(|error| unreadable(&error))?;
    W::check(&reply).map_err(|reason| WorkerError::Message(reason.to_owned()))?;
    Ok(reply)
}

fn unreadable(error: &postcard::Error) -> WorkerError {
    WorkerError::Message(error.to_string())
}
