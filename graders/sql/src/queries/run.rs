//! How queries are run, and what a run returns.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{Fault, Hash};
use assay_worker::query::{Limits, Ran, ReadOrder};

/// How statements are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOptions {
    /// Limits of each statement.
    pub(crate) limits: Limits,
    /// The order in which rows are read.
    pub(crate) order: ReadOrder,
    /// Most processor time of a request to a worker.
    pub(crate) timeout: Duration,
    /// Hash of the name under which the runs are cached; `None` if they must be new.
    pub(crate) cache: Option<Hash>,
}

/// One run of a statement, and whether it is deterministic.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) ran: Arc<Ran>,
    pub(crate) deterministic: bool,
}

/// Receives the runs of statements: the index of the statement, and its run on the next database.
/// Returns whether to run it on further ones.
pub(crate) type Each<'a> = dyn FnMut(usize, Attempt) -> bool + Send + 'a;

/// Why a database could not be built or described.
pub(crate) enum BuildError {
    /// The task is at fault: what is wrong with it.
    Task(String),
    /// The service is at fault.
    Service(Fault),
}
