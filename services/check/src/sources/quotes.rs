//! Tracks quotes and lines of separated values while they are read, because CSV readers have two
//! shortcomings: they silently close an open quote at the end of the file, with all following rows
//! in one value; and for a record after an empty line, or after the second byte of a line break,
//! they report that position as its start.

use std::collections::VecDeque;
use std::io::{self, Read};

/// Passes a file through unchanged and tracks whether its quotes are closed and where its records
/// start.
pub(super) struct Quotes<R> {
    file: R,
    delimiter: u8,
    /// Most bytes of a row.
    longest: u64,
    /// Bytes of the current row.
    row: u64,
    within: Within,
    /// The line that is read, from 1.
    line: u64,
    /// Line of the last quote that was opened.
    opened: u64,
    ended: bool,
    /// Bytes read.
    read: u64,
    /// Line breaks after the last requested record.
    breaks: VecDeque<Breaks>,
    /// Line of that record.
    record: u64,
}

/// A run of line breaks that are adjacent, or within quotes with no other line break.
#[derive(Debug)]
struct Breaks {
    from: u64,
    to: u64,
    lines: u64,
    is_quoted: bool,
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
    pub(super) fn new(file: R, delimiter: u8, longest: u64) -> Self {
        Self {
            file,
            delimiter,
            longest,
            row: 0,
            within: Within::Start,
            line: 1,
            opened: 1,
            ended: false,
            read: 0,
            breaks: VecDeque::new(),
            record: 1,
        }
    }

    /// The line of the record that was read from `byte` on, which may start with empty lines.
    /// Records must be requested in order.
    pub(super) fn line_of(&mut self, byte: u64) -> u64 {
        while let Some(breaks) = self.breaks.pop_front_if(|breaks| breaks.from <= byte) {
            self.record += breaks.lines;
        }
        self.record
    }

    fn note_break(&mut self, byte: u8) {
        let (at, lines) = (self.read, u64::from(byte == b'\n'));
        let is_quoted = self.within == Within::Quoted;
        match self.breaks.back_mut() {
            Some(last) if last.is_quoted == is_quoted && (is_quoted || last.to == at) => {
                last.to = at + 1;
                last.lines += lines;
            }
            _ => self.breaks.push_back(Breaks {
                from: at,
                to: at + 1,
                lines,
                is_quoted,
            }),
        }
    }

    /// Once the file has ended: the line of a quote that was never closed.
    pub(super) fn unclosed(&self) -> Option<u64> {
        (self.ended && self.within == Within::Quoted).then_some(self.opened)
    }

    fn see(&mut self, byte: u8) {
        if matches!(byte, b'\n' | b'\r') {
            self.note_break(byte);
        }
        self.read += 1;
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
        let is_between = matches!(byte, b'\n' | b'\r') && self.within == Within::Start;
        self.row = if is_between { 0 } else { self.row + 1 };
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.ended = count == 0;
        for byte in &buffer[..count] {
            self.see(*byte);
            if self.row > self.longest {
                return Err(io::Error::other(format!(
                    "the row is longer than {} bytes",
                    self.longest
                )));
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_row_that_is_too_long() {
        let read = |text: &str| {
            io::read_to_string(Quotes::new(text.as_bytes(), b',', 5))
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            read("a,b,c\r\n\n\n\n\n\n\"1\n2\"\n").as_deref(),
            Ok("a,b,c\r\n\n\n\n\n\n\"1\n2\"\n")
        );
        let too_long = "the row is longer than 5 bytes".to_owned();
        assert_eq!(read("a\nabcdef\n"), Err(too_long.clone()));
        assert_eq!(read("a\n\"\n\n\n\n\n\n"), Err(too_long), "an open quote");
    }

    #[test]
    fn counts_lines_up_to_a_record() {
        let mut quotes = Quotes::new(b"a\r\nb\n\r\n\nc\n\"d\n\r\n\"\ne".as_slice(), b',', 99);
        io::copy(&mut quotes, &mut io::sink()).unwrap();
        // The reader attributes the second byte of `\r\n`, and empty lines, to the next record.
        let lines = [2, 5, 10, 17].map(|start| quotes.line_of(start));
        assert_eq!(lines, [2, 5, 6, 9]);
    }
}
