//! JSON types of interpreter sessions: opening one, its calls, its log and its replay.

use std::collections::BTreeMap;

use assay_core::Hash;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Problem;

/// Content of a file: its text, or its bytes in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "a file must be a string or {\"base64\": \"...\"}"
)]
pub enum FileContent {
    /// A text, in UTF-8.
    Text(String),
    /// Bytes.
    Bytes {
        /// The bytes in base64.
        base64: String,
    },
}

/// Files by path, relative to the folder in which the code runs.
pub type Files = BTreeMap<String, FileContent>;

/// Limits of a session. Those of a call apply to each of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionLimits {
    /// Work of a call, in seconds of one core; above 0 and at most 60. Counted in instructions, so
    /// the same code always uses the same.
    pub seconds: f64,
    /// Work of all calls, in seconds; above 0 and at most 86,400.
    pub total_seconds: f64,
    /// Number of calls.
    #[schema(minimum = 1, maximum = 100_000)]
    pub calls: u32,
    /// Memory in MiB, including that of the interpreter.
    #[schema(minimum = 96, maximum = 2048)]
    pub memory_mb: u64,
    /// Standard output of a call, in KiB.
    #[schema(minimum = 1, maximum = 65_536)]
    pub output_kb: u64,
    /// Standard output and error of all calls, in KiB.
    #[schema(minimum = 1, maximum = 1_048_576)]
    pub total_output_kb: u64,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            seconds: 10.0,
            total_seconds: 600.0,
            calls: 1_000,
            memory_mb: 256,
            output_kb: 1_024,
            total_output_kb: 65_536,
        }
    }
}

/// A session to open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// Name of the session, at most 256 bytes. If the caller has an open session with this name, it
    /// is returned, and no other is opened.
    #[serde(default)]
    #[schema(example = "rollout-17", min_length = 1, max_length = 256)]
    pub name: Option<String>,
    /// Name of the language: `python`, `javascript`, `sql`, `cpp`, `c`, or a standard such as
    /// `c++23`.
    #[schema(example = "python")]
    pub language: String,
    /// Name of the image; by default the first one of the language.
    #[serde(default)]
    #[schema(example = "python-scientific")]
    pub image: Option<String>,
    /// Seed of the random numbers that code draws from the system.
    #[serde(default)]
    pub seed: u64,
    /// Files that exist at the first call, at most 256 and 4 MiB.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, FileContent>)]
    pub files: Files,
    /// Limits.
    #[serde(default)]
    pub limits: SessionLimits,
    /// Seconds without a call after which the session ends; by default, and at most, those of the
    /// node.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub idle_seconds: Option<u64>,
}

/// A call: code to run in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionCall {
    /// The code. The value of an expression at its end is returned, as a notebook displays it.
    #[schema(example = "x = 20\nx + 1")]
    pub code: String,
    /// What the code reads from standard input.
    #[serde(default)]
    pub stdin: String,
    /// Files that are written before the code runs, at most 256 and 4 MiB.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, FileContent>)]
    pub files: Files,
    /// Paths of files to return after the call, at most 256. Missing ones are left out.
    #[serde(default)]
    #[schema(max_items = 256)]
    pub fetch: Vec<String>,
    /// Work of this call, in seconds; at most that of the session, which is the default.
    #[serde(default)]
    pub seconds: Option<f64>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The code ran to its end.
    Ok,
    /// It raised an exception, or does not compile.
    Exception,
    /// It ended by an exit.
    Exited,
    /// It used up its work.
    OutOfWork,
    /// It needs more memory than the limit.
    OutOfMemory,
    /// It wrote more than the limit.
    OutOfOutput,
    /// What it left is larger than a session may be on this node.
    TooLarge,
}

impl CallOutcome {
    /// Every outcome.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::Exception,
        Self::Exited,
        Self::OutOfWork,
        Self::OutOfMemory,
        Self::OutOfOutput,
        Self::TooLarge,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Exception => "exception",
            Self::Exited => "exited",
            Self::OutOfWork => "out_of_work",
            Self::OutOfMemory => "out_of_memory",
            Self::OutOfOutput => "out_of_output",
            Self::TooLarge => "too_large",
        }
    }
}

/// How the node restored the state of a session after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restored {
    /// From the state that was stored.
    Frozen,
    /// By running its calls again, with the same outputs.
    Replayed,
}

impl Restored {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Frozen => "frozen",
            Self::Replayed => "replayed",
        }
    }
}

/// An exception of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExceptionBody {
    /// Last line of the traceback: the type and the message.
    pub message: String,
    /// Line of the call's code that raised it; null if it is not known.
    pub line: Option<u32>,
    /// The traceback. It names the code of a call by its number.
    pub traceback: String,
}

/// What a session may still use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionBudget {
    /// Work, in seconds.
    pub seconds: f64,
    /// Number of calls.
    pub calls: u32,
    /// Bytes of output.
    pub output_bytes: u64,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CallReply {
    /// Id of the session.
    pub session: String,
    /// Number of the call in its session, from 1.
    pub call: u32,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Value of the expression at the end of the code, as a notebook displays it; null if there is
    /// none.
    pub value: Option<String>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// The end of what it wrote to standard error.
    pub stderr: String,
    /// The exception, if it raised one.
    pub exception: Option<ExceptionBody>,
    /// Its exit status, if it exited.
    pub exit_status: Option<i32>,
    /// The files of `fetch` that exist, up to 16 MiB in total.
    #[schema(value_type = BTreeMap<String, FileContent>)]
    pub files: Files,
    /// Whether the session continues from what the call left. A call that exceeds a limit has no
    /// effect: the next one continues from the state before it.
    pub kept: bool,
    /// Work of the call, in instructions.
    pub work: u64,
    /// The same in seconds.
    pub seconds: f64,
    /// Peak memory in bytes, including that of the interpreter.
    pub memory_bytes: u64,
    /// What the session may still use.
    pub remaining: SessionBudget,
    /// BLAKE3 hash of the outcome, the value, the exception, the output and the returned files. The
    /// same calls always have the same.
    #[schema(value_type = String)]
    pub output_hash: Hash,
    /// How the session was restored if this is the first call after that; null otherwise.
    pub restored: Option<Restored>,
}

