//! Owns the killable processes in which untrusted work runs, and the words spoken with them. Knows
//! no grader and no engine that runs programs or queries: what a worker does is what its
//! [`Handlers`] do.
//!
//! A worker is the same binary in a hidden role ([`role`]): it answers framed requests on its
//! standard input, one at a time. Its parent keeps a pool of them ([`Workers`]), kills one that
//! overruns its time and starts another in its place. A worker that dies costs its request another
//! attempt and affects no other request.

mod checked;
mod child;
mod compute;
mod confine;
mod death;
mod error;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod inherited;
mod lines;
pub mod metrics;
mod pool;
mod process;
pub mod program;
pub mod query;
mod request;

pub use child::{Handlers, role};
pub use compute::compute;
pub use confine::{Confinement, Isolation, Wall, isolate};
pub use death::Death;
pub use error::WorkerError;
pub use frame::MAX_FRAME;
pub use inherited::{close_inherited, end_with_parent, ignore_stop_signals, survive_file_limits};
pub use pool::{Settled, Turn, WorkerOptions, WorkerPool};
pub use request::{Handler, WorkerRequest};
