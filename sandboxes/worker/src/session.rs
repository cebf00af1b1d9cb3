//! Requests of sessions: calls of programs that share a namespace, files and random numbers.

use serde::{Deserialize, Serialize};

use crate::program::{File, Limits, Ran};

/// One call of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Name of the image, such as `python`.
    pub image: String,
    /// What earlier calls left, see [`Called::frozen`]. `None` in a new session.
    #[serde(with = "serde_bytes")]
    pub frozen: Option<Vec<u8>>,
    /// Number of the call in its session, from 1. Names the code in tracebacks.
    pub number: u32,
    /// The source text.
    pub code: String,
    /// What the code reads from standard input.
    #[serde(with = "serde_bytes")]
    pub stdin: Vec<u8>,
    /// Limits on the resources of the call. Memory is that of the session.
    pub limits: Limits,
    /// Seed of all random numbers of a new session.
    pub seed: u64,
    /// Files that are written before the call.
    pub files: Vec<File>,
    /// Paths of files to return after the call. Missing ones are omitted.
    pub fetch: Vec<String>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// How the code ran. [`crate::program::End::Returned`] has the last expression's value, as an
    /// interactive interpreter displays it.
    pub ran: Ran,
    /// What the call left: everything in which the instance differs from a new one. `None` if the
    /// call ended in the middle of the code, by a limit: then it has no effect, and the session
    /// continues from what the call before left.
    #[serde(with = "serde_bytes")]
    pub frozen: Option<Vec<u8>>,
    /// Bytes of memory in which the instance differs from a new one.
    pub changed_bytes: u64,
}
