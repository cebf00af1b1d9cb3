//! The tasks that passed their check, so that a task is checked once although a file of items, a
//! template and the pipeline each check it before it is prepared.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_core::Hash;

/// Number of tasks after which all are forgotten, which is more than the tasks of most batches.
/// They then use about 1.5 MiB.
const MAX_TASKS: usize = 32_768;

/// The tasks that passed their check.
#[derive(Debug, Default)]
pub(crate) struct CheckedTasks(Mutex<HashSet<Hash>>);

impl CheckedTasks {
    pub(crate) fn insert(&self, task: Hash) {
        let mut tasks = self.lock();
        if tasks.len() >= MAX_TASKS {
            tasks.clear();
        }
        tasks.insert(task);
    }

    pub(crate) fn contains(&self, task: Hash) -> bool {
        self.lock().contains(&task)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Hash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_tasks_when_there_are_too_many() {
        let checked = CheckedTasks::default();
        let hash = |at: usize| Hash::of(&at.to_le_bytes());
        for at in 0..=MAX_TASKS {
            checked.insert(hash(at));
        }
        assert!(checked.contains(hash(MAX_TASKS)) && !checked.contains(hash(0)));
        assert_eq!(checked.lock().len(), 1);
    }
}
