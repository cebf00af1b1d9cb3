//! Reports parts of the spool that were written and are now damaged or missing: in the log, and as
//! a file in the folder `set-aside`, where commands, `/readyz` and metrics count them. The segment
//! itself is deleted once the rest of it is in the database.

use std::io;

use super::position::Position;
use super::segment::Segment;
use super::set_aside::{SetAsideFolder, SetAsideNote};

/// Reports the losses that are found at start.
pub(super) struct LossReporter<'s> {
    pub(super) aside: &'s SetAsideFolder,
    /// Position up to which the database has all entries.
    pub(super) progress: Position,
    pub(super) now_us: i64,
}

impl LossReporter<'_> {
    /// Reports that `bytes` of a segment, from `from` on, are not valid, and that nothing valid
    /// follows before `end`.
    pub(super) fn damaged(&self, segment: &Segment, from: usize, end: u64, bytes: &[u8]) {
        let number = segment.number;
        let start = Position {
            segment: number,
            byte: from as u64,
        };
        let after = Position {
            segment: number,
            byte: end,
        };
        if after <= self.progress && !bytes.is_empty() {
            tracing::warn!(
                segment = number,
                from,
                to = end,
                "bytes of the spool are damaged; their entries are in the database"
            );
            return;
        }
        let reason = format!(
            "bytes {from} to {end} of segment {number} of the spool are damaged or missing; the \
             grades that they contained are lost unless a copy of the segment is restored"
        );
        // The error is logged. The segment stays until the database has the rest of it.
        let _ = self.report(start, reason, bytes);
    }

    /// Reports that a segment of `length` bytes is missing.
    pub(super) fn missing(&self, segment: u64, length: u64) -> io::Result<()> {
        let reason = format!(
            "segment {segment} of the spool is missing, with {length} bytes; the grades that it \
             contained are lost unless a copy of it is restored"
        );
        self.report(Position { segment, byte: 0 }, reason, &[])
    }

    fn report(&self, start: Position, reason: String, bytes: &[u8]) -> io::Result<()> {
        tracing::error!(
            segment = start.segment,
            byte = start.byte,
            "recorded grades are lost: {reason}"
        );
        let note = SetAsideNote {
            reason,
            batch: None,
            grades: 0,
            time_us: self.now_us,
            lost: true,
        };
        // A full disk must not prevent the start, with which the other entries would be applied.
        self.aside.insert(start, &note, bytes).inspect_err(|error| {
            tracing::error!(%error, "cannot write the report of the loss to the spool");
        })
    }
}
