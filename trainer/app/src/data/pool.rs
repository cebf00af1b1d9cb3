//! Generated problems, in memory.

use assay_problems::{Mixture, Problem, Split};
use serde_json::value::{RawValue, to_raw_value};

use super::source::{DataError, Item, Source};

/// The first problems of a mixture, without repetition.
#[derive(Debug, Clone)]
pub struct Pool(Vec<Item>);

impl Pool {
    /// At most `limit` problems of one part of the split, in the order of the seed.
    ///
    /// # Errors
    /// [`DataError::Empty`] if no family has a problem in that part.
    pub fn new(
        mixture: &Mixture,
        split: Split,
        seed: u64,
        limit: usize,
    ) -> Result<Self, DataError> {
        let items: Vec<Item> = mixture
            .once(split, seed)
            .take(limit)
            .filter_map(item)
            .collect();
        if items.is_empty() {
            Err(DataError::Empty)
        } else {
            Ok(Self(items))
        }
    }
}

/// Converts a problem; always succeeds, because tasks are plain JSON.
fn item(problem: Problem) -> Option<Item> {
    let task: Box<RawValue> = to_raw_value(&problem.task).ok()?;
    let Problem {
        prompt,
        key,
        solution,
        ..
    } = problem;
    Some(Item {
        key,
        prompt,
        task,
        channel: None,
        solution: Some(solution),
    })
}

impl Source for Pool {
    fn size(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn problem(&self, index: u64) -> Option<Item> {
        self.0.get(usize::try_from(index).ok()?).cloned()
    }
}
