//! A look at the quotes of separated values as they are read: readers of the format end an open quote at the end of the file, in
//! silence, with all rows behind it in one text.

use std::io::{self, Read};

/// A file as it is, and whether its quotes are closed.
pub(super) struct Quotes<R> {
    file: R,
    delimiter: u8,
    within: Within,
    /// The line that is read, from 1.
    line: u64,
    /// Line of the last quote that was opened.
    opened: u64,
    ended: bool,
}

/// Where a byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Where a value begins: only here a quote opens.
    Start,
    Value,
    Quoted,
    /// Behind a quote in a quoted value: it is its end, or the first of two that stand for one.
    Closed,
}

impl<R> Quotes<R> {
    pub(super) fn new(file: R, delimiter: u8) -> Self {
        Self { file, delimiter, within: Within::Start, line: 1, opened: 1, ended: false }
    }

    /// Once the file has ended: the line of a quote that was never closed.
    pub(super) fn unclosed(&self) -> Option<u64> {
        (self.ended && self.within == Within::Quoted).then_some(self.opened)
    }

    fn see(&mut self, byte: u8) {
        self.within = match (self.within, byte) {
            (Within::Start, b'"') => {
                self.opened = self.line;
                Within::Quoted
            }
            (Within::Closed, b'"') => Within::Quoted,
            (Within::Quoted, b'"') => Within::Closed,
            (Within::Quoted, _) => Within::Quoted,
            (_, b'\n' | b'\r') => Within::Start,
            (_, byte) if byte == self.delimiter => Within::Start,
            _ => Within::Value,
        };
        self.line += u64::from(byte == b'\n');
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.ended = count == 0;
        buffer[..count].iter().for_each(|byte| self.see(*byte));
        Ok(count)
    }
}
