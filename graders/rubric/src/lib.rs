//! Grader `rubric`: does the completion meet the criteria? Owns how the grades of criteria are
//! combined. A criterion is a task of any grader; this crate grades none itself.
//!
//! # What it checks
//!
//! Each criterion is graded by its own grader. The score is computed from their scores by points,
//! with vetoes, stages, saturation and groups.
//!
//! # What it refuses
//!
//! A rubric of which a criterion could not be graded has no score, unless the rubric says how to go
//! on without it.
//!
//! # Known false positives
//!
//! - Those of the graders of its criteria.
//!
//! # Known false negatives
//!
//! - The same.
//!
//! # Example
//!
//! ```json
//! { "type": "rubric", "criteria": [
//!   { "name": "right", "task": { "type": "math", "answer": "4" }, "points": 3 },
//!   { "name": "boxed", "task": { "type": "text", "answer": "boxed", "match": "contains" } } ] }
//! ```

mod combine;
mod evidence;
mod grade;
mod offload;
mod prepare;
mod spec;
mod task;

pub use prepare::RubricGrader;
pub use spec::SPEC;
