//! The encoding of an entry in the spool: a frame with length and checksum. Does not access files.
//!
//! A frame is a header of [`HEADER`] bytes (magic number, length of the payload, checksum of both)
//! and the payload: the length of the head, the head (the entry without contents, in postcard),
//! then the packs and the reply, as compressed. Contents are not part of the head, because the scan
//! at start does not need them.
//!
//! Contents are sent by clients, and a client may send the bytes of a frame. The magic number and
//! the checksum therefore depend on the secret key of the spool ([`Seal`]): after damage, recovery
//! finds only frames that this spool wrote.

use std::sync::Arc;

use assay_core::{BatchId, Hash};
use serde::{Deserialize, Serialize};

use crate::Event;
use crate::pending::packs::{Codec, Compressed, Contents, Pack, PackedBody};
use crate::{Claim, Entry, GradeRecord, RequestKey, SealedReply};

/// Bytes before the payload: 4 of magic, 4 of length, 16 of checksum.
pub(crate) const HEADER: usize = 24;

/// Magic number of frames without a key.
const PLAIN_MAGIC: [u8; 4] = *b"AsFr";

/// Inputs from which the magic number and the key check are derived, so that they differ from
/// checksums.
const MAGIC_CONTEXT: &[u8] = b"assay spool magic";
const CHECK_CONTEXT: &[u8] = b"assay spool key check";

/// Largest payload in bytes. SQLite rejects values of more than 1,000,000,000 bytes, and no value
/// of an entry is longer than its frame.
const LARGEST_PAYLOAD: usize = 900_000_000;

/// How to recognise the frames of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seal {
    magic: [u8; 4],
    /// Key of the checksum; `None` in segments of version 2, whose checksum anyone can compute.
    key: Option<[u8; 32]>,
}

impl Seal {
    /// The seal of segments written before frames had a key.
    pub(crate) const PLAIN: Self = Self {
        magic: PLAIN_MAGIC,
        key: None,
    };

    /// The seal of a spool with this key.
    pub(crate) fn keyed(key: [u8; 32]) -> Self {
        let mut magic = [0; 4];
        magic.copy_from_slice(&blake3::keyed_hash(&key, MAGIC_CONTEXT).as_bytes()[..4]);
        Self {
            magic,
            key: Some(key),
        }
    }

    /// The key check in a segment's header, which distinguishes a wrong key from damage. It does
    /// not reveal the key.
    pub(crate) fn check_value(&self) -> [u8; 16] {
        let mut value = [0; 16];
        if let Some(key) = &self.key {
            value.copy_from_slice(&blake3::keyed_hash(key, CHECK_CONTEXT).as_bytes()[..16]);
        }
        value
    }

    /// Writes the header of a frame that already contains its payload.
    pub(crate) fn write(&self, frame: &mut [u8]) {
        write_u32(frame, 4, frame.len() - HEADER);
        frame[..4].copy_from_slice(&self.magic);
        let checksum = self.checksum(&frame[4..8], &frame[HEADER..]);
        frame[8..HEADER].copy_from_slice(&checksum);
    }

    fn checksum(&self, length: &[u8], payload: &[u8]) -> [u8; 16] {
        let mut hasher = self
            .key
            .as_ref()
            .map_or_else(blake3::Hasher::new, blake3::Hasher::new_keyed);
        hasher.update(length).update(payload);
        let mut checksum = [0; 16];
        checksum.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        checksum
    }
}

/// The head of a frame. Two types have the same encoding: one is written from borrowed rows, the
/// other is read into owned rows.
#[derive(Serialize)]
struct HeadRef<'a> {
    batch: BatchId,
    caller: &'a str,
    run: Option<&'a str>,
    step: Option<i64>,
    items: u32,
    received_us: i64,
    grades: &'a [GradeRecord],
    packs: Vec<PackHead<&'a [PackedBody]>>,
    claim: Option<ClaimHead<&'a str>>,
    events: &'a [Event],
}

#[derive(Deserialize)]
struct Head {
    batch: BatchId,
    caller: Arc<str>,
    run: Option<Arc<str>>,
    step: Option<i64>,
    items: u32,
    received_us: i64,
    grades: Vec<GradeRecord>,
    packs: Vec<PackHead<Vec<PackedBody>>>,
    claim: Option<ClaimHead<String>>,
    events: Vec<Event>,
}

