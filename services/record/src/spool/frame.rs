//! The encoding of an entry in the spool: a frame with length and checksum. Does not access files.
//!
//! A frame is a header of [`HEADER`] bytes (magic number, length of the payload, checksum of both)
//! and the payload: the length of the head, whose top bit says that grades have documents; the head
//! (the entry without contents, the sizes of the documents, the indices of unjudged grades, and
//! what was measured of each grade, in postcard); then the packs of documents, the packs of bodies
//! and the reply, as compressed.
//!
//! Contents are sent by clients, and a client may send the bytes of a frame. The magic number and
//! the checksum therefore depend on the secret key of the spool ([`Seal`]): after damage, recovery
//! finds only frames that this spool wrote.

use std::sync::Arc;

use assay_core::{BatchId, Hash};
use serde::{Deserialize, Serialize};

use crate::Event;
use crate::facts::Measured;
use crate::legacy::LegacyGrade;
use crate::pending::packs::{
    Codec, Compressed, Contents, DocumentPack, Pack, PackedBody, PackedDocument, decompress,
    pack_documents,
};
use crate::{Claim, Entry, GradeSource, NewGrade, RequestKey, SealedReply, StoredGrade};

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

/// Set in the length of a head whose grades have documents. No head is that long.
const HAS_DOCUMENTS: usize = 1 << 31;

/// Compression of the documents of grades that an earlier release recorded.
const LEGACY_LEVEL: i32 = 1;

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

/// The head of a frame, written from borrowed rows. The heads of the packs of documents follow.
#[derive(Serialize)]
struct HeadRef<'a> {
    batch: BatchId,
    caller: &'a str,
    run: Option<&'a str>,
    step: Option<i64>,
    items: u32,
    received_us: i64,
    grades: Vec<GradeHead>,
    packs: Vec<PackHead<&'a [PackedBody]>>,
    claim: Option<ClaimHead<&'a str>>,
    events: &'a [Event],
}

/// The same head when it is read. Earlier releases wrote whole grades.
#[derive(Deserialize)]
struct Head<G> {
    batch: BatchId,
    caller: Arc<str>,
    run: Option<Arc<str>>,
    step: Option<i64>,
    items: u32,
    received_us: i64,
    grades: Vec<G>,
    packs: Vec<PackHead<Vec<PackedBody>>>,
    claim: Option<ClaimHead<String>>,
    events: Vec<Event>,
}

/// The fields of a grade in the head, besides its document.
#[derive(Serialize, Deserialize)]
struct GradeHead {
    task_hash: Hash,
    completion_hash: Hash,
    prompt_hash: Option<Hash>,
    policy: Arc<str>,
    policy_hash: Option<Hash>,
    redacted: bool,
    bodies_omitted: bool,
}

impl GradeHead {
    fn of(source: &GradeSource) -> Self {
        Self {
            task_hash: source.task_hash,
            completion_hash: source.completion_hash,
            prompt_hash: source.prompt_hash,
            policy: Arc::clone(&source.policy),
            policy_hash: source.policy_hash,
            redacted: source.redacted,
            bodies_omitted: source.bodies_omitted,
        }
    }

    fn source<G>(self, head: &Head<G>) -> GradeSource {
        GradeSource {
            batch: head.batch,
            caller: Arc::clone(&head.caller),
            run: head.run.clone(),
            step: head.step,
            task_hash: self.task_hash,
            completion_hash: self.completion_hash,
            prompt_hash: self.prompt_hash,
            policy: self.policy,
            policy_hash: self.policy_hash,
            redacted: self.redacted,
            bodies_omitted: self.bodies_omitted,
            meta: None,
            checks: None,
        }
    }
}

/// Marks of the grades in a frame of an earlier release, which follow its head if there are any.
#[derive(Default, Deserialize)]
struct LegacyMarks {
    /// Indices of the grades that are redacted.
    redacted: Vec<u32>,
    /// Indices of the grades whose bodies were omitted.
    bodies_omitted: Vec<u32>,
}

