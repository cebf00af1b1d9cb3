//! A cursor over one visible part of a text, and the calls found so far.

use std::ops::Range;

use super::Form;
use super::parsed::{Call, MAX_CALLS, MAX_MALFORMED, Malformed, ParsedCall, Reading};
use crate::json::{Json, Reader, SyntaxError};

/// A cursor. Positions are byte offsets in the whole text. Text outside the part is not read.
pub(super) struct Scan<'a, 'r> {
    text: &'a str,
    /// Start of the part after leading white space.
    start: usize,
    end: usize,
    /// Position of the cursor.
    pub(super) at: usize,
    /// End of the last attempt, where prose starts.
    prose_from: usize,
    /// Form of the current attempt. Marks that several families share determine it late.
    pub(super) form: Form,
    /// Start of the current attempt.
    pub(super) attempt: usize,
    is_tool: &'r dyn Fn(&str) -> bool,
    reading: &'r mut Reading,
}

impl<'a, 'r> Scan<'a, 'r> {
    pub(super) fn new(
        text: &'a str,
        part: Range<usize>,
        is_tool: &'r dyn Fn(&str) -> bool,
        reading: &'r mut Reading,
    ) -> Self {
        let blank = text[part.clone()].len() - text[part.clone()].trim_start().len();
        let start = part.start + blank;
        Self {
            text,
            start,
            end: part.end,
            at: part.start,
            prose_from: part.start,
            form: Form::Json,
            attempt: part.start,
            is_tool,
            reading,
        }
    }

    /// Whether this is the name of a tool.
    pub(super) fn is_tool(&self, name: &str) -> bool {
        (self.is_tool)(name)
    }

    /// Returns whether a name is that of a tool.
    pub(super) fn tools(&self) -> &'r dyn Fn(&str) -> bool {
        self.is_tool
    }

    /// Starts an attempt at `start`.
    pub(super) fn begin(&mut self, form: Form, start: usize) {
        (self.form, self.attempt) = (form, start);
    }

    /// The rest of the part.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    /// Whether only white space of the part precedes this byte of the text.
    pub(super) fn begins_at(&self, at: usize) -> bool {
        at <= self.start
    }

    pub(super) fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Skips white space. Returns whether the cursor is at the end.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.end
    }

    /// Skips white space and `mark` if `mark` follows. Returns whether it did.
    pub(super) fn take(&mut self, mark: &str) -> bool {
        let rest = self.rest();
        let trimmed = rest.trim_start();
        let is_found = trimmed.starts_with(mark);
        if is_found {
            self.at += rest.len() - trimmed.len() + mark.len();
        }
        is_found
    }

    /// Returns the text up to `mark` and skips both; `None` if `mark` does not follow.
    pub(super) fn take_until(&mut self, mark: &str) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find(mark)?;
        self.at += end + mark.len();
        Some(&rest[..end])
    }

    /// Reads one JSON value.
    pub(super) fn take_json(&mut self) -> Result<Json, SyntaxError> {
        let mut reader = Reader::new(self.rest());
        let read = reader
            .next_value()
            .map_err(|error| error.offset_by(self.at));
        if read.is_ok() {
            self.at += reader.at();
        }
        read
    }

    /// Creates an error at the cursor.
    pub(super) fn error(&self, reason: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.at, reason)
    }

    /// Reads a mark that is required.
    pub(super) fn require(&mut self, mark: &str) -> Result<(), SyntaxError> {
        if self.take(mark) {
            return Ok(());
        }
        let missing = self.is_at_end();
        Err(self.error(if missing {
            format!("`{mark}` is missing")
        } else {
            format!("expected `{mark}`")
        }))
    }

    /// Adds a call that starts at `start` and ends at the cursor.
    pub(super) fn call(&mut self, start: usize, call: ParsedCall) -> Result<(), SyntaxError> {
        if self.reading.calls.len() == MAX_CALLS {
            return Err(SyntaxError::new(
                start,
                format!("there are more than {MAX_CALLS} calls"),
            ));
        }
        let span = start..self.at;
        self.reading.calls.push(Call::new(call, span, self.form));
        Ok(())
    }

    /// Adds a malformed attempt that starts at `start` and ends at the cursor. Calls that were read
    /// from it are removed: an attempt counts once.
    pub(super) fn malformed(
        &mut self,
        form: impl Into<Option<Form>>,
        start: usize,
        error: SyntaxError,
    ) {
        let attempt = start..self.at;
        self.reading
            .calls
            .retain(|call| !attempt.contains(&call.span.start));
        self.reading.malformed.push(Malformed {
            span: start..self.at,
            broken: error,
            form: form.into(),
        });
    }

    /// Whether the limit of malformed attempts is reached.
    pub(super) fn is_full(&self) -> bool {
        self.reading.malformed.len() >= MAX_MALFORMED
    }

    /// Marks the text between the last attempt and `end` as prose.
    pub(super) fn prose_until(&mut self, end: usize) {
        let range = self.prose_from..end;
        if !self.text[range.clone()].trim().is_empty() {
            self.reading.prose.push(range);
        }
    }

    /// Whether no attempt ends after `at`.
    pub(super) fn is_prose(&self, at: usize) -> bool {
        at >= self.prose_from
    }

    /// Whether only white space precedes `at` since the last attempt.
    pub(super) fn follows_attempt(&self, at: usize) -> bool {
        self.prose_from > self.start && self.text[self.prose_from..at].trim().is_empty()
    }

    /// Up to `length` bytes of the part before the cursor.
    pub(super) fn before(&self, length: usize) -> &'a str {
        self.before_byte(self.at, length)
    }

    /// Up to `length` bytes of the part before `at`.
    pub(super) fn before_byte(&self, at: usize, length: usize) -> &'a str {
        let start = self.text.ceil_char_boundary(at.saturating_sub(length));
        &self.text[start.max(self.start).min(at)..at]
    }

    /// Starts prose at the cursor.
    pub(super) fn start_prose(&mut self) {
        self.prose_from = self.at;
    }

    /// Restricts the cursor to `inside`, a byte range of the rest.
    pub(super) fn narrow(&mut self, inside: Range<usize>) {
        (self.at, self.end) = (
            self.at + inside.start,
            self.at + inside.end.max(inside.start),
        );
    }

    /// Moves the cursor to the end of the part.
    pub(super) fn finish(&mut self) {
        self.at = self.end;
    }
}
