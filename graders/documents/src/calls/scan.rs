//! A cursor over one visible part of a text, and what it has found so far.

use std::ops::Range;

use super::{Call, Form, MAX_CALLS, MAX_MALFORMED, Malformed, Reading};
use crate::json::{Broken, Json, Reader};

/// A cursor. Positions are bytes of the whole text; nothing is read beyond the part.
pub(super) struct Scan<'a, 'r> {
    text: &'a str,
    /// Where the part begins after leading blanks.
    start: usize,
    end: usize,
    pub(super) at: usize,
    prose_from: usize,
    found: &'r mut Reading,
}

impl<'a, 'r> Scan<'a, 'r> {
    pub(super) fn new(text: &'a str, part: Range<usize>, found: &'r mut Reading) -> Self {
        let blanks = text[part.clone()].len() - text[part.clone()].trim_start().len();
        let start = part.start + blanks;
        Self {
            text,
            start,
            end: part.end,
            at: part.start,
            prose_from: part.start,
            found,
        }
    }

    /// What of the part is left.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    /// Whether only blanks precede this byte of the text.
    pub(super) fn begins_at(&self, at: usize) -> bool {
        at <= self.start
    }

    pub(super) fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Whether nothing but blanks is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.end
    }

    /// Goes past blanks and `mark`, where it stands behind them.
    pub(super) fn take(&mut self, mark: &str) -> bool {
        let rest = self.rest();
        let trimmed = rest.trim_start();
        let stands = trimmed.starts_with(mark);
        if stands {
            self.at += rest.len() - trimmed.len() + mark.len();
        }
        stands
    }

    /// The text up to `mark`, and goes past it.
    pub(super) fn take_until(&mut self, mark: &str) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find(mark)?;
        self.at += end + mark.len();
        Some(&rest[..end])
    }

    /// Goes past one JSON value.
    pub(super) fn take_json(&mut self) -> Result<Json, Broken> {
        let mut reader = Reader::new(self.rest());
        let read = reader.next_value().map_err(|broken| broken.within(self.at));
        if read.is_ok() {
            self.at += reader.at();
        }
        read
    }

    /// A reason at the cursor.
    pub(super) fn broken(&self, reason: impl Into<String>) -> Broken {
        Broken::new(self.at, reason)
    }

    /// A call that began at `start` and ends at the cursor.
    pub(super) fn call(&mut self, form: Form, start: usize, call: Bare) -> Result<(), Broken> {
        if self.found.calls.len() == MAX_CALLS {
            return Err(Broken::new(
                start,
                format!("there are more than {MAX_CALLS} calls"),
            ));
        }
        let Bare {
            name,
            arguments,
            positional,
            untyped,
        } = call;
        self.found.calls.push(Call {
            name,
            arguments,
            positional,
            untyped,
            span: start..self.at,
            form,
        });
        Ok(())
    }

    /// An attempt that began at `start` and ends at the cursor. What of it was a call already is
    /// none: an attempt counts once.
    pub(super) fn malformed(&mut self, form: Form, start: usize, broken: Broken) {
        self.found.calls.retain(|call| call.span.start < start);
        self.found.malformed.push(Malformed {
            span: start..self.at,
            broken,
            form,
        });
    }

    /// Whether so much is malformed already that nothing more is read.
    pub(super) fn is_full(&self) -> bool {
        self.found.malformed.len() >= MAX_MALFORMED
    }

    /// What stands between the last attempt and `end` is prose.
    pub(super) fn prose_until(&mut self, end: usize) {
        let range = self.prose_from..end;
        if !self.text[range.clone()].trim().is_empty() {
            self.found.prose.push(range);
        }
    }

    /// Prose begins again at the cursor.
    pub(super) fn prose_from_here(&mut self) {
        self.prose_from = self.at;
    }

    /// Looks only at `inside`, bytes of what is left.
    pub(super) fn narrow(&mut self, inside: Range<usize>) {
        (self.at, self.end) = (
            self.at + inside.start,
            self.at + inside.end.max(inside.start),
        );
    }

    /// Goes to the end of the part.
    pub(super) fn finish(&mut self) {
        self.at = self.end;
    }
}

/// A call before its place is known.
#[derive(Debug, Default)]
pub(super) struct Bare {
    pub(super) name: String,
    pub(super) arguments: Vec<(String, Json)>,
    pub(super) positional: Vec<Json>,
    pub(super) untyped: bool,
}
