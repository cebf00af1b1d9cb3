//! Responsible for what a start finds in the spool: which frames are whole, which are not applied
//! yet. Cuts off a torn tail, reports what is broken, never deletes a segment and never fails for a
//! broken frame.
//!
//! A crash can only tear the end of the last segment, since every frame before it was synced on its
//! own. Anything else that does not check out is damage: it is reported, and reading continues at
//! the next whole frame, which may be in the same segment. A whole frame without a valid entry is
//! set aside.

use std::sync::Arc;

use super::OpenSpoolError;
use super::aside::{Aside, Note};
use super::frame;
use super::segment::{Folder, Header, Position, Segment};
use crate::pending::{Digest, Item, Pending};
use crate::writer::Loaded;

/// Puts every frame that `progress` does not cover into `pending`; answers how many there were.
pub(crate) fn recover(
    folder: &Folder,
    progress: Position,
    pending: &Pending,
    now_us: i64,
) -> Result<usize, OpenSpoolError> {
    let segments = folder.segments();
    let last = segments.last().map(|segment| segment.number);
    let aside = Aside::of(folder);
    let mut replayed = 0;
    for segment in &segments {
        if segment.number < progress.segment {
            continue;
        }
        let recovered = recover_segment(
            segment,
            last == Some(segment.number),
            progress,
            pending,
            &aside,
            now_us,
        );
        match recovered.map_err(|error| error.at(segment.number, folder))? {
            Some(entries) => replayed += entries,
            None => folder.leave_out(segment.number),
        }
    }
    Ok(replayed)
}

/// What went wrong with one segment.
enum SegmentError {
    Io(std::io::Error),
    OtherVersion,
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
            Self::OtherVersion => OpenSpoolError::OtherVersion { segment },
        }
    }
}

