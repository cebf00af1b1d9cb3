//! Checks the files of the spool: every frame, and whether the segments reach as far as they were
//! written.

use std::path::{Path, PathBuf};

use super::report::Verification;
use crate::spool::Position;
use crate::spool::ends::KnownEnds;
use crate::spool::files::{SpoolFile, damage, lost_parts, segment_number, spool_files};

/// A segment that was read.
struct ReadSegment {
    number: u64,
    path: PathBuf,
    length: usize,
    /// Positions of bytes that are not part of a valid frame.
    ranges: Vec<(usize, usize)>,
}

/// The files of a spool, read before the progress that they are compared with: a node that uses
/// the spool deletes a segment when the database has its entries.
pub(super) struct ReadSpool {
    ends: KnownEnds,
    segments: Vec<ReadSegment>,
}

impl ReadSpool {
    /// Reads the files; reports what cannot be read. `None` if there is no spool.
    pub(super) fn read(spool: &Path, found: &mut Verification) -> Option<Self> {
        // Before the segments, which may be longer by the time they are read, but not shorter.
        let read = KnownEnds::read(spool).and_then(|ends| Ok((ends, spool_files(spool)?)));
        let (ends, files) = match read {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                found.report(spool.display().to_string(), error.to_string());
                return None;
            }
        };
        match lost_parts(spool) {
            Ok(parts) => {
                for (path, reason) in parts {
                    found.report(path.display().to_string(), reason);
                }
            }
            Err(error) => found.report(spool.display().to_string(), error.to_string()),
        }
        let mut segments = Vec::new();
        for file in files {
            let SpoolFile::Segment(path) = file else {
                continue;
            };
            let bytes = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                // Deleted by the node because its entries are in the database.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    found.report(path.display().to_string(), error.to_string());
                    continue;
                }
            };
            match damage(spool, &bytes) {
                Ok((frames, ranges)) => {
                    found.frames += frames;
                    segments.push(ReadSegment {
                        number: segment_number(&path).unwrap_or_default(),
                        path,
                        length: bytes.len(),
                        ranges,
                    });
                }
                Err(error) => found.report(
                    path.display().to_string(),
                    format!("cannot read the key in `identity`: {error}"),
                ),
            }
        }
        Some(Self { ends, segments })
    }

    /// Reports what is damaged or missing, given the progress of the database before and after the
    /// files were read.
    pub(super) fn check(
        &self,
        spool: &Path,
        before: Position,
        after: Position,
        found: &mut Verification,
    ) {
        for (index, segment) in self.segments.iter().enumerate() {
            let is_last = index + 1 == self.segments.len();
            // A segment may have grown, and been applied, after it was read.
            let progress = if self.ends.contains(segment.number) {
                after
            } else {
                before
            };
            let end = self.ends.of(segment.number, progress);
            let place = segment.path.display().to_string();
            let mut is_whole = segment.length > 0;
            for &(from, to) in &segment.ranges {
                let is_tail = to == segment.length;
                is_whole &= !is_tail;
                // An append that is being written, or was interrupted and never acknowledged.
                let is_unfinished = is_last && is_tail && from as u64 >= end.byte;
                if !is_unfinished && from < to {
                    found.report(&place, format!("bytes {from} to {to} are damaged"));
                }
            }
            if end.exceeds(segment.length, is_whole) {
                found.report(
                    &place,
                    format!(
                        "bytes {} to {} are missing, and their grades unless the database has them",
                        segment.length, end.byte
                    ),
                );
            }
        }
        let present: Vec<u64> = self.segments.iter().map(|segment| segment.number).collect();
        for (number, length) in self.ends.missing(&present, after) {
            found.report(
                spool.display().to_string(),
                format!("segment {number} is missing, with {length} bytes"),
            );
        }
    }
}
