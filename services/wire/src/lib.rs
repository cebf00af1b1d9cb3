//! Owns the JSON of requests and replies and its OpenAPI schemas. Owns no socket and no grading.

pub mod channels;
pub mod grades;
pub mod problem;
pub mod reply;
pub mod request;

pub use problem::{Problem, ProblemBody};
pub use request::{DecodeLimits, Decoded, GradeRequest, ItemRequest, Warning, decode};