/// Where the state of a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// No call has left anything yet.
    New,
    /// In memory.
    Memory,
    /// In a file.
    Disk,
    /// It cannot be restored.
    Lost,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionBody {
    /// Its id.
    pub id: String,
    /// The name that it was opened with.
    pub name: Option<String>,
    /// Caller that opened it.
    pub caller: String,
    /// Language.
    pub language: String,
    /// Image in which its code runs.
    pub image: String,
    /// Hash of the image: 64 hexadecimal digits.
    pub image_hash: String,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Its limits.
    pub limits: SessionLimits,
    /// Number of its calls.
    pub calls: u32,
    /// What it may still use.
    pub remaining: SessionBudget,
    /// Where its state is.
    pub state: SessionState,
    /// Size of its state, in bytes.
    pub state_bytes: u64,
    /// Session of which it is a fork.
    pub forked_from: Option<String>,
    /// How it was restored, if it has had no call since then.
    pub restored: Option<Restored>,
    /// When it was opened, in microseconds since the Unix epoch.
    pub opened_us: i64,
    /// When its last call ended, or when it was opened, in microseconds since the Unix epoch.
    pub used_us: i64,
    /// When it ends without another call, in microseconds since the Unix epoch.
    pub expires_us: i64,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionsBody {
    /// The sessions, oldest first.
    pub sessions: Vec<SessionBody>,
    /// Value of `after` for the next page; null on the last page.
    pub next: Option<String>,
}

/// Forks to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ForkRequest {
    /// Number of forks.
    #[schema(minimum = 1, maximum = 256)]
    pub count: u32,
}

impl Default for ForkRequest {
    fn default() -> Self {
        Self { count: 1 }
    }
}

/// New forks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ForksBody {
    /// The forks.
    pub sessions: Vec<SessionBody>,
}

/// A session that was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndedBody {
    /// Its id.
    pub id: String,
    /// Number of its calls.
    pub calls: u32,
}

/// A call of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchCall {
    /// Id of the session.
    pub session: String,
    /// The call.
    pub run: SessionCall,
}

/// Calls of several sessions. Those of one session run in the order of the batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    /// The calls.
    #[schema(min_items = 1)]
    pub calls: Vec<BatchCall>,
}

/// The result of a call of a batch: a reply or an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchResult {
    /// Position of the call in the batch, from 0.
    pub index: usize,
    /// The reply; null if there is an error.
    pub reply: Option<CallReply>,
    /// Why the call did not run; null if it did.
    pub error: Option<Problem>,
}

/// The results of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchReply {
    /// One result for each call, in order.
    pub results: Vec<BatchResult>,
}

/// A call in the log of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoggedCall {
    /// Number of the call.
    pub call: u32,
    /// The code.
    pub code: String,
    /// BLAKE3 hash of the code.
    #[schema(value_type = String)]
    pub code_hash: Hash,
    /// Standard input.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdin: String,
    /// Files that were written before it.
    #[serde(default, skip_serializing_if = "Files::is_empty")]
    #[schema(value_type = BTreeMap<String, FileContent>)]
    pub files: Files,
    /// Paths of files that were returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetch: Vec<String>,
    /// Its limit on work, in instructions.
    pub work_limit: u64,
    /// Its limit on standard output, in bytes.
    pub output_limit: u64,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Whether the session continued from what it left.
    pub kept: bool,
    /// Its work, in instructions.
    pub work: u64,
    /// Hash of its outputs, see `output_hash` of a reply.
    #[schema(value_type = String)]
    pub output_hash: Hash,
    /// When it ended, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// The log of a session: all that is needed to run it again, and what it returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionLog {
    /// Id of the session.
    pub session: String,
    /// Language.
    pub language: String,
    /// Image in which its code ran.
    pub image: String,
    /// Hash of the image; hashes joined by `+` if it was exchanged.
    pub image_hash: String,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Limits.
    pub limits: SessionLimits,
    /// Files at the first call.
    #[serde(default, skip_serializing_if = "Files::is_empty")]
    #[schema(value_type = BTreeMap<String, FileContent>)]
    pub files: Files,
    /// The calls, in order.
    pub calls: Vec<LoggedCall>,
}

/// What differs between a logged call and its repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferingField {
    /// The code is not that of its hash: the log was changed.
    CodeHash,
    /// How it ended.
    Outcome,
    /// Whether the session continued from what it left.
    Kept,
    /// Its outputs.
    OutputHash,
    /// Its work. It is compared only in the same image.
    Work,
}

/// The first difference between a log and its replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayDifference {
    /// Number of the call.
    pub call: u32,
    /// What differs.
    pub field: DifferingField,
    /// The value in the log.
    pub logged: String,
    /// The value of the replay.
    pub replayed: String,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionReplay {
    /// Whether every call ended as in the log, with the same outputs.
    pub equal: bool,
    /// Number of calls that were run again.
    pub calls: u32,
    /// Hash of the image in which they ran.
    pub image_hash: String,
    /// Whether it is the image of the log.
    pub same_image: bool,
    /// The first difference, after which the replay stops; null if there is none.
    pub difference: Option<ReplayDifference>,
}
