//! Answers a repeated request once: while the first is graded the others wait, and afterwards they
//! get the same bytes.
//!
//! The claim on a key is recorded with the first grades of its batch, the reply with the last. A
//! crash between the two leaves a claim without a reply. If the request is then sent again, it
//! becomes the same batch with the same grade ids, so no grade is recorded twice.

use std::sync::Arc;

use assay_core::{BatchId, Hash};
use assay_record::{RequestKey, SealedReply};

use crate::Reply;

/// Renders a reply as the bytes that are recorded and sent.
pub type Render = Arc<dyn Fn(&Reply) -> SealedReply + Send + Sync>;

/// A request with an idempotency key.
#[derive(Clone)]
pub struct IdempotentRequest {
    /// The key, scoped to its caller.
    pub key: RequestKey,
    /// Hash of the body and of everything else on which the bytes of the reply depend.
    pub request: Hash,
    /// Renders the bytes that are recorded and sent.
    pub render: Render,
    /// Set if the sender grades the request again until it succeeds, as jobs do.
    pub repeated: Option<Repeated>,
}

/// A request that its sender grades again until it succeeds, after a restart of the node as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeated {
    /// The id of the batch, so that each try records the same grades.
    pub batch: BatchId,
    /// Whether items that failed are recorded even if they may succeed later. Those that failed
    /// because the node stops never are.
    pub keeps_failures: bool,
}

/// The answer to a request that may have been sent before.
pub enum Answer {
    /// The batch was graded now. With a key, the bytes are those that were recorded.
    Fresh(Reply, Option<SealedReply>),
    /// The batch was graded before; these are the recorded bytes.
    Again(SealedReply),
}
