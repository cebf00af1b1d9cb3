//! Owns interpreter sessions: which are open, what their calls left, their limits, their log and
//! its replay, and the grader of logs. Does not own workers: [`Interpreters`] runs a call.
//!
//! A session is the bytes of an instance that its last call left
//! ([`assay_worker::program::Called`]) and a journal, a file with all that is needed to run its
//! calls again. A call sends the bytes to any worker and replaces them by those that it returns, so
//! an open session needs no process.
//!
//! - `table`: the open sessions and their quotas;
//! - `session`: one session, and the order of its calls;
//! - `run`: a call, from its limits to what it leaves;
//! - `restore`, `replay`: calls of a journal that run again;
//! - `grader`: the grader of `session` tasks, which are logs;
//! - `frozen`: the states of all sessions, in memory up to a budget and in files;
//! - `journal`: the file of a session.

mod end;
mod error;
mod files;
mod frozen;
mod grader;
mod interpreters;
mod journal;
mod limits;
pub mod metrics;
mod opening;
mod replay;
mod restore;
mod run;
mod session;
mod table;

pub use error::SessionError;
pub use grader::SessionGrader;
pub use interpreters::{CallError, Interpreters};
pub use limits::Settings;
pub use table::{OpenError, Sender, Sessions};
