//! A batch as the engine takes it: decoded, its shape checked by nobody yet.

use std::sync::{Arc, OnceLock};

use assay_core::{Hash, Item, Task};
use assay_correction::Statistic;

use crate::{BodyPermit, RewardPolicy};

/// One item with its task.
#[derive(Debug, Clone)]
pub struct BatchItem {
    /// The item's id, as sent.
    pub id: Option<String>,
    /// The item's group, as sent; an item without one is a group of one.
    pub group: Option<String>,
    /// Name under which the prompt's history is kept.
    pub prompt_key: Option<String>,
    /// What makes its reward, if not the batch's policy; the same for all items of a group.
    pub policy: Option<RewardPolicy>,
    /// Task family, the second half of the channel.
    pub channel: Option<String>,
    /// What is graded.
    pub item: Item,
    /// How.
    pub task: Task,
    /// Further tasks by name, graded beside it.
    pub checks: Vec<(String, Task)>,
    completion_hash: OnceLock<Hash>,
    prompt_hash: OnceLock<Option<Hash>>,
}

impl BatchItem {
    /// An item graded by `task`, without any of the optional fields.
    #[must_use]
    pub fn new(item: Item, task: Task) -> Self {
        Self {
            id: None,
            group: None,
            prompt_key: None,
            policy: None,
            channel: None,
            item,
            task,
            checks: Vec::new(),
            completion_hash: OnceLock::new(),
            prompt_hash: OnceLock::new(),
        }
    }

    /// The completion's name, hashed once.
    #[must_use]
    pub fn completion_hash(&self) -> Hash {
        *self
            .completion_hash
            .get_or_init(|| self.item.completion.hash())
    }

    /// The prompt's name, hashed once; `None` without a prompt.
    #[must_use]
    pub fn prompt_hash(&self) -> Option<Hash> {
        *self
            .prompt_hash
            .get_or_init(|| self.item.prompt.as_ref().map(assay_core::Completion::hash))
    }

    /// All its tasks: its own without a name, then the checks.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (Option<&str>, &Task)> {
        std::iter::once((None, &self.task)).chain(
            self.checks
                .iter()
                .map(|(name, task)| (Some(name.as_str()), task)),
        )
    }

    /// The task at `part`: 0 is the item's own, the checks follow.
    #[must_use]
    pub fn part(&self, part: usize) -> Option<&Task> {
        match part.checked_sub(1) {
            None => Some(&self.task),
            Some(check) => self.checks.get(check).map(|(_, task)| task),
        }
    }
}

/// The items of one request.
#[derive(Debug)]
pub struct Batch {
    /// Who sent it.
    pub caller: Arc<str>,
    /// Name of the training run.
    pub run: Option<Arc<str>>,
    /// Step of the run.
    pub step: Option<i64>,
    /// What makes rewards from scores.
    pub policy: RewardPolicy,
    /// Group statistics beside the mean.
    pub statistics: Vec<Statistic>,
    /// The items, in the order of the reply.
    pub items: Vec<BatchItem>,
    /// Counts the memory of the request until the batch and its reply are dropped, which may be
    /// after the client has disconnected.
    pub held: Option<BodyPermit>,
}

impl Batch {
    /// What makes the rewards of an item of this batch.
    #[must_use]
    pub fn policy_of<'a>(&'a self, item: &'a BatchItem) -> &'a RewardPolicy {
        item.policy.as_ref().unwrap_or(&self.policy)
    }

    /// A batch of `items` from `caller` without any of the optional fields.
    #[must_use]
    pub fn new(caller: &str, items: Vec<BatchItem>) -> Self {
        Self {
            caller: caller.into(),
            run: None,
            step: None,
            policy: RewardPolicy::default(),
            statistics: Vec::new(),
            items,
            held: None,
        }
    }
}
