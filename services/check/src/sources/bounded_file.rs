//! Reads the bytes of a Parquet file and fails beyond its end. Without that error, the library
//! skips values beyond the end one at a time, which takes a minute for a page that claims two
//! billion values.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

/// A file whose reads beyond the end fail.
pub(super) struct BoundedFile(pub(super) File);

impl Length for BoundedFile {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for BoundedFile {
    type T = BoundedReader<BufReader<File>>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.0.get_read(start).map(BoundedReader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// A stream whose reads beyond the end fail.
pub(super) struct BoundedReader<R>(R);

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 if !into.is_empty() => Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "unexpected end of the file",
            )),
            read => Ok(read),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_beyond_the_end_is_an_error() {
        let mut stream = BoundedReader(b"abc".as_slice());
        let mut into = [0; 3];
        stream.read_exact(&mut into).unwrap();
        assert_eq!(&into, b"abc");
        assert_eq!(
            stream.read(&mut into).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
        assert_eq!(stream.read(&mut []).unwrap(), 0);
    }
}
