//! Owns the pipeline of a batch:
//! `check -> plan -> grade -> appeal -> compose -> correct -> record`. Does not depend on HTTP.
//!
//! The pipeline is one function in `stages`, which [`Engine::grade`] calls; each stage is a module
//! of that folder. Grading runs on worker threads outside the async runtime, so that slow items do
//! not delay other requests.

mod admission;
mod allowance;
mod batch;
mod cache;
mod channel_cache;
mod engine;
mod error;
mod failure_log;
mod idempotency;
mod keeping;
mod keys_in_flight;
pub mod metrics;
mod names;
mod policy;
mod reply;
mod shares;
mod stages;
mod state;
mod totals;
mod usage;
mod warm;
mod worker_threads;

pub use admission::{Admission, MemoryPermit, Permit};
pub use allowance::{Allowance, Charge};
pub use batch::{Batch, BatchItem};
pub use channel_cache::ChannelSettings;
pub use engine::{Engine, RECORD_CLOSE_TIMEOUT, REPLY_TIMEOUT};
pub use error::EngineError;
pub use idempotency::{Answer, IdempotentRequest, Render, Repeated};
pub use keeping::{BodyPolicy, Keeping, Redaction, RedactionError, Redactor};
pub use policy::{Policies, RewardPolicy, UnknownPolicy};
pub use reply::{Mode, Reply, Wave};
pub use state::{EngineParts, Limits};
pub use totals::Totals;
pub use usage::{CallerUse, usage_metrics};
