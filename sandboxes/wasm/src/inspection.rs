//! Entry points of the test that compares restored instances with fresh ones, and of the
//! measurement of sessions. Not part of the API.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_worker::program::Call;

use crate::ProgramHandler;
use crate::instances::Role;
use crate::session::Thawed;

/// How instances came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Fresh instances that served runs.
    pub created: u64,
    /// Instances that were restored after a run.
    pub restored: u64,
}

/// A restored instance that waits for its next run, compared with a fresh one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// What the instance is used for.
    pub role: String,
    /// Size of its memory in bytes.
    pub bytes: usize,
    /// Number of its mutable globals.
    pub globals: usize,
    /// What differs, in words; empty if nothing does.
    pub differences: Vec<String>,
}

/// The counts of an image, in the order of the table of languages.
#[must_use]
pub fn counts(programs: &ProgramHandler, image: usize) -> Option<Counts> {
    let counts = &programs.interpreter(image)?.instances.counts;
    Some(Counts {
        created: counts.created.load(Ordering::Relaxed),
        restored: counts.restored.load(Ordering::Relaxed),
    })
}

/// Compares all waiting instances of an image with a fresh one.
#[must_use]
pub fn compare(programs: &ProgramHandler, image: usize) -> Vec<Comparison> {
    let roles = Role::ALL.into_iter();
    let Some(image) = programs.interpreter(image) else {
        return Vec::new();
    };
    roles
        .filter_map(|role| {
            image.instances.compare(role, |waiting, fresh| {
                let mut differences = Vec::new();
                let (memory, expected) = (waiting.memory(), fresh.memory());
                if memory.len() != expected.len() {
                    differences.push(format!("{} bytes, not {}", memory.len(), expected.len()));
                }
                if memory != expected {
                    let first = memory
                        .iter()
                        .zip(expected)
                        .position(|(one, other)| one != other);
                    differences.push(format!("memory from byte {first:?}"));
                }
                let bytes = memory.len();
                let (globals, expected) = (waiting.globals(), fresh.globals());
                if globals != expected {
                    differences.push(format!("globals: {globals:?}, not {expected:?}"));
                }
                Comparison {
                    role: format!("{role:?}"),
                    bytes,
                    globals: globals.len(),
                    differences,
                }
            })
        })
        .collect()
}

/// Thaws the instance of a call and discards it. Returns whether it can be thawed.
#[must_use]
pub fn thaw(programs: &ProgramHandler, image: usize, call: &Call) -> bool {
    let Some(image) = programs.interpreter(image) else {
        return false;
    };
    let Ok(thawed) = Thawed::of(image, call) else {
        return false;
    };
    image.instances.keep_buffer(thawed.segments);
    image.finish(&AtomicBool::new(false), Role::Session, thawed.guest);
    true
}
