//! Structured output of models: JSON trees with exact numbers, their comparison, JSON Schema
//! validation, and tool calls in every text form that models use. Shared by the graders that read
//! such documents; returns no verdicts.

pub mod calls;
pub mod json;
pub mod schema;

pub use json::{Json, SyntaxError};
pub use schema::Schema;
