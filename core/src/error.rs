//! The list of error codes. Each maps to one HTTP status and one stable string.

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
    /// The body is not JSON.
    MalformedJson = "malformed_json", 400;
    /// A field is missing, has the wrong type or is out of range.
    InvalidField = "invalid_field", 422;
    /// A query parameter or path segment is wrong.
    InvalidParameter = "invalid_parameter", 400;
    /// A browser sent the request on behalf of a page of another site.
    OtherSite = "other_site", 403;
    /// The node requires a key, and the request has none that is valid.
    Unauthenticated = "unauthenticated", 401;
    /// The key does not have the role that the endpoint needs.
    Forbidden = "forbidden", 403;
    /// A quota of the key is exceeded; retry after the time in `Retry-After`.
    QuotaExceeded = "quota_exceeded", 429;
    /// The `type` of a task is not a known grader.
    UnknownGrader = "unknown_grader", 422;
    /// The body of a task is not valid for its grader.
    InvalidTask = "invalid_task", 422;
    /// A JSON value is nested too deeply.
    TooDeep = "too_deep", 422;
    /// Two items of one batch have the same id.
    DuplicateId = "duplicate_id", 422;
    /// The batch has no items.
    EmptyBatch = "empty_batch", 422;
    /// The batch has too many items.
    TooManyItems = "too_many_items", 413;
    /// The body exceeds the size limit, compressed or decompressed.
    BodyTooLarge = "body_too_large", 413;
    /// The `Content-Encoding` or `Content-Type` of the body is not supported.
    UnsupportedMedia = "unsupported_media", 415;
    /// A policy is invalid, or the policies of a batch conflict.
    InvalidPolicy = "invalid_policy", 422;
    /// No policy has this name.
    UnknownPolicy = "unknown_policy", 422;
    /// No group statistic has this name.
    UnknownStatistic = "unknown_statistic", 422;
    /// The idempotency key was used before with another body or another `Accept`.
    IdempotencyMismatch = "idempotency_mismatch", 422;
    /// No reward model has this name.
    UnknownModel = "unknown_model", 404;
    /// The reward model is not loaded yet, or failed to load.
    ModelUnavailable = "model_unavailable", 503;
    /// No reward model can be loaded from the directory or hub name with these options.
    ModelNotLoadable = "model_not_loadable", 422;
    /// The version of the reward model is not the one that the request expects.
    ModelVersionMismatch = "model_version_mismatch", 409;
    /// The request timed out in the queue.
    DeadlineExceeded = "deadline_exceeded", 504;
    /// The queue is full; retry after the time in `Retry-After`.
    Overloaded = "overloaded", 429;
    /// The node is warming up: it accepts batches but is not yet at full speed.
    Starting = "starting", 503;
    /// The node is shutting down.
    ShuttingDown = "shutting_down", 503;
    /// There is no object with this id or path.
    NotFound = "not_found", 404;
    /// The path does not support this method.
    MethodNotAllowed = "method_not_allowed", 405;
    /// The record cannot be read or written.
    StoreUnavailable = "store_unavailable", 503;
    /// An internal error of the service.
    Internal = "internal", 500;
    /// The gold answer of the task is empty or cannot be parsed.
    GoldUnparsable = "gold_unparsable", 200;
    /// The gold answer of the task exceeds the step budget.
    GoldTooCostly = "gold_too_costly", 200;
    /// The task is at fault for another reason.
    TaskAtFault = "task_at_fault", 200;
    /// The grader panicked on this item.
    GraderPanicked = "grader_panicked", 200;
    /// The image or feature of the grader is missing.
    GraderUnavailable = "grader_unavailable", 200;
    /// A sandbox worker failed twice.
    SandboxFailed = "sandbox_failed", 200;
    /// The batch was cancelled before this item was graded.
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
