//! Grader `reward_model`: how good is it, to a model? Owns the forward passes, heads, texts and tokens of reward models, and the
//! one thread that runs them in batches. Owns no HTTP and no policy.

pub mod bench;
mod body;
mod compute;
mod config;
mod error;
mod family;
mod head;
mod network;
mod options;
mod raw;
mod sequence;
pub mod shapes;
pub mod synthetic;
mod weights;

pub use compute::Compute;
pub use error::LoadError;
pub use options::{FILE, ModelOptions};
pub use sequence::{Rows, Sequence};
