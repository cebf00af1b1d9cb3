//! Owns the way of a batch: `plan -> grade -> appeal -> compose -> correct -> record`. Knows no
//! HTTP and no database.
//!
//! The way is readable in one function, [`Engine::grade`]; each stage is a module of its name.
//! Grading runs on worker threads of its own, apart from the async runtime, so that a slow verdict
//! never delays a reply that needs none.

mod admission;
mod appeal;
mod batch;
mod cache;
mod channels;
mod checks;
mod compose;
mod context;
mod correct;
mod engine;
mod error;
mod grade;
mod idempotency;
mod ledger;
pub mod metrics;
mod pairs;
mod plan;
mod policy;
mod record;
mod replay;
mod reply;
mod shared;
mod suggest;
mod warm;
mod workers;

pub use admission::{Admission, BodyPermit, Permit};
pub use batch::{Batch, BatchItem};
pub use channels::{ChannelError, Draws};
pub use checks::NewCheck;
pub use engine::{Engine, LAST_REPLIES, Mode, RECORD_CLOSE};
pub use error::EngineError;
pub use idempotency::{Answer, Keyed, Render};
pub use ledger::ChannelSettings;
pub use pairs::{Collected, NewPair};
pub use policy::{Policies, RewardPolicy, UnknownPolicy};
pub use replay::{Replay, ReplayError, ReplayOptions, Side};
pub use reply::{ChannelRates, GroupResult, ItemResult, Reply, Wave};
pub use shared::{EngineParts, Limits};
pub use suggest::{SuggestError, Suggested, Wish};
