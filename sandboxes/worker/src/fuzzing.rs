//! Entry points of the fuzz targets for frames and replies of workers. Not part of the API.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::request::{self, Message, WorkerRequest};
use crate::{WorkerError, frame};

/// A frame around `payload`.
///
/// # Errors
/// If the payload is too long.
pub fn frame(payload: &[u8]) -> io::Result<Vec<u8>> {
    let mut frame = frame::begin();
    frame.extend_from_slice(payload);
    frame::finish(frame)
}

/// Reads a frame as a worker does; `None` at the end of the stream.
///
/// # Errors
/// If the frame is too long or cut off.
pub fn read(mut bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
    frame::read(&mut bytes)
}

/// Reads a frame as the parent does.
///
/// # Errors
/// If the frame is too long or cut off.
pub fn receive(mut bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut received = pin!(frame::receive(&mut bytes));
    match received
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(received) => received,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
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
    request::read_reply::<W>(bytes)
}

/// Writes a request or a reply without its frame.
#[must_use]
pub fn write(message: &impl Message) -> Option<Vec<u8>> {
    message.append_to(Vec::new()).ok()
}
