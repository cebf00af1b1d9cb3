//! Entry points of the fuzz targets for frames and replies of workers. Not part of the API.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::WorkerError;
use crate::frame::{self, Received};
use crate::request::{self, Message, WorkerRequest};

/// A message and its attachment.
pub type Parts = (Vec<u8>, Vec<u8>);

/// The frame of a message and its attachment.
///
/// # Errors
/// If they are too long.
pub fn frame((message, attachment): &Parts) -> io::Result<Vec<u8>> {
    let mut head = frame::begin();
    head.extend_from_slice(message);
    let frame = frame::finish(head, attachment.clone().into())?;
    Ok(frame.parts().concat())
}

/// Reads a frame as a worker does; `None` at the end of the stream.
///
/// # Errors
/// If the frame is too long or cut off.
pub fn read(mut bytes: &[u8]) -> io::Result<Option<Parts>> {
    Ok(frame::read(&mut bytes)?.map(parts))
}

/// Reads a frame as the parent does.
///
/// # Errors
/// If the frame is too long or cut off.
pub fn receive(mut bytes: &[u8]) -> io::Result<Parts> {
    let mut received = pin!(frame::receive(&mut bytes));
    match received
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(received) => received.map(parts),
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

fn parts(received: Received) -> Parts {
    (received.message, received.attachment)
}

/// Reads a request as a worker does.
#[must_use]
pub fn request<W: WorkerRequest>(bytes: &[u8]) -> Option<W> {
    W::read(bytes).ok()
}

/// Reads a reply to a request of this kind, without its status byte, as the parent does.
///
/// # Errors
/// If it is malformed.
pub fn reply<W: WorkerRequest>(bytes: &[u8]) -> Result<W::Reply, WorkerError> {
    request::read_reply::<W>(bytes, Vec::new())
}

/// Writes a request or a reply without its frame.
#[must_use]
pub fn write(message: &impl Message) -> Option<Vec<u8>> {
    message.append_to(Vec::new()).ok()
}
