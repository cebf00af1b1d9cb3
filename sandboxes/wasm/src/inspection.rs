//! Entry points of the test that compares restored instances with fresh ones. Not part of the API.

use std::sync::atomic::Ordering;

use crate::ProgramHandler;
use crate::instances::Role;

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
    let counts = &programs.instances(image)?.counts;
    Some(Counts {
        created: counts.created.load(Ordering::Relaxed),
        restored: counts.restored.load(Ordering::Relaxed),
    })
}

/// Compares all waiting instances of an image with a fresh one.
#[must_use]
pub fn compare(programs: &ProgramHandler, image: usize) -> Vec<Comparison> {
    let roles = Role::ALL.into_iter();
    let Some(instances) = programs.instances(image) else {
        return Vec::new();
    };
    roles
        .filter_map(|role| {
            instances.compare(role, |waiting, fresh| {
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
