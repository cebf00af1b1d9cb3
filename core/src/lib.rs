//! Types and traits that all crates of Assay share: items, tasks, outcomes, scores, and the traits
//! of graders and reward models. Contains no grader and uses no thread, socket or database.
//!
//! The types enforce the rules of the service:
//!
//! - [`Score`] and [`Reward`] reject numbers outside their range, so a reward is always finite;
//! - an [`Outcome`] that is not `Graded` contains a [`Fault`] and no number, so a failure of the
//!   service cannot become a reward of 0;
//! - a [`Grader`] turns a [`Task`] into a [`Prepared`] once; [`Prepared`] then grades all
//!   completions of the task.

pub mod aggregate;
pub mod background;
pub mod clock;
pub mod error;
pub mod evidence;
pub mod execution;
pub mod fair_permits;
pub mod grader;
mod grader_id;
pub mod hash;
pub mod heap;
pub mod item;
pub mod message;
mod message_forms;
mod metrics;
pub mod number;
mod option_order;
pub mod outcome;
pub mod reward_model;
pub mod spec;
pub mod table;
pub mod task;
pub mod worker_use;

pub use clock::{BatchId, GradeId, SessionId};
pub use clock::{Clock, Ids, SystemClock};
pub use error::{ErrorCode, TaskError};
pub use evidence::Evidence;
pub use fair_permits::{FairPermit, FairPermits};
pub use grader::{
    BoxFuture, CancelFlag, Checked, GradeContext, Grader, Nested, PrepareContext, Prepared,
    PureGrader,
};
pub use grader_id::{GraderId, MalformedGrader};
pub use hash::Hash;
pub use item::{Completion, Item, Meta};
pub use message::{ContentPart, Message, MessageContent};
pub use number::{Measure, OutOfRange, Reward, Score};
pub use option_order::option_order;
pub use outcome::{Component, Fault, Grade, Outcome, Step, Verdict};
pub use spec::{Lane, MeasureSpec, Spec, VerdictSpec};
pub use table::GraderTable;
pub use task::{RawJson, Task, TaskKind};
