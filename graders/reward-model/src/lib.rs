//! Grader `reward_model`: how good is it, to a model? Owns the forward passes, heads, texts and tokens of reward models, and the
//! one thread that runs them in batches. Owns no HTTP and no policy.

mod options;
mod pooling;
mod sequence;
mod text;

pub use options::{FILE, ModelOptions};
pub use pooling::Pooling;
pub use sequence::{Rows, Sequence};
pub use text::{Facts, Kind, Reader, ReaderError, Steps};
