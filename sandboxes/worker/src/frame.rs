//! Frames over a pipe: a length in four bytes, little-endian, then that many bytes.

use std::io::{self, Read, Write};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest frame, in bytes: longer than any program, input and output within the limits, and short
/// enough not to exhaust the memory of the parent.
pub const MAX_FRAME: usize = 256 << 20;

/// Bytes of the length at the start of a frame.
const HEADER: usize = 4;

/// An unfinished frame: reserves the header; the payload is appended.
pub(crate) fn begin() -> Vec<u8> {
    vec![0; HEADER]
}

/// Writes the length of the payload into the header.
pub(crate) fn finish(mut frame: Vec<u8>) -> io::Result<Vec<u8>> {
    let length = frame.len() - HEADER;
    let written = u32::try_from(length)
        .ok()
        .filter(|_| length <= MAX_FRAME)
        .ok_or_else(too_long)?;
    frame[..HEADER].copy_from_slice(&written.to_le_bytes());
    Ok(frame)
}

fn read_length(length: [u8; HEADER]) -> io::Result<usize> {
    let length = u32::from_le_bytes(length) as usize;
    if length <= MAX_FRAME {
        Ok(length)
    } else {
        Err(too_long())
    }
}

fn too_long() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a frame is longer than {MAX_FRAME} bytes"),
    )
}

/// Reads one frame; `None` at the end of the stream.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; HEADER];
    match from.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut frame = vec![0; read_length(header)?];
    from.read_exact(&mut frame)?;
    Ok(Some(frame))
}

/// Writes one finished frame.
pub(crate) fn write(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    to.write_all(frame)?;
    to.flush()
}

/// Reads one frame.
pub(crate) async fn receive(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header).await?;
    let mut frame = vec![0; read_length(header)?];
    from.read_exact(&mut frame).await?;
    Ok(frame)
}

/// Writes finished frames.
pub(crate) async fn send(to: &mut (impl AsyncWrite + Unpin), frames: &[u8]) -> io::Result<()> {
    to.write_all(frames).await?;
    to.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_consecutive_frames() {
        let mut pipe = Vec::new();
        let mut one = begin();
        one.extend(b"one");
        write(&mut pipe, &finish(one).unwrap()).unwrap();
        write(&mut pipe, &finish(begin()).unwrap()).unwrap();
        let mut pipe = pipe.as_slice();
        assert_eq!(read(&mut pipe).unwrap().as_deref(), Some(b"one".as_slice()));
        assert_eq!(read(&mut pipe).unwrap().as_deref(), Some(b"".as_slice()));
        assert_eq!(read(&mut pipe).unwrap(), None);
    }

    #[test]
    fn rejects_excessive_lengths_before_allocating() {
        assert!(read(&mut [0xff; 8].as_slice()).is_err());
    }
}
