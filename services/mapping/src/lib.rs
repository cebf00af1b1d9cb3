//! Converts requests to batches of the engine, and results to replies. The HTTP API and the command
//! line, which grades without a server, share it. Contains no HTTP.

pub mod batch;
pub mod grades;
pub mod invalid_line;
pub mod render;
pub mod runs;
mod template_tasks;

pub use template_tasks::{FindLog, TemplateTasks};
