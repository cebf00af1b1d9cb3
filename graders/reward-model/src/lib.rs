//! Grader `reward_model`: scores completions with reward models. Owns templates, tokenisation,
//! forward passes and heads of reward models, and the thread that runs them in batches. Owns no
//! HTTP and no reward policy.
//!
//! An input passes through `text/` (templates, tokens), `serving/` (queue, batches, device),
//! `network.rs` (`backbone/`, then `head/`) and `normalise.rs`. `model.rs` loads a model from its
//! directory. `grader/` grades tasks with the models.

mod backbone;
pub mod bench;
mod compute;
#[doc(hidden)]
pub mod fuzzing;
mod gpu;
mod grader;
mod head;
mod loader;
mod model;
mod network;
mod normalise;
mod options;
mod pooling;
mod scale;
mod sequence;
mod serving;
pub mod shapes;
mod text;

pub use compute::Compute;
pub use gpu::{AttentionKernel, GpuOptions, ProductRows};
pub use grader::{RewardModelGrader, SPEC};
pub use loader::{DirectoryLoader, Fetch, MayFetch, is_hub_name};
pub use model::RewardModel;
pub use options::{FILE, ModelOptions};
pub use pooling::Pooling;
pub use scale::{NoScale, RawScale};
pub use sequence::{Rows, Sequence};
pub use serving::{
    Loader, METRICS, Model, Models, RewardScore, RunError, ServingOptions, TokenisedInput,
};
pub use text::{InputKind, InputReader, InputReaderError, ModelProperties, StepMarkers};
