//! Messages from an instance to the host. A hostile program may have compromised the instance.
//!
//! Properties: a message is within the bytes it was read from, and its header within the limit;
//! names and blobs are unchanged by a round trip; reading is deterministic.

use assay_wasm::fuzzing::{MAX_HEADER, end, read, write};
use assay_worker::program::End;

/// A replacement character takes three bytes for one that is not UTF-8.
const LONGEST_CHARACTER: usize = 3;

/// Reads a message.
pub fn run(bytes: &[u8]) {
    let how = end(bytes);
    assert_eq!(how, end(bytes), "deterministic");
    if let End::Raised(text) | End::Returned(text) | End::TestFailed(text) | End::TaskFailed(text) =
        &how
    {
        // The message for bytes that are not a message is longer than some of them.
        assert!(
            text.len() <= 64 + LONGEST_CHARACTER * bytes.len(),
            "{} bytes",
            text.len()
        );
    }
    let Some((header, blobs)) = read(bytes) else {
        return;
    };
    let length: usize = blobs.iter().map(Vec::len).sum();
    assert!(
        length < bytes.len(),
        "{length} bytes of blobs in a message of {} bytes",
        bytes.len()
    );
    let parts: Vec<&[u8]> = blobs.iter().map(Vec::as_slice).collect();
    let written = write(header.clone(), &parts);
    let again = read(&written);
    // What is written may be longer than what was read.
    assert!(
        again.is_some() || written.len() - length > MAX_HEADER,
        "a message that was written is read"
    );
    if let Some((names, same)) = again {
        assert_eq!(same, blobs, "round trip of blobs");
        assert!(
            names.keys().eq(header.keys()),
            "round trip of {header:?}: {names:?}"
        );
    }
}
