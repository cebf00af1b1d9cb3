//! How often the validator may look at values of a document. A schema may branch at each level into
//! itself, and a document may be as deep as it likes: some pairs would take longer than anyone
//! waits. The library has no way to be stopped, so the look that is one too many unwinds through
//! it, to the place where the count began.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::json::Json;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// What unwinds.
struct Spent;

/// How often the values of a document may be looked at.
pub(super) fn allowed(document: &Json) -> u64 {
    20_000_000 + 100 * document.parts()
}

/// Does what looks at values at most `visits` times; `None` where it would take more.
pub(super) fn within<T>(visits: u64, look: impl FnOnce() -> T) -> Option<T> {
    let before = LEFT.replace(visits);
    let looked = catch_unwind(AssertUnwindSafe(look));
    LEFT.set(before);
    match looked {
        Ok(value) => Some(value),
        Err(payload) if payload.is::<Spent>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// One look.
pub(super) fn visit() {
    match LEFT.get().checked_sub(1) {
        Some(left) => LEFT.set(left),
        // No hook is called: nothing has gone wrong.
        None => resume_unwind(Box::new(Spent)),
    }
}
