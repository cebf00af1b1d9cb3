//! Recovers the spool at start: finds the valid frames and those that are not applied yet. It
//! truncates a torn tail and reports damage. It never deletes a segment and never fails because of
//! a damaged frame.
//!
//! A crash can only tear the end of the last segment, because every earlier frame was synced before
//! the next one was written. Anything else that is invalid is damage: it is reported (`loss`), and
//! reading continues at the next valid frame, which may be in the same segment. The end of a
//! segment is also damage if it is known that more was synced (`ends`). A valid frame that does not
//! contain a valid entry is set aside.

use std::sync::Arc;

use super::OpenSpoolError;
use super::ends::{self, KnownEnd, KnownEnds};
use super::frame;
use super::loss::LossReporter;
use super::position::Position;
use super::segment::{Folder, Header, Segment};
use super::set_aside::{SetAsideFolder, SetAsideNote};
use crate::pending::loaded_entry::LoadedEntry;
use crate::pending::{Digest, Pending, PendingEntry};

/// Adds the entry of every frame after `progress` to `pending`; returns their number.
pub(crate) fn recover(
    folder: &Folder,
    progress: Position,
    pending: &Pending,
    now_us: i64,
) -> Result<usize, OpenSpoolError> {
    let io = |source| OpenSpoolError::Io {
        path: folder.path.clone(),
        source,
    };
    let segments = folder.segments();
    let ends = KnownEnds::read(&folder.path).map_err(io)?;
    let aside = SetAsideFolder::of(folder);
    let losses = LossReporter {
        aside: &aside,
        progress,
        now_us,
    };
    let present: Vec<u64> = segments.iter().map(|segment| segment.number).collect();
    for (number, length) in ends.missing(&present, progress) {
        // Once it is reported, it need not be reported again.
        if losses.missing(number, length).is_ok() {
            ends::remove(&folder.path, number).map_err(io)?;
        }
    }
    let mut recovery = Recovery {
        progress,
        pending,
        losses,
        replayed: 0,
    };
    for segment in &segments {
        // Fully applied. Such a segment exists if the process ended before deleting it, or if the
        // database could not be checkpointed.
        if segment.number < progress.segment {
            continue;
        }
        let expected = Expected {
            // Only the last segment can end with a torn write; its tail may be truncated.
            is_last: present.last() == Some(&segment.number),
            end: ends.of(segment.number, progress),
        };
        let is_segment = recovery
            .segment(segment, expected)
            .map_err(|error| error.at(segment.number, folder))?;
        if !is_segment {
            // Not a segment of this spool, so it must not be deleted later.
            folder.exclude(segment.number);
        }
    }
    Ok(recovery.replayed)
}

/// Why a segment cannot be recovered.
enum SegmentError {
    Io(std::io::Error),
    VersionMismatch,
    OtherKey,
}

impl SegmentError {
    fn at(self, segment: u64, folder: &Folder) -> OpenSpoolError {
        match self {
            Self::OtherKey => OpenSpoolError::OtherKey {
                segment,
                path: folder.path.clone(),
            },
            Self::Io(source) => OpenSpoolError::Segment { segment, source },
            Self::VersionMismatch => OpenSpoolError::VersionMismatch { segment },
        }
    }
}

/// What is known of a segment before it is read.
#[derive(Clone, Copy)]
struct Expected {
    is_last: bool,
    end: KnownEnd,
}

struct Recovery<'r> {
    progress: Position,
    pending: &'r Pending,
    losses: LossReporter<'r>,
    /// Number of entries that were added.
    replayed: usize,
}

