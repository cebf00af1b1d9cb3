//! Limits how often the validator visits values of a document. A schema may branch into itself at
//! each level and a document may be deep, so validation can take exponential time. The library
//! cannot be interrupted, so the visit that exceeds the limit unwinds through it to the function
//! that started counting.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::json::Json;

thread_local! {
    static VISITS_LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// The panic payload that marks an exceeded limit.
struct LimitExceeded;

/// Maximum number of visits for a document. The constant part is large enough for any schema on a
/// small document.
pub(super) fn limit_for(document: &Json) -> u64 {
    20_000_000 + 100 * document.parts()
}

/// Runs `validate` with at most `visits` visits; `None` if it exceeds them.
pub(super) fn with_limit<T>(visits: u64, validate: impl FnOnce() -> T) -> Option<T> {
    let before = VISITS_LEFT.replace(visits);
    let result = catch_unwind(AssertUnwindSafe(validate));
    VISITS_LEFT.set(before);
    match result {
        Ok(value) => Some(value),
        Err(payload) if payload.is::<LimitExceeded>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Counts one visit.
pub(super) fn count_visit() {
    match VISITS_LEFT.get().checked_sub(1) {
        Some(left) => VISITS_LEFT.set(left),
        // Does not call the panic hook, because this is not a bug.
        None => resume_unwind(Box::new(LimitExceeded)),
    }
}
