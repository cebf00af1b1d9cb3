//! Receipts: what made a grade, signed, so that anyone with this binary can grade it again and
//! compare.

mod envelope;
mod key;
mod statement;

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::{ErrorCode, GradeId, RawJson};
use assay_engine::{Batch, BatchItem, EngineError};
use serde::Serialize;

use crate::Review;
use crate::replay::{ReplayError, ReplayOptions, StoredItems};

pub use envelope::{CERTIFICATE, Envelope, EnvelopeError, RECEIPT, Signature};
pub(crate) use key::Signer;
pub use key::{KeyError, PublicKey, SigningKey};
pub use statement::{StatedItem, Statement};

/// Why a grade has no receipt.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    /// The service failed, so there is nothing to repeat.
    #[error("the grade `{0}` failed and has no result; grade the item again")]
    Failed(GradeId),
    /// The grade may differ when it is repeated.
    #[error("the grade `{0}` is not deterministic: grading the item again may differ")]
    NotDeterministic(GradeId),
    /// The item of a receipt cannot be graded here, so there is nothing to compare.
    #[error("this binary cannot grade the item: {0}")]
    NotGraded(String),
    /// The node cannot repeat the grade, so it signs nothing.
    #[error(
        "grading the item again changes `{0}`, so the node does not sign it: parts of the result \
         were redacted, or another version or other settings made it"
    )]
    Differs(String),
    /// The node has no key and nowhere to keep one.
    #[error("the node has no key to sign with; set `receipts.key` to a file")]
    NoKey,
    /// The key cannot be read or created.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The grade cannot be read with all that made it.
    #[error(transparent)]
    Stored(#[from] ReplayError),
}

impl ReceiptError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Failed(_) | Self::NotDeterministic(_) | Self::Differs(_) | Self::NoKey => {
                ErrorCode::NotFound
            }
            Self::NotGraded(_) => ErrorCode::GraderUnavailable,
            Self::Key(_) => ErrorCode::Internal,
            Self::Stored(error) => error.code(),
        }
    }
}

/// A part of what was signed that differs when it is done again.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// Its key, such as `verdict`.
    pub key: String,
    /// Its value as it was signed; `None` if there was none.
    pub stated: Option<RawJson>,
    /// Its value now.
    pub now: Option<RawJson>,
}

impl Review {
    /// The receipt of a grade: the item, how it was graded, and the result, signed with the key of
    /// this node. The policy, the reward and the appeal are not part of it. The item is graded
    /// again first, and what differs is not signed.
    ///
    /// # Errors
    /// [`ReceiptError`] if the grade cannot be repeated, or the key cannot be used.
    pub async fn receipt(&self, id: GradeId) -> Result<Envelope, ReceiptError> {
        let record = self.engine.record().ok_or(ReplayError::NoRecord)?;
        let stored = StoredItems::read(record, &[id]).await;
        let stored = stored.map_err(ReplayError::from)?;
        let (row, item) = stored.item(id, &ReplayOptions::default())?;
        if row.grade.outcome == "failed" {
            return Err(ReceiptError::Failed(id));
        }
        if self.calls_judge(&item) || !row.grade.deterministic {
            return Err(ReceiptError::NotDeterministic(id));
        }
        let key = self.signing_key().await?;
        let statement = Statement::new(&row.grade, &item);
        let statement = statement.map_err(|error| invalid(error.to_string()))?;
        let json = statement.to_json().map_err(invalid)?;
        let changed = self.verify(&statement).await?;
        if !changed.is_empty() {
            let keys: Vec<_> = changed.into_iter().map(|part| part.key).collect();
            return Err(ReceiptError::Differs(keys.join("`, `")));
        }
        Ok(Envelope::sign(RECEIPT, json.as_bytes(), &key))
    }

    /// The public part of the key that signs the receipts of this node.
    ///
    /// # Errors
    /// [`ReceiptError`] if the key cannot be used.
    pub async fn receipt_key(&self) -> Result<PublicKey, ReceiptError> {
        Ok(self.signing_key().await?.public())
    }

    /// Grades the item of a receipt again and returns what differs; nothing is recorded.
    ///
    /// # Errors
    /// [`ReceiptError`] if the item cannot be graded by this binary.
    pub async fn verify(&self, statement: &Statement) -> Result<Vec<Difference>, ReceiptError> {
        let item = statement.item.to_batch_item()?;
        if self.calls_judge(&item) {
            return Err(ReceiptError::NotGraded(
                "a judge would be called".to_owned(),
            ));
        }
        let item = self.engine.check_on_worker(item).await;
        let item = item.map_err(ReplayError::from)?;
        let batch = Batch {
            share: Arc::clone(self.engine.share()),
            ..Batch::new("receipt", vec![item])
        };
        let reply = self.engine.grade_unrecorded(batch).await;
        let reply = reply.map_err(ReplayError::from)?;
        let grade = reply.grades().next();
        let grade = grade.ok_or(ReplayError::Engine(EngineError::ShuttingDown))?;
        if grade.outcome == "failed" {
            let reason = grade.error.as_ref().map(|fault| fault.message.to_string());
            return Err(ReceiptError::NotGraded(reason.unwrap_or_default()));
        }
        if !grade.deterministic {
            let reason = "grading it again may return something else".to_owned();
            return Err(ReceiptError::NotGraded(reason));
        }
        let now = statement::result(grade).map_err(|error| invalid(error.to_string()))?;
        Ok(differences(&statement.result, &now))
    }

    fn calls_judge(&self, item: &BatchItem) -> bool {
        let graders = self.engine.graders();
        item.tasks().any(|(_, task)| graders.is_remote(task))
    }

    /// The key, which is read or created when it is needed first.
    async fn signing_key(&self) -> Result<Arc<SigningKey>, ReceiptError> {
        let signer = self.signer.as_ref().ok_or(ReceiptError::NoKey)?;
        Ok(signer.key().await?)
    }
}

fn invalid(reason: String) -> ReplayError {
    ReplayError::InvalidBody {
        what: "result",
        reason,
    }
}

pub(crate) fn differences(
    stated: &BTreeMap<String, RawJson>,
    now: &BTreeMap<String, RawJson>,
) -> Vec<Difference> {
    let mut keys: Vec<&String> = stated.keys().chain(now.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter()
        .filter_map(|key| {
            let (stated, now) = (stated.get(key), now.get(key));
            (stated != now).then(|| Difference {
                key: key.clone(),
                stated: stated.cloned(),
                now: now.cloned(),
            })
        })
        .collect()
}
