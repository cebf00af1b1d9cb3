//! Options of a pool.

use std::ffi::OsString;
use std::path::PathBuf;

/// How workers are started and replaced.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// A binary that implements the hidden role ([`crate::role`]).
    pub program: PathBuf,
    /// Arguments after the role.
    pub arguments: Vec<OsString>,
    /// Most workers that run a request at once. One for each core is best: threads of one process
    /// contend in page faults, processes do not.
    pub count: usize,
    /// Number of requests after which a worker is replaced, so that a compromised one does not
    /// last.
    pub uses: u32,
}
