//! The durable part of the record: an entry is recorded once it is in a segment file and the file
//! is synced to disk. Does not depend on the database.
//!
//! ```text
//! assay.db.spool/
//!   identity       the file that a node locks; contains the spool's name and the key of its frames
//!   00000001.seg   a header and frames; a new segment is started every 64 MiB, after an error and
//!                  at every start
//!   00000001.end   how far that segment is synced; see `ends`
//!   set-aside/     entries that the database rejected and damaged parts of segments, one file
//!                  each; see `set_aside`
//!   server         URL of the server that uses the record, while there is one; see `server_file`
//! ```

pub(crate) mod commit;
pub(crate) mod ends;
pub(crate) mod files;
mod folder;
pub(crate) mod frame;
mod identity;
mod loss;
mod position;
pub(crate) mod recovery;
pub(crate) mod segment;
pub(crate) mod set_aside;

use std::path::PathBuf;

pub(crate) use position::Position;

/// Why the spool cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSpoolError {
    /// Another node holds the folder's lock.
    #[error(
        "the spool `{path}` is used by another node; stop that node, or configure another database \
         and spool"
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The folder cannot be read or written.
    #[error("cannot use the spool `{path}`: {source}; check that the folder is writable")]
    Io {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A segment cannot be read.
    #[error("cannot read segment {segment} of the spool: {source}; check the disk")]
    Segment {
        /// Number of the segment.
        segment: u64,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A segment was written with another key.
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
    /// A segment was written by a release with another frame format.
    #[error(
        "segment {segment} of the spool was written by another release; start and stop that \
         release once to empty the spool"
    )]
    VersionMismatch {
        /// Number of the segment.
        segment: u64,
    },
}
