//! Grader `reward_model`: how good is it, to a model? Owns the forward passes, heads, texts and
//! tokens of reward models, and the one thread that runs them in batches. Owns no HTTP and no
//! policy.
//!
//! The way of an input: `text/` (templates, tokens) → `serving/` (queue, batches, one device) →
//! `network.rs` (`body/`, then `head/`) → `normalise.rs`. `model.rs` puts one model together from
//! its directory, `grader/` asks models for tasks.

pub mod bench;
mod body;
mod compute;
#[doc(hidden)]
pub mod fuzzing;
mod grader;
mod head;
mod loader;
mod model;
mod network;
mod normalise;
mod options;
mod pooling;
mod sequence;
mod serving;
pub mod shapes;
mod text;

pub use compute::Compute;
pub use grader::{RewardModelGrader, SPEC};
pub use loader::{DirectoryLoader, Fetch, MayFetch, is_hub_name};
pub use model::RewardModel;
pub use options::{FILE, ModelOptions};
pub use pooling::Pooling;
pub use sequence::{Rows, Sequence};
pub use serving::{Judged, Loader, METRICS, Model, Models, Reading, RunError, ServingOptions};
pub use text::{Facts, Kind, Reader, ReaderError, Steps};
