//! Frames over a pipe: the lengths of a message and of its attachment, each in four bytes,
//! little-endian, then the message, then the attachment.
//!
//! An attachment is what would be copied too often as a part of the message.

use std::io::{self, Read, Write};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest frame, in bytes: longer than any program, input and output within the limits, and short
/// enough not to exhaust the memory of the parent.
pub const MAX_FRAME: usize = 256 << 20;

/// Bytes of the lengths at the start of a frame.
const HEADER: usize = 8;

/// A frame to write.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The header and the message.
    head: Vec<u8>,
    attachment: Bytes,
}

impl Frame {
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.attachment.len()
    }

    /// What is written, in this order.
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        [&self.head, &self.attachment]
    }
}

/// A frame that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) message: Vec<u8>,
    /// Empty if there is none.
    pub(crate) attachment: Vec<u8>,
}

/// The head of an unfinished frame: reserves the header; the message is appended.
pub(crate) fn begin() -> Vec<u8> {
    vec![0; HEADER]
}

/// Writes the lengths into the header.
pub(crate) fn finish(mut head: Vec<u8>, attachment: Bytes) -> io::Result<Frame> {
    if head.len() + attachment.len() > HEADER + MAX_FRAME {
        return Err(too_long());
    }
    for (place, length) in [(0, head.len() - HEADER), (4, attachment.len())] {
        let length = u32::try_from(length).map_err(|_| too_long())?;
        head[place..place + 4].copy_from_slice(&length.to_le_bytes());
    }
    Ok(Frame { head, attachment })
}

/// Makes room for a frame with this header.
fn empty([a, b, c, d, e, f, g, h]: [u8; HEADER]) -> io::Result<Received> {
    let message = u32::from_le_bytes([a, b, c, d]) as usize;
    let attachment = u32::from_le_bytes([e, f, g, h]) as usize;
    if message.saturating_add(attachment) > MAX_FRAME {
        return Err(too_long());
    }
    Ok(Received {
        message: vec![0; message],
        attachment: vec![0; attachment],
    })
}

fn too_long() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a frame is longer than {MAX_FRAME} bytes"),
    )
}

/// Reads one frame; `None` at the end of the stream.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Received>> {
    let mut header = [0; HEADER];
    match from.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut frame = empty(header)?;
    from.read_exact(&mut frame.message)?;
    from.read_exact(&mut frame.attachment)?;
    Ok(Some(frame))
}

/// Writes one frame.
pub(crate) fn write(to: &mut impl Write, frame: &Frame) -> io::Result<()> {
    for part in frame.parts() {
        to.write_all(part)?;
    }
    to.flush()
}

/// Reads one frame.
pub(crate) async fn receive(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Received> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header).await?;
    let mut frame = empty(header)?;
    from.read_exact(&mut frame.message).await?;
    from.read_exact(&mut frame.attachment).await?;
    Ok(frame)
}

/// Writes frames.
pub(crate) async fn send(to: &mut (impl AsyncWrite + Unpin), frames: &[Frame]) -> io::Result<()> {
    for frame in frames {
        for part in frame.parts() {
            to.write_all(part).await?;
        }
    }
    to.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(message: &[u8], attachment: &'static [u8]) -> Frame {
        let mut head = begin();
        head.extend(message);
        finish(head, Bytes::from_static(attachment)).unwrap()
    }

    #[test]
    fn reads_consecutive_frames() {
        let mut pipe = Vec::new();
        let sent = [("one", "beside"), ("", ""), ("", "alone")];
        for (message, attachment) in sent {
            write(&mut pipe, &frame(message.as_bytes(), attachment.as_bytes())).unwrap();
        }
        let mut pipe = pipe.as_slice();
        for (message, attachment) in sent {
            let expected = Received {
                message: message.into(),
                attachment: attachment.into(),
            };
            assert_eq!(read(&mut pipe).unwrap(), Some(expected));
        }
        assert_eq!(read(&mut pipe).unwrap(), None);
    }

    #[test]
    fn rejects_excessive_lengths_before_allocating() {
        assert!(read(&mut [0xff; 12].as_slice()).is_err());
        let half = u32::try_from(MAX_FRAME / 2 + 1).unwrap().to_le_bytes();
        let error = read(&mut [half, half].concat().as_slice()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