/// Marks of grades, which follow the head of a frame if there are any. A release that does not know
/// them ignores the bytes after the head, and a frame of such a release has no marks.
#[derive(Default, Serialize, Deserialize)]
struct Marks {
    /// Indices of the grades that are redacted.
    redacted: Vec<u32>,
    /// Indices of the grades whose bodies were omitted.
    bodies_omitted: Vec<u32>,
}

impl Marks {
    fn of(grades: &[GradeRecord]) -> Self {
        let indices = |marked: fn(&GradeRecord) -> bool| -> Vec<u32> {
            (0..)
                .zip(grades)
                .filter(|(_, grade)| marked(grade))
                .map(|(index, _)| index)
                .collect()
        };
        Self {
            redacted: indices(|grade| grade.redacted),
            bodies_omitted: indices(|grade| grade.bodies_omitted),
        }
    }

    fn is_empty(&self) -> bool {
        self.redacted.is_empty() && self.bodies_omitted.is_empty()
    }

    fn set(&self, grades: &mut [GradeRecord]) -> Result<(), FrameError> {
        let mut each = |indices: &[u32], set: fn(&mut GradeRecord)| {
            indices.iter().try_for_each(|index| {
                let grade = grades.get_mut(*index as usize).ok_or_else(|| {
                    FrameError::Undecodable("it marks a grade that it does not have".to_owned())
                })?;
                set(grade);
                Ok(())
            })
        };
        each(&self.redacted, |grade| grade.redacted = true)?;
        each(&self.bodies_omitted, |grade| grade.bodies_omitted = true)
    }
}

#[derive(Serialize, Deserialize)]
struct CompressedHead {
    codec: Codec,
    size: u32,
    stored: u32,
}

#[derive(Serialize, Deserialize)]
struct PackHead<B> {
    content: CompressedHead,
    bodies: B,
}

#[derive(Serialize, Deserialize)]
struct ClaimHead<S> {
    caller: S,
    key: S,
    request: Hash,
    batch: BatchId,
    time_us: i64,
    /// `Content-Type` and size of the reply.
    reply: Option<(S, CompressedHead)>,
}

/// Why an entry cannot be encoded or a frame cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error(
        "an entry of {0} bytes exceeds the largest frame of the spool (900 MB); send smaller \
         batches"
    )]
    TooLarge(usize),
    #[error("a frame of the spool does not contain a valid entry: {0}")]
    Undecodable(String),
}

/// Encodes the frame of `entry`; the bodies and the reply are taken from `contents`.
pub(crate) fn encode(
    seal: &Seal,
    entry: &Entry,
    contents: &Contents,
) -> Result<Vec<u8>, FrameError> {
    let head = HeadRef {
        batch: entry.batch,
        caller: &entry.caller,
        run: entry.run.as_deref(),
        step: entry.step,
        items: entry.items,
        received_us: entry.received_us,
        grades: &entry.grades,
        packs: contents
            .packs
            .iter()
            .map(|pack| PackHead {
                content: compressed_head(&pack.compressed),
                bodies: pack.bodies.as_slice(),
            })
            .collect(),
        claim: entry.claim.as_ref().map(|claim| ClaimHead {
            caller: claim.key.caller.as_ref(),
            key: claim.key.key.as_str(),
            request: claim.request,
            batch: claim.batch,
            time_us: claim.time_us,
            reply: claim
                .reply
                .as_ref()
                .zip(contents.reply.as_ref())
                .map(|(reply, compressed)| (reply.media.as_str(), compressed_head(compressed))),
        }),
        events: &entry.events,
    };
    let capacity = HEADER + 256 + entry.grades.len() * 768 + contents.bytes();
    let mut frame = Vec::with_capacity(capacity);
    frame.resize(HEADER + 4, 0);
    let undecodable = |error: postcard::Error| FrameError::Undecodable(error.to_string());
    let mut frame = postcard::to_extend(&head, frame).map_err(undecodable)?;
    let marks = Marks::of(&entry.grades);
    if !marks.is_empty() {
        frame = postcard::to_extend(&marks, frame).map_err(undecodable)?;
    }
    let head_length = frame.len() - HEADER - 4;
    for pack in &contents.packs {
        frame.extend_from_slice(&pack.compressed.content);
    }
    if let Some(reply) = &contents.reply {
        frame.extend_from_slice(&reply.content);
    }
    let length = frame.len() - HEADER;
    if length > LARGEST_PAYLOAD {
        return Err(FrameError::TooLarge(length));
    }
    write_u32(&mut frame, HEADER, head_length);
    seal.write(&mut frame);
    Ok(frame)
}

