//! Grader `tools`: are these the expected tool calls? Owns turns of a trace, comparison of
//! calls, matching, and declared effects on a state. Executes no code. The syntax of calls is
//! parsed by `assay-documents`.
//!
//! # What it checks
//!
//! Calls in messages or in text are checked against their tools' schemas and matched with the
//! expected ones, argument by argument; or followed through declared effects to the state they
//! leave. Turns of a trace are graded one by one.
//!
//! # What it refuses
//!
//! A call that violates the syntax of its form is `malformed_call`, which is distinct from no call
//! at all. Nothing is repaired.
//!
//! # Known false positives
//!
//! - In `bfcl` mode, everything that BFCL accepts, such as `1.5` for `15` in strings.
//! - Without `tools` no schema is checked.
//!
//! # Known false negatives
//!
//! - Strings with the same meaning and different wording, unless the task lists them.
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
