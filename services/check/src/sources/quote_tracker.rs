//! Tracks quotes and lines of CSV and TSV files while they are read, because CSV readers have two
//! shortcomings. They silently close an open quote at the end of the file, with all following rows
//! in one value. And they report a wrong start for a record after an empty line, or after the
//! second byte of a line break.

use std::collections::VecDeque;
use std::io::{self, Read};

/// Passes a file through unchanged and tracks whether its quotes are closed and where its records
/// start.
pub(super) struct QuoteTracker<R> {
    file: R,
    delimiter: u8,
    /// Maximum number of bytes per row.
    max_row_bytes: u64,
    /// Bytes of the current row.
    row: u64,
    state: State,
    /// The current line, from 1.
    line: u64,
    /// Line of the last opening quote.
    opened: u64,
    ended: bool,
    /// Bytes read.
    read: u64,
    /// Line breaks after the last requested record.
    breaks: VecDeque<LineBreaks>,
    /// Line of the last requested record.
    record: u64,
}

/// Adjacent line breaks outside of quotes, or consecutive line breaks within quotes.
#[derive(Debug)]
struct LineBreaks {
    from: u64,
    to: u64,
    lines: u64,
    is_quoted: bool,
}

/// State of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a value, where a quote may open.
    Start,
    Value,
    Quoted,
    /// After a quote in a quoted value: the end of the value, or the first of an escaped pair.
    Closed,
}

impl<R> QuoteTracker<R> {
    pub(super) fn new(file: R, delimiter: u8, max_row_bytes: u64) -> Self {
        Self {
            file,
            delimiter,
            max_row_bytes,
            row: 0,
            state: State::Start,
            line: 1,
            opened: 1,
            ended: false,
            read: 0,
            breaks: VecDeque::new(),
            record: 1,
        }
    }

    /// The line of the record that starts at `byte`, not counting empty lines before it. Records
    /// must be requested in order.
    pub(super) fn line_of(&mut self, byte: u64) -> u64 {
        while let Some(breaks) = self.breaks.pop_front_if(|breaks| breaks.from <= byte) {
            self.record += breaks.lines;
        }
        self.record
    }

    fn add_break(&mut self, byte: u8) {
        let (at, lines) = (self.read, u64::from(byte == b'\n'));
        let is_quoted = self.state == State::Quoted;
        match self.breaks.back_mut() {
            Some(last) if last.is_quoted == is_quoted && (is_quoted || last.to == at) => {
                last.to = at + 1;
                last.lines += lines;
            }
            _ => self.breaks.push_back(LineBreaks {
                from: at,
                to: at + 1,
                lines,
                is_quoted,
            }),
        }
    }

    /// The line of a quote that is still open at the end of the file.
    pub(super) fn unclosed(&self) -> Option<u64> {
        (self.ended && self.state == State::Quoted).then_some(self.opened)
    }

    fn advance(&mut self, byte: u8) {
        if matches!(byte, b'\n' | b'\r') {
            self.add_break(byte);
        }
        self.read += 1;
        self.state = match (self.state, byte) {
            (State::Start, b'"') => {
                self.opened = self.line;
                State::Quoted
            }
            (State::Closed, b'"') => State::Quoted,
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) => State::Quoted,
            (_, b'\n' | b'\r') => State::Start,
            (_, byte) if byte == self.delimiter => State::Start,
            _ => State::Value,
        };
        self.line += u64::from(byte == b'\n');
        let is_between = matches!(byte, b'\n' | b'\r') && self.state == State::Start;
        self.row = if is_between { 0 } else { self.row + 1 };
    }
}

impl<R: Read> Read for QuoteTracker<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.ended = count == 0;
        for byte in &buffer[..count] {
            self.advance(*byte);
            if self.row > self.max_row_bytes {
                return Err(io::Error::other(format!(
                    "the row is longer than {} bytes",
                    self.max_row_bytes
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
            io::read_to_string(QuoteTracker::new(text.as_bytes(), b',', 5))
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
        let mut quotes = QuoteTracker::new(b"a\r\nb\n\r\n\nc\n\"d\n\r\n\"\ne".as_slice(), b',', 99);
        io::copy(&mut quotes, &mut io::sink()).unwrap();
        // The reader attributes the second byte of `\r\n`, and empty lines, to the next record.
        let lines = [2, 5, 10, 17].map(|start| quotes.line_of(start));
        assert_eq!(lines, [2, 5, 6, 9]);
    }
}
