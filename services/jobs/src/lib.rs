//! Owns jobs: receives data sets in shards of whole groups, grades the shards in the background,
//! and returns their results. Grades with the engine, and keeps all state in the record; does not
//! depend on HTTP, and does not know keys.
//!
//! ```text
//! submission -> shards -> claim -> batch of the engine -> finish -> results
//! ```
//!
//! - [`Submission`] receives the lines of a job; `shards` divides them;
//! - `runner` claims shards with leases and decides what becomes of a shard that failed;
//! - `grading` grades a shard as one batch;
//! - [`Results`] reads the results in the order of the lines.

mod error;
mod grading;
mod invalid_item;
mod jobs;
mod owners;
mod parts;
mod results;
mod runner;
mod settings;
mod shards;
mod submission;
mod turns;

pub use error::JobError;
pub use jobs::Jobs;
pub use owners::Owners;
pub use parts::JobParts;
pub use results::Results;
pub use settings::{JobSettings, ShardLimits};
pub use submission::{JobRequest, Submission};
