//! Responsible for what a start finds in the spool: which frames are whole, which are not applied yet. Cuts off a torn tail, reports
//! what is broken, never deletes a segment and never fails for a broken frame.
//!
//! A crash can only tear the end of the last segment, since every frame before it was synced on its own. Anything else that does not
//! check out is damage: it is reported, and reading goes on at the next whole frame, which may be in the same segment.

use std::sync::Arc;

use super::OpenSpoolError;
use super::frame;
use super::segment::{Folder, Position, SEGMENT_HEADER, Segment};
use crate::pending::{Digest, Item, Pending};
use crate::writer::Loaded;

/// Puts every frame that `progress` does not cover into `pending`; answers how many there were.
pub(crate) fn recover(
    folder: &Folder,
    progress: Position,
    pending: &Pending,
) -> Result<usize, OpenSpoolError> {
    let segments = folder.segments();
    let last = segments.last().map(|segment| segment.number);
    let mut replayed = 0;
    for segment in &segments {
        if segment.number < progress.segment {
            continue;
        }
        replayed += recover_segment(segment, last == Some(segment.number), progress, pending)
            .map_err(|error| error.at(segment.number))?;
    }
    Ok(replayed)
}

/// What went wrong with one segment.
enum SegmentError {
    Io(std::io::Error),
    OtherVersion,
}

impl SegmentError {
    fn at(self, segment: u64) -> OpenSpoolError {
        match self {
            Self::Io(source) => OpenSpoolError::Segment { segment, source },
            Self::OtherVersion => OpenSpoolError::OtherVersion { segment },
        }
    }
}

fn recover_segment(
    segment: &Arc<Segment>,
    is_last: bool,
    progress: Position,
    pending: &Pending,
) -> Result<usize, SegmentError> {
    let bytes = segment.read_all().map_err(SegmentError::Io)?;
    let header = &bytes[..bytes.len().min(SEGMENT_HEADER.len())];
    if header != &SEGMENT_HEADER[..header.len()] {
        let ours = header.len() == SEGMENT_HEADER.len() && header[..12] == SEGMENT_HEADER[..12];
        if ours {
            return Err(SegmentError::OtherVersion);
        }
    }
    let mut replayed = 0;
    let mut at = SEGMENT_HEADER.len().min(bytes.len());
    while at < bytes.len() {
        let Some(length) = frame::measure(&bytes[at..]) else {
            match frame::find(&bytes, at + 1) {
                Some(next) => {
                    report_damage(segment, at, next);
                    at = next;
                }
                None => {
                    end_at(segment, at, bytes.len(), is_last).map_err(SegmentError::Io)?;
                    break;
                }
            }
            continue;
        };
        let start = position(segment, at);
        let end = position(segment, at + length);
        let whole = &bytes[at..at + length];
        at += length;
        if end <= progress {
            continue;
        }
        match frame::decode(whole) {
            Ok((entry, contents)) => {
                let digest = Digest::of(&entry, &contents);
                let loaded = Arc::new(Loaded::new(Arc::new(entry), contents));
                let item = Item::new(start, end, digest, loaded, Some(segment.clone()));
                pending.push(vec![item]);
                replayed += 1;
            }
            Err(error) => {
                tracing::error!(%error, segment = segment.number, byte = start.byte, "a frame of the spool is skipped");
            }
        }
    }
    Ok(replayed)
}

fn report_damage(segment: &Segment, from: usize, to: usize) {
    tracing::error!(
        segment = segment.number,
        from,
        to,
        "bytes of the spool are damaged and skipped: grades in them are lost unless a backup has them"
    );
}

/// Nothing whole follows `at`: a torn tail in the last segment, damage in any other.
fn end_at(segment: &Segment, at: usize, length: usize, is_last: bool) -> std::io::Result<()> {
    if !is_last {
        report_damage(segment, at, length);
        return Ok(());
    }
    tracing::warn!(
        segment = segment.number,
        bytes = length - at,
        "the spool ends in the middle of a write that was never answered: it is cut off"
    );
    segment.truncate(at as u64)
}

fn position(segment: &Segment, byte: usize) -> Position {
    Position {
        segment: segment.number,
        byte: byte as u64,
    }
}