/// Reads a segment and returns how many entries it has; `None` if the file is not a segment.
fn recover_segment(
    segment: &Arc<Segment>,
    is_last: bool,
    progress: Position,
    pending: &Pending,
    aside: &Aside,
    now_us: i64,
) -> Result<Option<usize>, SegmentError> {
    let bytes = segment.read_all().map_err(SegmentError::Io)?;
    let mut at = segment.header.min(bytes.len());
    match segment.check_header(&bytes) {
        Header::OtherVersion => return Err(SegmentError::OtherVersion),
        // If a whole frame follows, the key is right and the header is damaged.
        Header::OtherKey
            if at < bytes.len() && frame::find(&segment.seal, &bytes, at).is_none() =>
        {
            return Err(SegmentError::OtherKey);
        }
        Header::Damaged if frame::find(&segment.seal, &bytes, 0).is_none() => {
            tracing::error!(
                segment = segment.number,
                "a file of the spool is not a segment or is damaged; it is not changed"
            );
            return Ok(None);
        }
        Header::Known | Header::OtherKey | Header::Damaged => {}
    }
    let mut replayed = 0;
    while at < bytes.len() {
        let Some(length) = frame::measure(&segment.seal, &bytes[at..]) else {
            match frame::find(&segment.seal, &bytes, at + 1) {
                Some(next) => {
                    report_damage(segment, at, next);
                    at = next;
                }
                None if is_last && frame::is_complete(&segment.seal, &bytes[at..]) => {
                    let reason = "the checksum of the frame does not match its content".to_owned();
                    let note = Note {
                        reason,
                        batch: None,
                        grades: 0,
                        time_us: now_us,
                    };
                    aside
                        .keep(position(segment, at), &note, &bytes[at..])
                        .map_err(SegmentError::Io)?;
                    report_damage(segment, at, bytes.len());
                    break;
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
                let note = Note {
                    reason: error.to_string(),
                    batch: None,
                    grades: 0,
                    time_us: now_us,
                };
                aside.keep(start, &note, whole).map_err(SegmentError::Io)?;
                tracing::error!(%error, segment = segment.number, byte = start.byte, "setting aside an invalid frame of the spool");
            }
        }
    }
    Ok(Some(replayed))
}

fn report_damage(segment: &Segment, from: usize, to: usize) {
    tracing::error!(
        segment = segment.number,
        from,
        to,
        "bytes of the spool are damaged and skipped: grades in them are lost unless a backup has \
         them"
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use assay_core::Hash;
    use assay_core::record::{Body, BodyKind, Entry};

    use super::*;
    use crate::packs::Contents;
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

    /// Writes segments with these bytes behind their headers.
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

    /// The batches that come back.
    fn recovered(path: &Path, progress: Position) -> Vec<u128> {
        let folder = Folder::open(path, "spool").unwrap();
        let pending = Pending::new(1 << 20);
        recover(&folder, progress, &pending, 0).unwrap();
        let items = pending.select(|_| true);
        items.iter().map(|item| item.digest.batch.into()).collect()
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
        assert_eq!(std::fs::read(&file).unwrap(), before, "nothing is cut off");
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
    fn a_tail_torn_at_any_byte_is_cut_off_and_nothing_else() {
        let whole = [frame_of(1), frame_of(2)].concat();
        let last = frame_of(3);
        for cut in 0..last.len() {
            let folder = tempfile::tempdir().unwrap();
            spool(folder.path(), &[&[whole.as_slice(), &last[..cut]].concat()]);
            assert_eq!(recovered(folder.path(), Position::default()), [1, 2]);
            let segment = folder.path().join("00000001.seg");
            let length = std::fs::metadata(&segment).unwrap().len() as usize;
            assert_eq!(length, SEGMENT_HEADER + whole.len());
        }
    }

    #[test]
    fn a_header_torn_at_any_byte_is_an_empty_segment() {
        for cut in 0..SEGMENT_HEADER {
            let folder = tempfile::tempdir().unwrap();
            spool(folder.path(), &[&frame_of(1)]);
            std::fs::write(folder.path().join("00000002.seg"), &header()[..cut]).unwrap();
            assert_eq!(recovered(folder.path(), Position::default()), [1]);
        }
    }

    #[test]
    fn a_frame_damaged_at_any_byte_costs_itself_alone() {
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
    fn what_the_progress_covers_does_not_come_back() {
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
    fn a_segment_of_another_release_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("00000001.seg"), b"assay spool 0000").unwrap();
        let opened = Folder::open(folder.path(), "spool").unwrap();
        let refused = recover(&opened, Position::default(), &Pending::new(1), 0).unwrap_err();
        assert!(matches!(
            refused,
            OpenSpoolError::OtherVersion { segment: 1 }
        ));
    }

    /// The frame of an entry with these bytes as an uncompressed completion.
    fn frame_with(n: u128, content: Vec<u8>) -> Vec<u8> {
        let body = Body {
            hash: Hash::of(&content),
            kind: BodyKind::Text,
            content,
        };
        let contents = Contents::of(&[body], None, 0).unwrap();
        frame::encode(&Seal::keyed(KEY), &entry(n), &contents).unwrap()
    }

    #[test]
    fn ignores_frames_inside_completions() {
        let planted = [Seal::PLAIN, Seal::keyed([8; 32])]
            .map(|seal| frame::encode(&seal, &entry(9), &Contents::default()).unwrap())
            .concat();
        let outer = frame_with(2, planted.clone());
        assert!(
            outer.windows(planted.len()).any(|bytes| bytes == planted),
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
        let refused = recover(&opened, Position::default(), &Pending::new(1), 0).unwrap_err();
        assert!(matches!(
            refused,
            OpenSpoolError::OtherKey { segment: 1, .. }
        ));
        assert!(refused.to_string().contains("restore the file `identity`"));
    }

    #[test]
    fn recovers_all_frames_behind_a_damaged_header() {
        let folder = tempfile::tempdir().unwrap();
        spool(folder.path(), &[&frame_of(1)]);
        let segment = folder.path().join("00000001.seg");
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[20] ^= 1;
        std::fs::write(&segment, bytes).unwrap();
        assert_eq!(recovered(folder.path(), Position::default()), [1]);
    }
}