/// Length of the frame at the start of `bytes`; `None` unless it is complete and its checksum is
/// valid.
pub(crate) fn measure(seal: &Seal, bytes: &[u8]) -> Option<usize> {
    let header = bytes.get(..HEADER)?;
    if header[..4] != seal.magic {
        return None;
    }
    let end = HEADER.checked_add(read_u32(header, 4)?)?;
    let payload = bytes.get(HEADER..end)?;
    (header[8..] == seal.checksum(&header[4..8], payload)).then_some(end)
}

/// Whether `bytes` start with a frame of full length, whatever its checksum. If the checksum is
/// invalid, the frame was damaged after it was written.
pub(crate) fn is_complete(seal: &Seal, bytes: &[u8]) -> bool {
    let end = read_u32(bytes, 4).and_then(|length| HEADER.checked_add(length));
    bytes.starts_with(&seal.magic) && end.is_some_and(|end| end <= bytes.len())
}

/// Offset of the first valid frame in `bytes` at or after `from`. The magic number is secret, so
/// that contents cannot be crafted to make this compute many checksums.
pub(crate) fn find(seal: &Seal, bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len().saturating_sub(HEADER))
        .find(|&at| bytes[at..].starts_with(&seal.magic) && measure(seal, &bytes[at..]).is_some())
}

/// Decodes the entry of a valid frame. Its bodies and the body of its reply are left empty; they
/// are in the contents.
pub(crate) fn decode(frame: &[u8]) -> Result<(Entry, Contents), FrameError> {
    let bad = |text: &str| FrameError::Undecodable(text.to_owned());
    let payload = frame.get(HEADER..).ok_or_else(|| bad("it is too short"))?;
    let head_length = read_u32(payload, 0).ok_or_else(|| bad("it is too short"))?;
    let (head, mut rest) = payload[4..]
        .split_at_checked(head_length)
        .ok_or_else(|| bad("its head is truncated"))?;
    let undecodable = |error: postcard::Error| FrameError::Undecodable(error.to_string());
    let (mut head, marks): (Head, _) = postcard::take_from_bytes(head).map_err(undecodable)?;
    if !marks.is_empty() {
        let marks: Marks = postcard::from_bytes(marks).map_err(undecodable)?;
        marks.set(&mut head.grades)?;
    }

    let mut take = |content: &CompressedHead| {
        let (taken, left) = rest
            .split_at_checked(content.stored as usize)
            .ok_or_else(|| bad("its contents are truncated"))?;
        rest = left;
        Ok(Compressed {
            codec: content.codec,
            size: content.size,
            content: taken.to_vec(),
        })
    };
    let packs = head
        .packs
        .into_iter()
        .map(|pack| {
            Ok(Pack {
                compressed: take(&pack.content)?,
                bodies: pack.bodies,
            })
        })
        .collect::<Result<_, FrameError>>()?;
    let mut reply = None;
    let claim = head
        .claim
        .map(|claim| {
            if let Some((_, content)) = &claim.reply {
                reply = Some(take(content)?);
            }
            Ok::<_, FrameError>(Claim {
                key: RequestKey {
                    caller: claim.caller.into(),
                    key: claim.key,
                },
                request: claim.request,
                batch: claim.batch,
                time_us: claim.time_us,
                reply: claim.reply.map(|(media, _)| SealedReply {
                    media,
                    body: Vec::new(),
                }),
            })
        })
        .transpose()?;
    let entry = Entry {
        batch: head.batch,
        caller: head.caller,
        run: head.run,
        step: head.step,
        items: head.items,
        received_us: head.received_us,
        grades: head.grades,
        bodies: Vec::new(),
        events: head.events,
        claim,
    };
    Ok((entry, Contents { packs, reply }))
}

fn compressed_head(compressed: &Compressed) -> CompressedHead {
    CompressedHead {
        codec: compressed.codec,
        size: compressed.size,
        // Never longer than the original content, whose length is a `u32`.
        stored: u32::try_from(compressed.content.len()).unwrap_or(u32::MAX),
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(word) as usize)
}

/// Lengths are at most [`LARGEST_PAYLOAD`] in frames that are written.
fn write_u32(bytes: &mut [u8], at: usize, value: usize) {
    let word = u32::try_from(value).unwrap_or(u32::MAX);
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}