impl Recovery<'_> {
    /// Recovers a segment; returns whether the file is one.
    fn segment(
        &mut self,
        segment: &Arc<Segment>,
        expected: Expected,
    ) -> Result<bool, SegmentError> {
        let bytes = segment.read_all().map_err(SegmentError::Io)?;
        // A crash while the segment was created may have torn the header.
        let mut at = segment.header.min(bytes.len());
        match segment.check_header(&bytes) {
            // Its frames cannot be decoded here, but the other release can still apply them.
            // Starting without them would lose grades.
            Header::VersionMismatch => return Err(SegmentError::VersionMismatch),
            // A frame is valid only with the right key. If one follows, the header is damaged. If
            // frames follow but none is valid, the file `identity` was lost or replaced, and an
            // operator can restore it. A segment without frames loses nothing.
            Header::OtherKey
                if at < bytes.len() && frame::find(&segment.seal, &bytes, at).is_none() =>
            {
                return Err(SegmentError::OtherKey);
            }
            // Without a valid header or frame, the file may belong to something else.
            Header::Damaged if frame::find(&segment.seal, &bytes, 0).is_none() => {
                tracing::error!(
                    segment = segment.number,
                    "a file in the spool is not a segment, or is damaged; leaving it unchanged"
                );
                if expected.end.byte > 0 {
                    self.losses.damaged(segment, 0, expected.end.byte, &[]);
                }
                return Ok(false);
            }
            Header::Valid | Header::OtherKey | Header::Damaged => {}
        }
        let mut is_whole = bytes.len() >= segment.header;
        while at < bytes.len() {
            let Some(length) = frame::measure(&segment.seal, &bytes[at..]) else {
                match frame::find(&segment.seal, &bytes, at + 1) {
                    // A valid frame follows, so this is not the end of the last write but damage.
                    Some(next) => {
                        self.losses
                            .damaged(segment, at, next as u64, &bytes[at..next]);
                        at = next;
                    }
                    None => {
                        is_whole = false;
                        self.end(segment, at, &bytes, expected)
                            .map_err(SegmentError::Io)?;
                        break;
                    }
                }
                continue;
            };
            self.frame(segment, at, &bytes[at..at + length])?;
            at += length;
        }
        if at >= bytes.len() && expected.end.exceeds(bytes.len(), is_whole) {
            self.losses
                .damaged(segment, bytes.len(), expected.end.byte, &[]);
        }
        Ok(true)
    }

    /// Handles bytes from `at` on that no valid frame follows. They are a torn write if the segment
    /// is the last, is not known to have been synced so far, and they are not a whole frame, which
    /// may have been acknowledged and damaged later.
    fn end(
        &self,
        segment: &Segment,
        at: usize,
        bytes: &[u8],
        expected: Expected,
    ) -> std::io::Result<()> {
        let was_synced = expected.end.byte > at as u64;
        let is_torn =
            expected.is_last && !was_synced && !frame::is_complete(&segment.seal, &bytes[at..]);
        if !is_torn {
            let end = expected.end.byte.max(bytes.len() as u64);
            self.losses.damaged(segment, at, end, &bytes[at..]);
            return Ok(());
        }
        tracing::warn!(
            segment = segment.number,
            bytes = bytes.len() - at,
            "the spool ends with an incomplete write that was never acknowledged; truncating it"
        );
        segment.truncate(at as u64)
    }

    /// Adds the entry of a valid frame, unless the database already contains it.
    fn frame(
        &mut self,
        segment: &Arc<Segment>,
        at: usize,
        bytes: &[u8],
    ) -> Result<(), SegmentError> {
        let (start, end) = (position(segment, at), position(segment, at + bytes.len()));
        if end <= self.progress {
            return Ok(());
        }
        match frame::decode(bytes) {
            Ok((entry, contents)) => {
                let digest = Digest::of(&entry, &contents);
                let loaded = Arc::new(LoadedEntry::new(Arc::new(entry), contents));
                let entry = PendingEntry::new(start, end, digest, loaded, Some(segment.clone()));
                self.pending.push(vec![entry]);
                self.replayed += 1;
            }
            Err(error) => {
                let note = SetAsideNote {
                    reason: error.to_string(),
                    batch: None,
                    grades: 0,
                    time_us: self.losses.now_us,
                    lost: false,
                };
                self.losses
                    .aside
                    .insert(start, &note, bytes)
                    .map_err(SegmentError::Io)?;
                // The checksum is valid, so the bytes are those that were written: another release
                // may be able to decode them.
                tracing::error!(
                    %error,
                    segment = segment.number,
                    byte = start.byte,
                    "a frame of the spool has no valid entry; setting it aside"
                );
            }
        }
        Ok(())
    }
}

