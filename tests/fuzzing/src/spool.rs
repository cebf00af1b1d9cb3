//! The spool: frames, and what a start recovers from a segment.
//!
//! The first byte selects where the rest is split into noise and the payload of a frame.
//!
//! Properties: arbitrary bytes are not a frame; a sealed payload is found after any noise; an entry
//! is unchanged by a round trip; a start recovers exactly the entries that can be decoded, and so
//! does a second start.

use std::path::PathBuf;

use assay_record::fuzzing::{decode, find, identity, recover, seal, segment};

thread_local! {
    /// A folder of this thread for its segment.
    static FOLDER: tempfile::TempDir = {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("identity"), identity()).expect("a file can be written");
        folder
    };
}

/// Reads frames and a segment.
pub fn run(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else {
        return;
    };
    assert_eq!(find(bytes, 0), None, "arbitrary bytes are a frame");
    let (noise, payload) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    // Every payload starts with the length of its head.
    if payload.is_empty() {
        return;
    }
    let frame = seal(payload);
    let header = segment();
    let segment = [header.as_slice(), noise, &frame, noise].concat();
    let at = header.len() + noise.len();
    assert_eq!(
        find(&segment, header.len()),
        Some((at, frame.len())),
        "a sealed frame is found"
    );
    let decoded = decode(&frame);
    if let Some((batch, bodies, written)) = &decoded {
        let (same, same_bodies, again) =
            decode(written).expect("an entry that was written is read");
        assert_eq!(
            (same, &same_bodies, &again),
            (*batch, bodies, written),
            "round trip"
        );
    }
    std::fs::write(path(), segment).expect("a segment can be written");
    let expected: Vec<_> = decoded.into_iter().map(|(batch, ..)| batch).collect();
    for start in ["first", "second"] {
        let found = recover(&folder()).expect("damage is not an error");
        assert_eq!(found, expected, "{start} start");
    }
    std::fs::write(path(), bytes).expect("a segment can be written");
    // A segment without the header is read as damage; with the header of another release it is
    // refused.
    if let Ok(found) = recover(&folder()) {
        assert!(found.is_empty(), "arbitrary bytes contain {found:?}");
    }
}

fn folder() -> PathBuf {
    FOLDER.with(|folder| folder.path().to_owned())
}

fn path() -> PathBuf {
    folder().join("00000001.seg")
}
