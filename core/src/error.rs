//! The list of error codes. Each maps to one HTTP status and one stable string. The comments are
//! the rows of the tables in `docs/API.md`.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $status:literal;)*) => {
        /// Why a request was rejected or an item has no score. The string is part of the HTTP
        /// contract and never changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $code)] $variant,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The stable string.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// The HTTP status of a request that is rejected for this reason. Codes that only occur
            /// in the result of an item have the status of their batch, 200.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }
        }
    };
}

error_codes! {
    /// Send valid JSON. It does not support NaN and infinity; `pointer` locates them. Also for
    /// bodies that are incomplete or cannot be decompressed.
    MalformedJson = "malformed_json", 400;
    /// Correct the field at `pointer`: it is missing, has the wrong type, or is out of range.
    InvalidField = "invalid_field", 422;
    /// Correct the query parameter, path segment or header that the message names.
    InvalidParameter = "invalid_parameter", 400;
    /// A page of another site sent the request through a browser: send it from `/ui` or without a
    /// browser. Or the service listens on loopback and the host is not `localhost` or an address,
    /// which may be a DNS rebinding attack: use `localhost` or the address.
    OtherSite = "other_site", 403;
    /// Send a valid key; the message says what is wrong with this one.
    Unauthenticated = "unauthenticated", 401;
    /// Use a key with the role that the message names.
    Forbidden = "forbidden", 403;
    /// Retry after `Retry-After`; the message names the quota and when to retry.
    QuotaExceeded = "quota_exceeded", 429;
    /// Use a grader that the message lists as the `type` of the task.
    UnknownGrader = "unknown_grader", 422;
    /// Correct the field of the task at `pointer`, or of the row or the name of the template.
    InvalidTask = "invalid_task", 422;
    /// Flatten the value.
    TooDeep = "too_deep", 422;
    /// Make ids unique in the batch, or omit them.
    DuplicateId = "duplicate_id", 422;
    /// Send at least one item.
    EmptyBatch = "empty_batch", 422;
    /// Split the request. Also for more tokens than the queue of a reward model can hold.
    TooManyItems = "too_many_items", 413;
    /// Split the request. Also for a body that would take too much memory when parsed.
    BodyTooLarge = "body_too_large", 413;
    /// Send `application/json`, uncompressed or compressed with `gzip` or `zstd`.
    UnsupportedMedia = "unsupported_media", 415;
    /// Correct the policy at `pointer`, or use one policy for all items of a group.
    InvalidPolicy = "invalid_policy", 422;
    /// Use a policy that the message lists.
    UnknownPolicy = "unknown_policy", 422;
    /// Use a group statistic that the message lists.
    UnknownStatistic = "unknown_statistic", 422;
    /// Use a new idempotency key; this one was used with another body or another `Accept`.
    IdempotencyMismatch = "idempotency_mismatch", 422;
    /// Use a reward model that `GET /v1/reward-models` lists, or load it.
    UnknownModel = "unknown_model", 404;
    /// The reward model is loading or failed to load; see `GET /v1/reward-models/{name}`.
    ModelUnavailable = "model_unavailable", 503;
    /// Correct the source or option of the reward model that the message names; the current model
    /// stays.
    ModelNotLoadable = "model_not_loadable", 422;
    /// The reward model was replaced; read its version.
    ModelVersionMismatch = "model_version_mismatch", 409;
    /// The session has used up its work, its output, its calls or its log: start another one.
    SessionExhausted = "session_exhausted", 409;
    /// The state of the session is gone and cannot be restored by its log; start another one.
    SessionLost = "session_lost", 409;
    /// A sandbox worker failed for a reason other than the code. The session is unchanged: retry.
    CallFailed = "call_failed", 503;
    /// Timed out in the queue after `timeout_ms`; retry.
    DeadlineExceeded = "deadline_exceeded", 504;
    /// Retry after `Retry-After`.
    Overloaded = "overloaded", 429;
    /// Only from `/readyz`, while the node warms up; batches are already graded.
    Starting = "starting", 503;
    /// Retry, or use another node.
    ShuttingDown = "shutting_down", 503;
    /// Check the id or path.
    NotFound = "not_found", 404;
    /// Use a method that the path supports.
    MethodNotAllowed = "method_not_allowed", 405;
    /// The record cannot be read or written: retry, and see the node's log.
    StoreUnavailable = "store_unavailable", 503;
    /// An error of the service: report it with the request.
    Internal = "internal", 500;
    /// `ungradable`: the gold answer is empty or cannot be parsed.
    GoldUnparsable = "gold_unparsable", 200;
    /// `ungradable`: the gold answer exceeds the step budget.
    GoldTooCostly = "gold_too_costly", 200;
    /// `ungradable`: another error of the task.
    TaskAtFault = "task_at_fault", 200;
    /// `failed`: a bug of the grader; report it with the item.
    GraderPanicked = "grader_panicked", 200;
    /// `failed`: an image or feature of the grader is missing; the message states what to install.
    GraderUnavailable = "grader_unavailable", 200;
    /// `failed`: sandbox workers failed repeatedly for a reason other than the program; send the
    /// item again.
    SandboxFailed = "sandbox_failed", 200;
    /// `failed`: a judge did not reply, or its reply contains no verdict; the message states which
    /// and why.
    JudgeFailed = "judge_failed", 200;
    /// `failed`: the run has used up its budget of a judge; the operator can raise it.
    JudgeBudget = "judge_budget", 200;
    /// `failed`: the client disconnected before the item was graded.
    Cancelled = "cancelled", 200;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The structure of a task is invalid. The request that contains it is rejected before any work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} at `{pointer}`: {message}")]
pub struct TaskError {
    /// The error code.
    pub code: ErrorCode,
    /// JSON pointer to the field, relative to the task; empty for the task itself.
    pub pointer: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl TaskError {
    /// Creates an error at `pointer`.
    #[must_use]
    pub fn new(code: ErrorCode, pointer: &str, message: String) -> Self {
        Self {
            code,
            pointer: pointer.to_owned(),
            message,
        }
    }
}

/// An error of a field of a task.
pub fn invalid(pointer: &str, message: impl Into<String>) -> TaskError {
    TaskError::new(ErrorCode::InvalidTask, pointer, message.into())
}

/// Rejects a tolerance of numbers that is out of range.
///
/// # Errors
/// [`ErrorCode::InvalidTask`] at `/float_tolerance`.
pub fn check_tolerance(tolerance: f64) -> Result<(), TaskError> {
    if (0.0..=0.1).contains(&tolerance) {
        return Ok(());
    }
    let message = "`float_tolerance` must be between 0 and 0.1";
    Err(invalid("/float_tolerance", message))
}
