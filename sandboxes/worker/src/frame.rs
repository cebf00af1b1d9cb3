//! Frames over a pipe: a length in four bytes, little-endian, then that many bytes.

use std::io::{self, Read, Write};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest frame, in bytes: above any program, input and output that limits allow, below what would
/// exhaust the parent.
pub const MAX_FRAME: usize = 256 << 20;

/// Bytes a frame begins with.
const HEAD: usize = 4;

/// A frame to be filled: what is put behind belongs to it.
pub(crate) fn begin() -> Vec<u8> {
    vec![0; HEAD]
}

/// Writes the length of a filled frame at its head.
pub(crate) fn finish(mut frame: Vec<u8>) -> io::Result<Vec<u8>> {
    let length = frame.len() - HEAD;
    let written = u32::try_from(length)
        .ok()
        .filter(|_| length <= MAX_FRAME)
        .ok_or_else(too_long)?;
    frame[..HEAD].copy_from_slice(&written.to_le_bytes());
    Ok(frame)
}

fn checked(length: [u8; HEAD]) -> io::Result<usize> {
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
    let mut head = [0; HEAD];
    match from.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut frame = vec![0; checked(head)?];
    from.read_exact(&mut frame)?;
    Ok(Some(frame))
}

/// Writes one frame, head and all.
pub(crate) fn write(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    to.write_all(frame)?;
    to.flush()
}

/// Reads one frame.
pub(crate) async fn receive(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut head = [0; HEAD];
    from.read_exact(&mut head).await?;
    let mut frame = vec![0; checked(head)?];
    from.read_exact(&mut frame).await?;
    Ok(frame)
}

/// Writes one frame, head and all.
pub(crate) async fn send(to: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> io::Result<()> {
    to.write_all(frame).await?;
    to.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_one_another() {
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
    fn a_length_out_of_range_is_no_allocation() {
        assert!(read(&mut [0xff; 8].as_slice()).is_err());
    }
}