fn position(segment: &Segment, byte: usize) -> Position {
    Position {
        segment: segment.number,
        byte: byte as u64,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Body, BodyKind, Entry};
    use assay_core::Hash;

    use super::*;
    use crate::pending::packs::Contents;
    use crate::spool::frame::Seal;
    use crate::spool::segment::{self, SEGMENT_HEADER};

    fn entry(n: u128) -> Entry {
        Entry {
            batch: n.into(),
            caller: "local".into(),
            run: None,
            step: None,
            items: 0,
            received_us: 0,
            grades: Vec::new(),
            bodies: Vec::new(),
            events: Vec::new(),
            claim: None,
        }
    }

    fn frame_of(n: u128) -> Vec<u8> {
        frame::encode(&Seal::keyed(KEY), &entry(n), &Contents::default()).unwrap()
    }

    const KEY: [u8; 32] = [7; 32];

    fn header() -> Vec<u8> {
        segment::header(&Seal::keyed(KEY))
    }

    /// Writes segments with these bytes after their headers.
    fn spool(path: &Path, segments: &[&[u8]]) {
        std::fs::create_dir_all(path).unwrap();
        std::fs::write(
            path.join("identity"),
            format!("spool\n{}\n", "07".repeat(32)),
        )
        .unwrap();
        for (number, frames) in (1..).zip(segments) {
            let bytes = [header().as_slice(), frames].concat();
            std::fs::write(path.join(format!("{number:08}.seg")), bytes).unwrap();
        }
    }

    /// The batches that are recovered.
    fn recovered(path: &Path, progress: Position) -> Vec<u128> {
        let folder = Folder::open(path, "spool").unwrap();
        let pending = Pending::new(1 << 20);
        recover(&folder, progress, &pending, 0).unwrap();
        let entries = pending.select(|_| true);
        entries
            .iter()
            .map(|entry| entry.digest.batch.into())
            .collect()
    }

    #[test]
    fn keeps_a_damaged_last_frame() {
        let folder = tempfile::tempdir().unwrap();
        let mut last = frame_of(2);
        let at = last.len() - 1;
        last[at] ^= 1;
        spool(
            folder.path(),
            &[[frame_of(1), last.clone()].concat().as_slice()],
        );
        let file = folder.path().join("00000001.seg");
        let before = std::fs::read(&file).unwrap();
        let opened = Folder::open(folder.path(), "spool").unwrap();
        let pending = Pending::new(1 << 20);
        assert_eq!(
            recover(&opened, Position::default(), &pending, 0).unwrap(),
            1
        );
        assert_eq!(
            std::fs::read(&file).unwrap(),
            before,
            "nothing is truncated"
        );
        assert_eq!(
            std::fs::read_dir(folder.path().join("set-aside"))
                .unwrap()
                .count(),
            1
        );
    }

    #[test]
    fn changes_no_file_that_is_not_a_segment() {
        let folder = tempfile::tempdir().unwrap();
        spool(folder.path(), &[&frame_of(1)]);
        let foreign = folder.path().join("00000009.seg");
        let text = "not a segment, but longer than the header of one\n".repeat(3);
        std::fs::write(&foreign, &text).unwrap();
        let opened = Folder::open(folder.path(), "spool").unwrap();
        assert_eq!(
            recover(&opened, Position::default(), &Pending::new(1 << 20), 0).unwrap(),
            1
        );
        assert_eq!(std::fs::read_to_string(&foreign).unwrap(), text);
        assert!(
            opened.segments().iter().all(|segment| segment.number != 9),
            "it is not deleted later"
        );
        drop(opened);
        std::os::unix::fs::symlink(&foreign, folder.path().join("00000010.seg")).unwrap();
        assert!(
            Folder::open(folder.path(), "spool").is_err(),
            "links are not followed"
        );
    }

    #[test]
    fn truncates_a_torn_tail_and_nothing_else() {
        let frame_bytes = [frame_of(1), frame_of(2)].concat();
        let last = frame_of(3);
        for cut in 0..last.len() {
            let folder = tempfile::tempdir().unwrap();
            spool(
                folder.path(),
                &[&[frame_bytes.as_slice(), &last[..cut]].concat()],
            );
            assert_eq!(recovered(folder.path(), Position::default()), [1, 2]);
            let segment = folder.path().join("00000001.seg");
            let length = std::fs::metadata(&segment).unwrap().len() as usize;
            assert_eq!(length, SEGMENT_HEADER + frame_bytes.len());
        }
    }

    #[test]
    fn treats_a_torn_header_as_an_empty_segment() {
        for cut in 0..SEGMENT_HEADER {
            let folder = tempfile::tempdir().unwrap();
            spool(folder.path(), &[&frame_of(1)]);
            std::fs::write(folder.path().join("00000002.seg"), &header()[..cut]).unwrap();
            assert_eq!(recovered(folder.path(), Position::default()), [1]);
        }
    }

    #[test]
    fn skips_only_the_damaged_frame() {
        let frames = [frame_of(1), frame_of(2), frame_of(3)];
        let start = frames[0].len();
        for at in start..start + frames[1].len() {
            let folder = tempfile::tempdir().unwrap();
            let mut bytes = frames.concat();
            bytes[at] ^= 0x55;
            spool(folder.path(), &[&bytes, &frame_of(4)]);
            assert_eq!(recovered(folder.path(), Position::default()), [1, 3, 4]);
        }
    }

    #[test]
    fn recovers_only_entries_after_the_progress() {
        let folder = tempfile::tempdir().unwrap();
        let frames = [frame_of(1), frame_of(2)].concat();
        spool(folder.path(), &[&frame_of(0), &frames, &frame_of(3)]);
        let progress = Position {
            segment: 2,
            byte: (SEGMENT_HEADER + frame_of(1).len()) as u64,
        };
        assert_eq!(recovered(folder.path(), progress), [2, 3]);
    }

    #[test]
    fn rejects_segments_of_another_release() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("00000001.seg"), b"assay spool 0000").unwrap();
        let opened = Folder::open(folder.path(), "spool").unwrap();
        let rejected = recover(&opened, Position::default(), &Pending::new(1), 0).unwrap_err();
        assert!(matches!(
            rejected,
            OpenSpoolError::VersionMismatch { segment: 1 }
        ));
    }

    /// The frame of an entry with these bytes as an uncompressed completion.
    fn frame_with(n: u128, content: Vec<u8>) -> Vec<u8> {
        let body = Body {
            hash: Hash::of(&content),
            kind: BodyKind::Text,
            content,
        };
        let entry = Entry {
            bodies: vec![body],
            ..entry(n)
        };
        let contents = Contents::of(&entry, 0).unwrap();
        frame::encode(&Seal::keyed(KEY), &entry, &contents).unwrap()
    }

    #[test]
    fn ignores_frames_inside_completions() {
        let embedded = [Seal::PLAIN, Seal::keyed([8; 32])]
            .map(|seal| frame::encode(&seal, &entry(9), &Contents::default()).unwrap())
            .concat();
        let outer = frame_with(2, embedded.clone());
        assert!(
            outer.windows(embedded.len()).any(|bytes| bytes == embedded),
            "the completion is stored unchanged"
        );
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = [frame_of(1), outer, frame_of(3)].concat();
        bytes[frame_of(1).len() + 5] ^= 1;
        spool(folder.path(), &[&bytes, &frame_of(4)]);
        assert_eq!(recovered(folder.path(), Position::default()), [1, 3, 4]);
    }

    #[test]
    fn reads_segments_without_a_key() {
        let folder = tempfile::tempdir().unwrap();
        spool(folder.path(), &[&[], &frame_of(2)]);
        let frame = frame::encode(&Seal::PLAIN, &entry(1), &Contents::default()).unwrap();
        let bytes = [b"assay spool 0002".as_slice(), &frame].concat();
        std::fs::write(folder.path().join("00000001.seg"), bytes).unwrap();
        assert_eq!(recovered(folder.path(), Position::default()), [1, 2]);
    }

    #[test]
    fn adds_a_key_to_a_spool_without_one_and_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("identity"), "spool").unwrap();
        let first = Folder::open(folder.path(), "other").unwrap().identity;
        assert_eq!(first.name, "spool");
        assert_ne!(first.key, [0; 32]);
        assert_eq!(
            Folder::open(folder.path(), "other").unwrap().identity,
            first
        );
    }

    #[test]
    fn rejects_segments_of_another_key() {
        let folder = tempfile::tempdir().unwrap();
        spool(folder.path(), &[&frame_of(1)]);
        std::fs::remove_file(folder.path().join("identity")).unwrap();
        let opened = Folder::open(folder.path(), "spool").unwrap();
        let rejected = recover(&opened, Position::default(), &Pending::new(1), 0).unwrap_err();
        assert!(matches!(
            rejected,
            OpenSpoolError::OtherKey { segment: 1, .. }
        ));
        assert!(rejected.to_string().contains("restore the file `identity`"));
    }

    #[test]
    fn recovers_all_frames_after_a_damaged_header() {
        let folder = tempfile::tempdir().unwrap();
        spool(folder.path(), &[&frame_of(1)]);
        let segment = folder.path().join("00000001.seg");
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[20] ^= 1;
        std::fs::write(&segment, bytes).unwrap();
        assert_eq!(recovered(folder.path(), Position::default()), [1]);
    }
}
