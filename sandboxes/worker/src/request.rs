//! Requests to workers and their replies. Each kind of work has its own types.

use std::io;

use bytes::Bytes;

use crate::WorkerError;
use crate::frame::{self, Frame, MAX_FRAME, Received};

/// A request or a reply, as bytes. The functions that read and write are defined by
/// [`coded_by_serde!`](crate::coded_by_serde).
pub trait Message: Sized {
    /// Appends the message without its attachment.
    ///
    /// # Errors
    /// If the message cannot be written.
    fn append_to(&self, bytes: Vec<u8>) -> Result<Vec<u8>, postcard::Error>;

    /// Reads a message; its attachment is empty.
    ///
    /// # Errors
    /// If the bytes are malformed.
    fn read(bytes: &[u8]) -> Result<Self, postcard::Error>;

    /// A long field that is sent beside the message, so that the pipe is its only copy. Of itself
    /// the message contains only whether there is one.
    fn attachment(&self) -> Option<&Bytes> {
        None
    }

    /// Adds the attachment to a message that was read. Called for each message.
    fn attach(&mut self, _attachment: Bytes) {}
}

/// Defines how a [`Message`](crate::Message) that serde can serialise is read and written. The code
/// is compiled in the crate that uses this macro. Generic functions would be compiled in the crates
/// that call them, some of which are not optimised in development builds.
#[macro_export]
macro_rules! coded_by_serde {
    () => {
        fn append_to(&self, bytes: Vec<u8>) -> Result<Vec<u8>, postcard::Error> {
            postcard::to_extend(self, bytes)
        }

        fn read(bytes: &[u8]) -> Result<Self, postcard::Error> {
            postcard::from_bytes(bytes)
        }
    };
}

/// Serialises of an attachment only whether there is one.
pub(crate) mod attached {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<Bytes>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.is_some().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Bytes>, D::Error> {
        Ok(bool::deserialize(deserializer)?.then(Bytes::new))
    }
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

/// A reply as a frame. One that is longer than [`MAX_FRAME`] is replaced by a status: it fails only
/// its own request, and the worker can serve others.
pub(crate) fn framed_reply<R: Message>(reply: &R, is_tainted: bool) -> io::Result<Frame> {
    let mut head = frame::begin();
    head.push(if is_tainted {
        status::TAINTED
    } else {
        status::REUSABLE
    });
    let head = reply.append_to(head).map_err(io::Error::other)?;
    frame::finish(head, attachment_of(reply)).or_else(|_| {
        let mut head = frame::begin();
        head.push(status::TOO_LONG);
        frame::finish(head, Bytes::new())
    })
}

/// A request as a frame.
pub(crate) fn framed<W: WorkerRequest>(request: &W) -> Result<Frame, WorkerError> {
    let mut head = frame::begin();
    head.push(W::KIND);
    let head = request
        .append_to(head)
        .map_err(|error| unreadable(&error))?;
    let frame = frame::finish(head, attachment_of(request));
    frame.map_err(|error| WorkerError::Message(error.to_string()))
}

fn attachment_of(message: &impl Message) -> Bytes {
    message.attachment().cloned().unwrap_or_default()
}

/// Reads a message and adds its attachment.
pub(crate) fn read<M: Message>(message: &[u8], attachment: Vec<u8>) -> Result<M, postcard::Error> {
    let mut message = M::read(message)?;
    message.attach(attachment.into());
    Ok(message)
}

/// Reads the reply of a worker; also returns whether the worker can serve further requests.
pub(crate) fn reply_of<W: WorkerRequest>(frame: Received) -> (Result<W::Reply, WorkerError>, bool) {
    let Received {
        message,
        attachment,
    } = frame;
    match message.split_first() {
        Some((&status::REUSABLE, body)) => {
            let reply = read_reply::<W>(body, attachment);
            let is_reusable = reply.is_ok();
            (reply, is_reusable)
        }
        Some((&status::TAINTED, body)) => (read_reply::<W>(body, attachment), false),
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
pub(crate) fn read_reply<W: WorkerRequest>(
    body: &[u8],
    attachment: Vec<u8>,
) -> Result<W::Reply, WorkerError> {
    let reply = read(body, attachment).map_err(|error| unreadable(&error))?;
    W::check(&reply).map_err(|reason| WorkerError::Message(reason.to_owned()))?;
    Ok(reply)
}

fn unreadable(error: &postcard::Error) -> WorkerError {
    WorkerError::Message(error.to_string())
}
