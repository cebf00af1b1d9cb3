//! One list of error codes: each maps to one HTTP status, one stable string and one exit code.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $status:literal;)*) => {
        /// Why a request was refused or an item has no score. The string is part of the HTTP
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

            /// The HTTP status a request refused for this reason answers with. Codes that only ever
            /// stand in a result of an item carry the status their batch answers with: 200.
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
    /// A page of another site had a browser send the request.
    OtherSite = "other_site", 403;
    /// No grader has the name in a task's `type`.
    UnknownGrader = "unknown_grader", 422;
    /// A task's body does not fit its grader.
    InvalidTask = "invalid_task", 422;
    /// A JSON value nests too deep.
    TooDeep = "too_deep", 422;
    /// Two items of one batch have the same id.
    DuplicateId = "duplicate_id", 422;
    /// The batch has no item.
    EmptyBatch = "empty_batch", 422;
    /// The batch has more items than a batch may have.
    TooManyItems = "too_many_items", 413;
    /// The body is larger than the limit, as sent or unpacked.
    BodyTooLarge = "body_too_large", 413;
    /// The body's `Content-Encoding` or `Content-Type` is not one the service reads.
    UnsupportedMedia = "unsupported_media", 415;
    /// A policy is written wrong, or its items disagree.
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
    /// The directory, hub name or options do not make a reward model.
    ModelNotLoadable = "model_not_loadable", 422;
    /// The reward model has another version than the request expects.
    ModelVersionMismatch = "model_version_mismatch", 409;
    /// The request's timeout ran out before its turn came.
    DeadlineExceeded = "deadline_exceeded", 504;
    /// Too much work is waiting; retry after the time in `Retry-After`.
    Overloaded = "overloaded", 429;
    /// The node is warming up: it accepts batches but is not yet at full speed.
    Starting = "starting", 503;
    /// The node is shutting down.
    ShuttingDown = "shutting_down", 503;
    /// Nothing has this id or path.
    NotFound = "not_found", 404;
    /// The path exists, but not for this method.
    MethodNotAllowed = "method_not_allowed", 405;
    /// The record cannot be read or written.
    StoreUnavailable = "store_unavailable", 503;
    /// A fault of ours without a better name.
    Internal = "internal", 500;
    /// The task's gold answer is empty or cannot be read.
    GoldUnparsable = "gold_unparsable", 200;
    /// The task's gold answer needs more work than the step budget allows.
    GoldTooCostly = "gold_too_costly", 200;
    /// Something else about the task is at fault.
    TaskAtFault = "task_at_fault", 200;
    /// The grader panicked on this item.
    GraderPanicked = "grader_panicked", 200;
    /// The grader's image or feature is missing.
    GraderUnavailable = "grader_unavailable", 200;
    /// A sandbox gave no answer, twice.
    SandboxFailed = "sandbox_failed", 200;
    /// The batch was cancelled before this item was graded.
    Cancelled = "cancelled", 200;
}

impl ErrorCode {
    /// Exit code of a command that ends for this reason: 2, a usage or internal error.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        2
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
