//! What is spoken with cells: each kind of work has its own words.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{CellError, frame};

/// Requests about one kind of work.
pub trait Words: Serialize + DeserializeOwned {
    /// What they are answered with.
    type Reply: Serialize + DeserializeOwned;
    /// First byte of such a request, by which a cell knows who answers. No two kinds share one.
    const KIND: u8;

    /// A request that asks for next to nothing, to see whether cells answer at all.
    fn probe() -> Self;

    /// Checks a reply that was received: untrusted work may have taken over the worker that sent it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(_reply: &Self::Reply) -> Result<(), &'static str> {
        Ok(())
    }
}

/// Answers requests of one kind, inside a cell. A panic ends the cell; its parent starts another.
pub trait Handler {
    /// The kind of work.
    type Request: Words;

    /// Answers one request.
    fn answer(&mut self, request: Self::Request) -> <Self::Request as Words>::Reply;
}

/// A request as a frame.
pub(crate) fn framed<W: Words>(request: &W) -> Result<Vec<u8>, CellError> {
    let mut frame = frame::begin();
    frame.push(W::KIND);
    let frame = postcard::to_extend(request, frame).map_err(|error| unreadable(&error))?;
    frame::finish(frame).map_err(|error| CellError::Message(error.to_string()))
}

pub(crate) fn reply_of<W: Words>(bytes: &[u8]) -> Result<W::Reply, CellError> {
    let reply: W::Reply = postcard::from_bytes(bytes).map_err(|error| unreadable(&error))?;
    W::check(&reply).map_err(|reason| CellError::Message(reason.to_owned()))?;
    Ok(reply)
}

fn unreadable(error: &postcard::Error) -> CellError {
    CellError::Message(error.to_string())
}
