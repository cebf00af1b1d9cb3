//! Grading a request with an idempotency key on one node at a time, if several nodes share the
//! record.
//!
//! A node holds the request for [`LEASE`] before it grades it, and extends that while it does. The
//! transaction that applies the reply ends it. Another node that receives the request waits; it
//! takes over if the first one does not extend its hold, and then uses the same batch, so that the
//! grades have the same ids.

use std::sync::Arc;
use std::time::Duration;

use assay_core::{BatchId, Hash};

use crate::database::Database;
use crate::held_request::HeldRequest;
use crate::{Record, RecordError, RequestKey};

/// How long a request is held unless that is extended.
const LEASE: Duration = Duration::from_secs(30);

/// Time between two extensions.
const EXTENSION: Duration = Duration::from_secs(10);

/// Times between two tries while another node holds a request: the first, which doubles, and the
/// longest.
const TRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// A request that this node grades and no other.
#[must_use]
pub struct Hold {
    batch: BatchId,
    /// `None` if no other node uses the record.
    shared: Option<SharedHold>,
}

struct SharedHold {
    database: Arc<Database>,
    held: HeldRequest,
    /// Whether another node, or this one, held the request before and may have recorded some of
    /// its batch in a spool.
    is_repeated: bool,
    extending: tokio::task::JoinHandle<()>,
}

impl Drop for SharedHold {
    fn drop(&mut self) {
        self.extending.abort();
    }
}

impl Hold {
    /// The id with which the request is graded.
    #[must_use]
    pub fn batch(&self) -> BatchId {
        self.batch
    }

    /// Lets other nodes grade the request, because nothing was recorded for it. If that fails, they
    /// wait until the hold ends by itself, as they do if an earlier hold may have recorded
    /// something: only the hold keeps the id of its batch.
    pub async fn release(self) {
        let Some(shared) = self.shared.as_ref().filter(|shared| !shared.is_repeated) else {
            return;
        };
        if let Err(error) = shared.database.release(&shared.held).await {
            tracing::warn!(%error, "cannot release a request; other nodes wait for it");
        }
    }
}

impl Record {
    /// Waits until no other node grades the request, and holds it. `batch` is its id, unless a node
    /// that held it did not finish.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`] if the database cannot be reached.
    pub async fn hold(
        &self,
        key: &RequestKey,
        request: Hash,
        batch: BatchId,
    ) -> Result<Hold, RecordError> {
        let database = &self.shared.database;
        if !database.is_shared() {
            let shared = None;
            return Ok(Hold { batch, shared });
        }
        let mut held = HeldRequest {
            key: key.clone(),
            request,
            batch,
            holder: database.spool().to_owned(),
        };
        let (mut pause, longest) = TRY;
        held.batch = loop {
            match database.hold(&held, micros(LEASE)).await? {
                Some(batch) => break batch,
                None => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(longest);
        };
        let (extended, extended_database) = (held.clone(), Arc::clone(database));
        let extending = tokio::spawn(async move {
            loop {
                tokio::time::sleep(EXTENSION).await;
                if let Err(error) = extended_database.extend(&extended, micros(LEASE)).await {
                    tracing::warn!(%error, "cannot extend the hold of a request");
                }
            }
        });
        let shared = SharedHold {
            database: Arc::clone(database),
            is_repeated: held.batch != batch,
            held,
            extending,
        };
        Ok(Hold {
            batch: shared.held.batch,
            shared: Some(shared),
        })
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
