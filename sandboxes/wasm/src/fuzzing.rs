//! Entry points of the fuzz targets for messages from guests and frozen instances. Not part of the
//! API.

use assay_worker::program::{End, Limits};
use serde_json::{Map, Value};

use crate::descriptors::PREOPENED;
use crate::files::{OpenFlags, ROOT};
use crate::frozen::{Frozen, Memory, ThawedContents, ThawedSegments};
use crate::guest;
use crate::message::{self, Message};
use crate::state::{EPOCH, State};

/// Longest header of a message, in bytes.
pub const MAX_HEADER: usize = message::MAX_HEADER;

/// A header and its blobs.
pub type Parts = (Map<String, Value>, Vec<Vec<u8>>);

/// Reads a message.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<Parts> {
    let Message { header, blobs } = Message::read(bytes)?;
    Some((header, blobs.into_iter().map(<[u8]>::to_vec).collect()))
}

/// Writes a message.
#[must_use]
pub fn write(header: Map<String, Value>, blobs: &[&[u8]]) -> Vec<u8> {
    message::write(header, blobs)
}

/// How a program ended, according to the reply of its instance.
#[must_use]
pub fn end(reply: &[u8]) -> End {
    guest::end_of(reply)
}

/// Hash of the image of frozen instances.
const IMAGE: &str = "image";

/// Size of the memory of a new instance, in bytes.
pub const NEW_MEMORY: usize = 256 << 10;

/// Largest memory of an instance, in bytes.
const MOST_MEMORY: usize = 1 << 20;

const LIMITS: Limits = Limits {
    work: 0,
    memory_bytes: MOST_MEMORY as u64,
    output_bytes: 0,
};

/// The memory of a new instance.
#[must_use]
pub fn new_memory() -> Vec<u8> {
    (0..NEW_MEMORY).map(|at| (at >> 12) as u8).collect()
}

/// Freezes an instance with this memory, which is at least as large as that of a new one, and with
/// these files.
#[must_use]
pub fn freeze(memory: &[u8], files: &[(&str, &[u8])]) -> Option<Vec<u8>> {
    let mut state = State::new(LIMITS, 7, Vec::new());
    for (path, bytes) in files {
        let stored = state.descriptors.files().store(path, bytes, EPOCH);
        stored.ok()?;
        let flags = OpenFlags::default();
        let opened =
            state
                .descriptors
                .open(PREOPENED, path.as_bytes(), flags, (true, false), EPOCH);
        opened.ok()?;
    }
    frozen(
        &state,
        memory,
        &ThawedContents::default(),
        &ThawedSegments::default(),
    )
}

/// Thaws an instance, does to its files what a guest can do, and freezes it again. `None` if it
/// cannot be thawed.
#[must_use]
pub fn freeze_again(bytes: &[u8]) -> Option<Vec<u8>> {
    let (thawed, contents) = Frozen::read(bytes, IMAGE).ok()?;
    let Memory {
        bytes, segments, ..
    } = thawed.memory?;
    let size = usize::try_from(bytes).ok()?;
    if !(NEW_MEMORY..=MOST_MEMORY).contains(&size) || size % NEW_MEMORY != 0 {
        return None;
    }
    let mut memory = new_memory();
    memory.resize(size, 0);
    let segments = ThawedSegments::apply(segments, &mut memory, &new_memory(), Vec::new()).ok()?;
    let mut state = State::thawed(thawed.host, LIMITS, Vec::new());
    use_files(&mut state);
    frozen(&state, &memory, &contents, &segments)
}

fn frozen<'a>(
    state: &State,
    memory: &[u8],
    contents: &ThawedContents<'a>,
    segments: &ThawedSegments<'a>,
) -> Option<Vec<u8>> {
    let written = 0..memory.len();
    let memory = Memory {
        bytes: memory.len() as u64,
        globals: Vec::new(),
        segments: segments.freeze(memory, &new_memory(), &[written]).ok()?,
    };
    let frozen = Frozen::new(IMAGE, state.freeze(0), contents, Some(memory)).ok()?;
    frozen.to_bytes().ok()
}

/// Writes to each descriptor, moves a file, and creates and removes one.
fn use_files(state: &mut State) {
    let descriptors = &mut state.descriptors;
    let opened = i32::try_from(descriptors.table().len()).unwrap_or(i32::MAX);
    for fd in 0..opened {
        // Whether an operation is possible depends on the descriptor.
        let _ = descriptors.read(fd, None, &mut [0; 8]);
        let _ = descriptors.write(fd, None, b"written", EPOCH);
        let _ = descriptors.resize(fd, 9, EPOCH);
    }
    let mut files = descriptors.files();
    let paths: Vec<String> = files.all().into_iter().map(|(path, _)| path).collect();
    for path in &paths {
        let _ = files.rename((ROOT, path.as_bytes()), (ROOT, b"tmp/moved"), EPOCH);
    }
    let _ = files.store("new", b"content", EPOCH);
    let _ = files.unlink(ROOT, b"new", EPOCH);
}
