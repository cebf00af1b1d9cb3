//! Owns jobs: receives data sets in shards of whole groups, or selections of recorded grades,
//! grades the shards in the background, and returns their results. Grades with the engine, and
//! keeps all state in the record; does not depend on HTTP, and does not know keys.
//!
//! ```text
//! submission -> shards -> claim -> grading or replaying -> finish -> results
//! ```
//!
//! - `submission` receives the lines of a job, which `shards` divides, or selects the grades of a
//!   [`ReplayRequest`];
//! - `runner` claims shards with leases and decides what becomes of a shard that failed;
//! - `grading` grades the items of a shard as one batch;
//! - `replaying` grades the recorded grades of a shard again, and compares them;
//! - `shadows` grades a share of a run again as it is recorded;
//! - [`Results`] reads the results in the order of the lines.

mod error;
mod grading;
mod invalid_item;
mod jobs;
mod metrics;
mod owners;
mod parts;
mod promoted_fields;
mod replay_options;
mod replaying;
mod results;
mod runner;
mod settings;
mod shadows;
mod shard_error;
mod shards;
mod submission;
mod turns;

pub use error::JobError;
pub use jobs::Jobs;
pub use owners::Owners;
pub use parts::JobParts;
pub use results::Results;
pub use settings::{JobSettings, ShardLimits};
pub use submission::{JobRequest, ReplayRequest, Submission};
