//! The files of a spool that another process may use: lists and checks them without locking or
//! changing anything.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::ends;
use super::frame::{self, Seal};
use super::identity::{self, IDENTITY};
use super::segment::{self, number_of};
use super::set_aside::{EXTENSION, FOLDER, SetAsideFolder};

/// A file of a spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SpoolFile {
    Identity(PathBuf),
    /// How far a segment is synced.
    End(PathBuf),
    Segment(PathBuf),
    SetAside(PathBuf),
}

/// The files of the spool in this folder: the identity, the ends of segments, the segments in their
/// order, and the entries that are set aside. An end is not ahead of a segment that is read later.
pub(crate) fn spool_files(spool: &Path) -> io::Result<Vec<SpoolFile>> {
    let mut segments = Vec::new();
    let mut files = Vec::new();
    for file in fs::read_dir(spool)? {
        let path = file?.path();
        if path.file_name().is_some_and(|name| name == IDENTITY) {
            files.push(SpoolFile::Identity(path));
        } else if let Some(number) = number_of(&path) {
            segments.push((number, path));
        } else if ends::number_of(&path).is_some() {
            files.push(SpoolFile::End(path));
        }
    }
    segments.sort();
    files.extend(
        segments
            .into_iter()
            .map(|(_, path)| SpoolFile::Segment(path)),
    );
    let aside = match fs::read_dir(spool.join(FOLDER)) {
        Ok(aside) => aside.collect::<io::Result<Vec<_>>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut aside: Vec<PathBuf> = aside
        .into_iter()
        .map(|file| file.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == EXTENSION)
        })
        .collect();
    aside.sort();
    files.extend(aside.into_iter().map(SpoolFile::SetAside));
    Ok(files)
}

/// The number of the segment in this file.
pub(crate) fn segment_number(path: &Path) -> Option<u64> {
    number_of(path)
}

/// The name of the spool in this folder, under which the database stores its progress; empty if it
/// cannot be read.
pub(crate) fn spool_name(spool: &Path) -> String {
    identity::read_name_of(spool).unwrap_or_default()
}

/// The reports of damaged and missing parts of segments, with their files.
pub(crate) fn lost_parts(spool: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let files = SetAsideFolder::at(spool).list()?;
    let lost = files.into_iter().filter(|file| file.note.lost);
    Ok(lost.map(|file| (file.path, file.note.reason)).collect())
}

/// The seal of a segment with these contents, and the length of its header.
fn seal_of(spool: &Path, bytes: &[u8]) -> io::Result<(Seal, usize)> {
    if segment::is_plain(bytes) {
        return Ok((Seal::PLAIN, segment::VERSION.len()));
    }
    let key = identity::read_key_of(spool)?;
    Ok((Seal::keyed(key), segment::SEGMENT_HEADER))
}

/// Length of a segment up to the end of its last valid frame. Damaged bytes before it count.
pub(crate) fn valid_length(spool: &Path, bytes: &[u8]) -> io::Result<usize> {
    let (seal, header) = seal_of(spool, bytes)?;
    let mut end = header.min(bytes.len());
    let mut at = end;
    while let Some(start) = frame::find(&seal, bytes, at) {
        // A found frame is valid.
        end = start + frame::measure(&seal, &bytes[start..]).unwrap_or(1);
        at = end;
    }
    Ok(end)
}

/// Positions of bytes in a segment that are not part of a valid frame, in order. The last range may
/// be an append that is being written or was interrupted.
pub(crate) fn damage(spool: &Path, bytes: &[u8]) -> io::Result<(u64, Vec<(usize, usize)>)> {
    let (seal, header) = seal_of(spool, bytes)?;
    let mut at = header.min(bytes.len());
    let (mut frames, mut ranges) = (0, Vec::new());
    if seal != Seal::PLAIN && !segment::is_header(&seal, &bytes[..at]) {
        ranges.push((0, at));
    }
    while at < bytes.len() {
        let next = frame::find(&seal, bytes, at).unwrap_or(bytes.len());
        if next > at {
            ranges.push((at, next));
        }
        if next < bytes.len() {
            frames += 1;
        }
        at = next + frame::measure(&seal, &bytes[next..]).unwrap_or(bytes.len() - next);
    }
    Ok((frames, ranges))
}
