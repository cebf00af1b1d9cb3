//! Owns the killable processes in which untrusted work runs, and the messages exchanged with them.
//! Does not know graders, or the engines that run programs and queries: the [`Handlers`] of a
//! worker define what it does.
//!
//! A worker is the same binary in a hidden role ([`role`]). It reads framed requests from its
//! standard input and answers them one at a time. Its parent has a pool of workers
//! ([`WorkerPool`]), kills a worker that exceeds its timeout, and starts another in its place. If a
//! worker dies, its request is sent to another one; other requests are not affected.

mod child;
mod compute;
mod confine;
mod cpu_allowance;
mod death;
mod error;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod inherited;
mod lines;
pub mod metrics;
mod options;
mod permit;
mod pipeline;
mod pool;
mod process;
pub mod program;
pub mod query;
mod request;
mod scheduler;
mod slot;
mod validate;

pub use child::{Handlers, role};
pub use compute::compute;
pub use confine::{Confinement, ExecutableCode, Isolation, Mechanism, isolate};
pub use death::Death;
pub use error::WorkerError;
pub use frame::MAX_FRAME;
pub use inherited::{close_inherited, end_with_parent, ignore_stop_signals, survive_file_limits};
pub use options::WorkerOptions;
pub use permit::{UntrustedReply, WorkerPermit};
pub use pipeline::Pipeline;
pub use pool::WorkerPool;
pub use request::{Handler, Message, WorkerRequest};
