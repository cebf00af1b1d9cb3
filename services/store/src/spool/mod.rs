//! Responsible for the durable side: an entry is recorded once it lies in a segment file and the
//! file is on the disk. Knows nothing of the database that follows.
//!
//! ```text
//! assay.db.spool/
//!   identity       lock of the node that uses the folder, the spool's name in the table of progress, and the key of its frames
//!   00000001.seg   header, then frames; a new segment starts every 64 MiB, after an error and at every start
//!   set-aside/     entries that the database rejected, one file each; see `aside`
//! ```

pub(crate) mod aside;
pub(crate) mod commit;
pub(crate) mod frame;
mod identity;
pub(crate) mod recovery;
pub(crate) mod segment;

use std::path::PathBuf;

pub(crate) use segment::Position;

/// The spool cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSpoolError {
    /// Another node holds the folder's lock.
    #[error(
        "the spool `{path}` is used by another node: stop it, or give this one its own database \
         and spool"
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The folder cannot be read or written.
    #[error("the spool `{path}` cannot be used: {source}; check that the folder can be written")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A segment cannot be read.
    #[error("segment {segment} of the spool cannot be read: {source}; check the disk")]
    Segment {
        /// Number of the segment.
        segment: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// A segment was written under another identity.
    #[error(
        "segment {segment} of the spool `{path}` was written with another key; restore the file \
         `identity` of the folder from a backup, or move the segment away to start without its \
         grades"
    )]
    OtherKey {
        /// Number of the segment.
        segment: u64,
        /// The folder.
        path: PathBuf,
    },
    /// A segment was written by a release with other frames.
    #[error(
        "segment {segment} of the spool was written by another release: start that release once \
         and stop it again, which empties the spool"
    )]
    OtherVersion {
        /// Number of the segment.
        segment: u64,
    },
}
