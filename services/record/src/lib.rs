//! Owns the record: its data, a spool that makes entries durable before they are acknowledged, and
//! the database to which they are applied and from which they are read. Does not grade, does not
//! depend on HTTP, and does not decide what is recorded.
//!
//! ```text
//! record -> compress and frame -> one write and fdatasync per group -> acknowledged -> database
//! read   -> wait until the pending entries that matter are applied  -> a state of the database
//! ```
//!
//! - the data: `grade`, `body`, `event`, `entry`, `chart`, `rollup`, `access` and others;
//! - [`Record`] opens the record, appends entries and closes it; `scope` restricts it to a caller;
//! - `spool`: segment files, group commit, recovery after a crash;
//! - `pending`: entries that are not in the database yet, in bounded memory;
//! - `writer`: applies them, retries while the database is unavailable, and sets aside entries that
//!   it rejects;
//! - `database`: the connections, and the statements that insert, delete and decode;
//! - `read`: what reads wait for, and a file for each kind of data with the reads of [`Record`]
//!   beside their SQL;
//! - `hold`: which node grades a request, if several share the record; `exclusion`: which one draws
//!   grades for operators;
//! - `job_queue`: the jobs of nodes, and which node grades each shard;
//! - `retention`: deletes in the background;
//! - `text_completion`: completes the index of texts in the background;
//! - `backup` and `verify`: commands on a record that a node may be using;
//! - `copy`: copies a record that no node uses to another database.

pub mod access;
mod annotate;
pub mod answers;
pub mod appeal;
mod backup;
pub mod body;
pub mod channel;
pub mod channel_part;
pub mod chart;
mod checksum;
pub mod comment;
mod copy;
pub mod cost;
mod database;
pub mod dataset_check;
pub mod entry;
mod error;
pub mod event;
mod exclusion;
pub mod facts;
#[doc(hidden)]
pub mod fuzzing;
pub mod grade;
mod grade_filter;
mod group;
mod health;
mod held_request;
mod hold;
#[doc(hidden)]
pub mod hook;
pub mod job;
mod job_queue;
mod legacy;
pub mod metrics;
pub mod missing;
pub mod names;
mod new_grade;
mod options;
pub mod pair;
mod panics;
mod pending;
pub mod prompt_changes;
pub mod prompt_history;
pub mod prompt_list;
mod read;
mod record;
mod retention;
mod retention_step;
pub mod rollup;
pub mod run_list;
pub mod run_notes;
mod run_summary;
mod scope;
mod server_file;
mod set_aside;
pub mod shadow;
mod shadow_queue;
pub mod signals;
mod spool;
mod state;
pub mod storage;
mod text_completion;
mod text_pattern;
mod text_query;
mod verify;
mod writer;

pub use appeal::Appeal;
pub use backup::{Backup, BackupError, backup};
pub use body::{Body, BodyKind};
pub use copy::{CopyError, CopyProgress, TableCopy, copy};
pub use database::RecordAccess;
pub use entry::{Claim, Entry, RequestKey, SealedReply};
pub use error::RecordError;
pub use event::Event;
pub use exclusion::Exclusion;
pub use grade::{ComponentGrade, GradeSource, ItemGrade, RewardBreakdown, StoredGrade};
pub use grade_filter::{GradeFilter, GradePage, KindCounts, Neighbours};
pub use group::GroupResult;
pub use hold::Hold;
pub use new_grade::NewGrade;
pub use options::{Acknowledge, RecordOptions};
pub use read::recent::{RecentChannel, RecentRun};
pub use record::{OpenError, Record, append_audit, database_file, open_access};
pub use run_summary::RunSummary;
pub use server_file::{PublishedServer, publish_server, published_server};
pub use set_aside::set_aside_entries;
pub use spool::OpenSpoolError;
pub use state::{RecordState, Retried, SetAside};
pub use text_query::{TextQuery, TextQueryError};
pub use verify::{Damage, Verification, verify};

/// How long a claim under an idempotency key is kept: a day, in microseconds.
pub const CLAIM_LIFETIME_US: i64 = 24 * 60 * 60 * 1_000_000;
