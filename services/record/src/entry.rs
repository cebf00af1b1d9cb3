//! What one write to the record contains.

use std::sync::Arc;

use assay_core::Hash;
use assay_core::clock::BatchId;
use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::event::Event;
use crate::new_grade::NewGrade;

/// Identifies a request: repeated requests have the same key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestKey {
    /// The caller. Keys of different callers are independent.
    pub caller: Arc<str>,
    /// The `Idempotency-Key` header.
    pub key: String,
}

/// A reply as it was sent. A repeated request receives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedReply {
    /// `Content-Type`.
    pub media: String,
    /// The body, not compressed.
    pub body: Vec<u8>,
}

/// A request that was received with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The key.
    pub key: RequestKey,
    /// Hash of the request's body and of everything else that determines the reply.
    pub request: Hash,
    /// Its batch. A repeated request has the same batch.
    pub batch: BatchId,
    /// When it was claimed, in microseconds since the Unix epoch; claims are kept for a day.
    pub time_us: i64,
    /// The reply; `None` until the request is complete.
    pub reply: Option<SealedReply>,
}

/// One durable write: the grades of a batch or of a part of it. They become visible together.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The batch.
    pub batch: BatchId,
    /// The caller.
    pub caller: Arc<str>,
    /// Name of the run, as sent.
    pub run: Option<Arc<str>>,
    /// Step of the run, as sent.
    pub step: Option<i64>,
    /// Items in the whole batch.
    pub items: u32,
    /// When the batch was received, in microseconds since the Unix epoch.
    pub received_us: i64,
    /// Grades to append.
    pub grades: Vec<NewGrade>,
    /// Bodies that the grades refer to. Bodies that are already stored are not stored again.
    pub bodies: Vec<Body>,
    /// Events other than grades.
    pub events: Vec<Event>,
    /// The idempotency claim that this write creates or, if it has a reply, completes.
    pub claim: Option<Claim>,
}

impl Entry {
    /// Drops what [`Contents`](crate::pending::packs::Contents) have.
    pub(crate) fn drop_contents(&mut self) {
        self.bodies = Vec::new();
        for grade in &mut self.grades {
            grade.document = String::new();
        }
        if let Some(reply) = self.claim.as_mut().and_then(|claim| claim.reply.as_mut()) {
            reply.body = Vec::new();
        }
    }

    /// An entry that contains only events. `batch` is a new id that no batch has.
    #[must_use]
    pub fn of_events(batch: BatchId, caller: Arc<str>, events: Vec<Event>, time_us: i64) -> Self {
        Self {
            batch,
            caller,
            run: None,
            step: None,
            items: 0,
            received_us: time_us,
            grades: Vec::new(),
            bodies: Vec::new(),
            events,
            claim: None,
        }
    }
}