impl LegacyMarks {
    fn set(&self, grades: &mut [LegacyGrade]) -> Result<(), FrameError> {
        let mut each = |indices: &[u32], set: fn(&mut LegacyGrade)| {
            indices.iter().try_for_each(|index| {
                let grade = grades
                    .get_mut(*index as usize)
                    .ok_or_else(|| undecodable("it marks a grade that it does not have"))?;
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
struct PackHead<P> {
    content: CompressedHead,
    /// The bodies or documents in the pack.
    parts: P,
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

fn undecodable(reason: impl std::fmt::Display) -> FrameError {
    FrameError::Undecodable(reason.to_string())
}

/// Encodes the frame of `entry`; documents, bodies and the reply are taken from `contents`.
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
        grades: entry
            .grades
            .iter()
            .map(|grade| GradeHead::of(&grade.row.source))
            .collect(),
        packs: contents
            .packs
            .iter()
            .map(|pack| PackHead {
                content: compressed_head(&pack.compressed),
                parts: pack.bodies.as_slice(),
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
    let documents: Vec<PackHead<&[PackedDocument]>> = contents
        .documents
        .iter()
        .map(|pack| PackHead {
            content: compressed_head(&pack.compressed),
            parts: pack.documents.as_slice(),
        })
        .collect();
    let capacity = HEADER + 256 + entry.grades.len() * 192 + contents.bytes();
    let mut frame = Vec::with_capacity(capacity);
    frame.resize(HEADER + 4, 0);
    let frame = postcard::to_extend(&(&head, &documents), frame).map_err(undecodable)?;
    let unjudged: Vec<u32> = (0..)
        .zip(&entry.grades)
        .filter_map(|(index, grade)| grade.unjudged.then_some(index))
        .collect();
    let measured: Vec<Measured> = entry.grades.iter().map(|grade| grade.measured).collect();
    // Builds without these lists ignore them; their frames end before.
    let mut frame = if entry.grades.is_empty() {
        frame
    } else {
        postcard::to_extend(&(&unjudged, &measured), frame).map_err(undecodable)?
    };
    let head_length = frame.len() - HEADER - 4;
    let documents = contents.documents.iter().map(|pack| &pack.compressed);
    let bodies = contents.packs.iter().map(|pack| &pack.compressed);
    for compressed in documents.chain(bodies) {
        frame.extend_from_slice(&compressed.content);
    }
    if let Some(reply) = &contents.reply {
        frame.extend_from_slice(&reply.content);
    }
    let length = frame.len() - HEADER;
    if length > LARGEST_PAYLOAD {
        return Err(FrameError::TooLarge(length));
    }
    write_u32(&mut frame, HEADER, head_length | HAS_DOCUMENTS);
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

/// Decodes the entry of a valid frame. Its documents, its bodies and the body of its reply are left
/// empty; they are in the contents.
pub(crate) fn decode(frame: &[u8]) -> Result<(Entry, Contents), FrameError> {
    let payload = frame.get(HEADER..);
    let payload = payload.ok_or_else(|| undecodable("it is too short"))?;
    let head_length = read_u32(payload, 0).ok_or_else(|| undecodable("it is too short"))?;
    let (head, contents) = payload[4..]
        .split_at_checked(head_length & !HAS_DOCUMENTS)
        .ok_or_else(|| undecodable("its head is truncated"))?;
    if head_length & HAS_DOCUMENTS == 0 {
        return decode_legacy(head, contents);
    }
    type Documents = Vec<PackHead<Vec<PackedDocument>>>;
    let ((mut head, documents), rest): ((Head<GradeHead>, Documents), _) =
        postcard::take_from_bytes(head).map_err(undecodable)?;
    let (unjudged, rest): (Vec<u32>, _) = if rest.is_empty() {
        (Vec::new(), rest)
    } else {
        postcard::take_from_bytes(rest).map_err(undecodable)?
    };
    let measured: Vec<Measured> = if rest.is_empty() {
        Vec::new()
    } else {
        postcard::from_bytes(rest).map_err(undecodable)?
    };
    let mut contents = Remaining(contents);
    let mut packs = Vec::with_capacity(documents.len());
    for PackHead { content, parts } in documents {
        packs.push(DocumentPack {
            compressed: contents.take(&content)?,
            documents: parts,
        });
    }
    let heads = std::mem::take(&mut head.grades);
    let sources = heads.into_iter().map(|grade| grade.source(&head));
    let mut grades = read_grades(sources, &packs)?;
    for index in unjudged {
        let grade = grades.get_mut(index as usize);
        let missing = || undecodable("it marks a grade that it does not have");
        grade.ok_or_else(missing)?.unjudged = true;
    }
    for (grade, measured) in grades.iter_mut().zip(measured) {
        grade.measured = measured;
    }
    into_entry(head, grades, packs, contents)
}

/// Reads the rows of grades from their documents.
fn read_grades(
    mut sources: impl Iterator<Item = GradeSource>,
    packs: &[DocumentPack],
) -> Result<Vec<NewGrade>, FrameError> {
    let mut grades = Vec::new();
    for pack in packs {
        let unpacked = decompress(&pack.compressed).map_err(undecodable)?;
        let mut rest = unpacked.as_slice();
        for document in &pack.documents {
            let (bytes, later) = rest
                .split_at_checked(document.size as usize)
                .ok_or_else(|| undecodable("a document is outside its pack"))?;
            rest = later;
            let text = std::str::from_utf8(bytes).map_err(undecodable)?;
            let source = sources.next();
            let source = source.ok_or_else(|| undecodable("a document has no grade"))?;
            grades.push(NewGrade::read(source, text).map_err(undecodable)?);
        }
    }
    match sources.next() {
        None => Ok(grades),
        Some(_) => Err(undecodable("a grade has no document")),
    }
}

/// Decodes a frame of an earlier release, which has whole grades instead of documents.
fn decode_legacy(head: &[u8], contents: &[u8]) -> Result<(Entry, Contents), FrameError> {
    let (mut head, marks): (Head<LegacyGrade>, _) =
        postcard::take_from_bytes(head).map_err(undecodable)?;
    let mut grades = std::mem::take(&mut head.grades);
    if !marks.is_empty() {
        let marks: LegacyMarks = postcard::from_bytes(marks).map_err(undecodable)?;
        marks.set(&mut grades)?;
    }
    let mut grades: Vec<NewGrade> = grades
        .into_iter()
        .map(|grade| NewGrade::from(StoredGrade::from(grade)))
        .collect();
    let packs = pack_documents(&grades, LEGACY_LEVEL).map_err(undecodable)?;
    for grade in &mut grades {
        grade.document = String::new();
    }
    into_entry(head, grades, packs, Remaining(contents))
}

/// The contents of a frame that are not read yet.
struct Remaining<'f>(&'f [u8]);

impl Remaining<'_> {
    fn take(&mut self, content: &CompressedHead) -> Result<Compressed, FrameError> {
        let (taken, left) = self
            .0
            .split_at_checked(content.stored as usize)
            .ok_or_else(|| undecodable("its contents are truncated"))?;
        self.0 = left;
        Ok(Compressed {
            codec: content.codec,
            size: content.size,
            content: taken.to_vec(),
        })
    }
}

/// The entry with these grades, whose documents are in `documents`.
fn into_entry<G>(
    head: Head<G>,
    grades: Vec<NewGrade>,
    documents: Vec<DocumentPack>,
    mut contents: Remaining<'_>,
) -> Result<(Entry, Contents), FrameError> {
    let packs = head
        .packs
        .into_iter()
        .map(|PackHead { content, parts }| {
            Ok(Pack {
                compressed: contents.take(&content)?,
                bodies: parts,
            })
        })
        .collect::<Result<_, FrameError>>()?;
    let mut reply = None;
    let claim = head
        .claim
        .map(|claim| {
            if let Some((_, content)) = &claim.reply {
                reply = Some(contents.take(content)?);
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
        grades,
        bodies: Vec::new(),
        events: head.events,
        claim,
    };
    let contents = Contents {
        documents,
        packs,
        reply,
    };
    Ok((entry, contents))
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
