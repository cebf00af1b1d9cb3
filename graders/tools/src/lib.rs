//! Grader `tools`: are these the expected tool calls? Owns the turns of a trace, the comparison and
//! matching of calls, and declared effects on a state. Executes no code. `assay-documents` parses
//! the syntax of calls.
//!
//! # What it checks
//!
//! Calls in messages or in text are validated against the schemas of their tools. They are matched
//! with the expected calls argument by argument, or their declared effects are applied and the
//! resulting state is compared. Each turn of a trace is graded separately.
//!
//! # What it refuses
//!
//! A call that violates the syntax of its form is `malformed_call`; a completion without any call
//! is `no_call`. Calls are never repaired.
//!
//! # Known false positives
//!
//! - In `bfcl` mode, everything that BFCL accepts, such as `1.5` for `15` in strings.
//! - Without `tools`, arguments are not validated.
//!
//! # Known false negatives
//!
//! - Strings with the same meaning but different wording, unless the task lists them.
//!
//! # Example
//!
//! ```json
//! { "type": "tools", "tools": [{ "name": "weather", "parameters": { "type": "object" } }],
//!   "expected": [{ "name": "weather", "arguments": { "city": "Paris" } }] }
//! ```

mod bfcl;
mod checker;
mod compare;
mod evidence;
mod grade;
mod literals;
mod matching;
mod prepare;
mod python;
mod spec;
mod state;
mod task;
mod tool;
mod toolrl;
mod trace;
mod verdict;

pub use checker::{Calls, Checker};
pub use prepare::ToolsGrader;
pub use spec::SPEC;
