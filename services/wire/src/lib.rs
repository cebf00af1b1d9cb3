//! Owns the JSON of requests and replies and its OpenAPI schemas. Does not own transport or
//! grading.

pub mod adjudications;
pub mod alerts;
pub mod audit;
pub mod channels;
pub mod checks;
pub mod comments;
pub mod costs;
pub mod grades;
pub mod jobs;
pub mod pairs;
mod parsed;
pub mod problem;
mod raw_object;
mod reading;
pub mod ready;
pub mod replays;
pub mod reply;
pub mod request;
pub mod reward_models;
pub mod runs;
pub mod scoring;
mod selection;
pub mod sessions;
pub mod shadows;
pub mod storage;
pub mod unicode;
mod warning;

pub use parsed::{Parsed, Scanner, parsed};
pub use problem::{Problem, ProblemBody};
pub use raw_object::RawObject;
pub use reading::DecodeLimits;
pub use ready::ReadyBody;
pub use request::{
    Decoded, GradeRequest, ItemRequest, OwnForm, ReadTask, TemplateTask, Unexpanded, decode,
    fits_path,
};
pub use selection::{Selected, Selection};
pub use warning::Warning;
