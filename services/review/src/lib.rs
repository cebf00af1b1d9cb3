//! Owns what people and trainers do with grades that are recorded: explain, replay and certify
//! them by receipts, draw and adjudicate them, choose pairs for reward models and prompts to sample
//! next, and store and certify the results of dataset checks next to them. Grades with the engine
//! and reads the record; does not depend on HTTP.

pub mod adjudications;
pub mod certificate;
pub mod comments;
pub mod comparison;
pub mod dataset_checks;
pub mod explanation;
pub mod filter;
pub mod pairs;
pub mod prompt_list;
pub mod receipt;
pub mod replay;
pub mod run_list;
pub mod suggest;

use std::path::PathBuf;
use std::sync::Arc;

use assay_core::{BatchId, ErrorCode, GradeId, Hash};
use assay_engine::Engine;
use assay_record::{Entry, Event, Record, RecordError};

use receipt::Signer;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// There is no grade with this id.
    #[error("no grade has the id `{0}`")]
    NotFound(GradeId),
    /// The grade has no verdict that can be a pass.
    #[error("cannot adjudicate the grade `{0}`: its verdict is neither a pass nor a fail")]
    NoVerdict(GradeId),
    /// The grade was not drawn from the queue.
    #[error("cannot assign the grade `{0}`: it was not drawn from the queue")]
    NotDrawn(GradeId),
    /// A comment breaks a limit.
    #[error("{message}")]
    InvalidComment {
        /// The field of the comment: `text` or `labels`.
        field: &'static str,
        /// What is wrong.
        message: String,
    },
    /// There is no comment with this id on the grade.
    #[error("the grade `{0}` has no comment with the id `{1}`")]
    NoComment(GradeId, BatchId),
    /// The comment has another author.
    #[error("the comment `{0}` has another author; only its author may delete it")]
    NotAuthor(BatchId),
    /// The node has no record.
    #[error("the node has no record; start it with a database")]
    NoRecord,
    /// The record cannot be read or written.
    #[error(transparent)]
    Store(#[from] RecordError),
}

impl ReviewError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) | Self::NoComment(..) => ErrorCode::NotFound,
            Self::NoVerdict(_) | Self::NotDrawn(_) | Self::InvalidComment { .. } => {
                ErrorCode::InvalidField
            }
            Self::NotAuthor(_) => ErrorCode::Forbidden,
            Self::NoRecord | Self::Store(_) => ErrorCode::StoreUnavailable,
        }
    }
}

/// Reviews recorded grades. Cheap to clone: clones share their state.
#[derive(Clone)]
pub struct Review {
    engine: Engine,
    locks: Arc<Locks>,
    /// Signs receipts; `None` if there is no file for the key.
    signer: Option<Arc<Signer>>,
}

/// Requests that depend on each other wait for each other.
#[derive(Default)]
struct Locks {
    /// Locked while an operator draws or adjudicates a grade, because both depend on earlier draws
    /// and adjudications.
    operators: tokio::sync::Mutex<()>,
    /// Locked while pairs are collected, because known pairs are looked up before new ones are
    /// recorded.
    pairs: tokio::sync::Mutex<()>,
    /// Locked while pairs are chosen from a run, which needs memory for the completions of a
    /// prompt.
    pair_choice: tokio::sync::Mutex<()>,
}

impl Review {
    /// Reviews the grades that `engine` records.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            locks: Arc::default(),
            signer: None,
        }
    }

    /// Signs receipts with the key in this file, which is created when it is needed first.
    #[must_use]
    pub fn with_receipt_key(self, file: PathBuf) -> Self {
        Self {
            signer: Some(Arc::new(Signer::new(file))),
            ..self
        }
    }

    /// Restricts reads to what `caller` may see, if given, and counts work towards `share`.
    #[must_use]
    pub fn seen_by(&self, caller: Option<&str>, share: Arc<str>) -> Self {
        let engine = match caller {
            Some(caller) => self.engine.seen_by(caller),
            None => self.engine.clone(),
        };
        Self {
            engine: engine.with_share(share),
            locks: Arc::clone(&self.locks),
            signer: self.signer.clone(),
        }
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    fn record(&self) -> Result<&Record, ReviewError> {
        self.engine.record().ok_or(ReviewError::NoRecord)
    }

    async fn record_event(&self, event: Event, caller: &str) -> Result<(), ReviewError> {
        self.record_events(vec![event], caller).await
    }

    async fn record_events(&self, events: Vec<Event>, caller: &str) -> Result<(), ReviewError> {
        let (batch, time_us) = (self.engine.new_id(), self.engine.clock().unix_us());
        let entry = Entry::of_events(batch, caller.into(), events, time_us);
        Ok(self.record()?.append(Arc::new(entry)).await?)
    }

    /// Two random numbers from the hash of a new id, the source of all randomness of a node.
    fn random_numbers(&self) -> (u64, u64) {
        let hash = Hash::of(&u128::from(self.engine.new_id()).to_le_bytes());
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = *hash.as_bytes();
        (
            u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            u64::from_le_bytes([i, j, k, l, m, n, o, p]),
        )
    }
}
