//! Grader `reward_model`: how good is it, to a model? Owns the forward passes, heads, texts and tokens of reward models, and the
//! one thread that runs them in batches. Owns no HTTP and no policy.

mod options;
mod sequence;
mod serving;

pub use options::{FILE, ModelOptions};
pub use sequence::{Rows, Sequence};
pub use serving::{Judged, Loader, METRICS, Model, Models, Reading, RunError, ServingOptions};
