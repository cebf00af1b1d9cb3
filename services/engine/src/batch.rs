//! A batch as the engine accepts it: decoded, but its tasks are not checked yet.

use std::sync::{Arc, OnceLock};

use assay_core::{Hash, Item, Task};
use assay_rewards::Statistic;

use crate::{Allowance, MemoryPermit, RewardPolicy};

/// One item with its task.
#[derive(Debug, Clone)]
pub struct BatchItem {
    /// The item's id, as sent.
    pub id: Option<String>,
    /// The item's group, as sent; an item without a group is a group of one.
    pub group: Option<String>,
    /// Key of the prompt's history.
    pub prompt_key: Option<String>,
    /// Its reward policy, if it differs from the batch's; the same for all items of a group.
    pub policy: Option<RewardPolicy>,
    /// Task family, the second half of the channel.
    pub channel: Option<String>,
    /// The completion, with its prompt and metadata.
    pub item: Item,
    /// What the completion should achieve, and how to check it.
    pub task: Task,
    /// Additional tasks by name.
    pub checks: Vec<(String, Task)>,
    completion_hash: OnceLock<Hash>,
    prompt_hash: OnceLock<Option<Hash>>,
}

impl BatchItem {
    /// Returns an item with this task and no optional fields.
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

    /// Hash of the completion; computed on first use.
    #[must_use]
    pub fn completion_hash(&self) -> Hash {
        *self
            .completion_hash
            .get_or_init(|| self.item.completion.hash())
    }

    /// Hash of the prompt; computed on first use. `None` without a prompt.
    #[must_use]
    pub fn prompt_hash(&self) -> Option<Hash> {
        *self
            .prompt_hash
            .get_or_init(|| self.item.prompt.as_ref().map(assay_core::Completion::hash))
    }

    /// Its tasks: the item's own without a name, then the checks.
    #[must_use = "iterators are lazy"]
    pub fn tasks(&self) -> impl Iterator<Item = (Option<&str>, &Task)> {
        std::iter::once((None, &self.task)).chain(
            self.checks
                .iter()
                .map(|(name, task)| (Some(name.as_str()), task)),
        )
    }

    /// The task with this index: 0 is the item's own task, the checks follow.
    #[must_use]
    pub fn part(&self, part: usize) -> Option<&Task> {
        match part.checked_sub(1) {
            None => Some(&self.task),
            Some(check) => self.checks.get(check).map(|(_, task)| task),
        }
    }
}

/// Key of the item's history. Items with the same prompt and task have the same key in all runs and
/// steps.
pub(crate) fn prompt_key(item: &BatchItem) -> String {
    if let Some(key) = &item.prompt_key {
        return key.clone();
    }
    let prompt = item.prompt_hash();
    let prompt = prompt.as_ref().map_or(&[][..], |hash| hash.as_bytes());
    let mut key = Hash::of_parts(&[prompt, item.task.hash().as_bytes()]).to_string();
    key.truncate(16);
    key
}

/// The items of one request.
#[derive(Debug)]
pub struct Batch {
    /// Name of the key that sent it.
    pub caller: Arc<str>,
    /// Whose share of the node it uses: the caller, or the address and run of one without a key.
    pub share: Arc<str>,
    /// Name of the training run.
    pub run: Option<Arc<str>>,
    /// Step of the run.
    pub step: Option<i64>,
    /// The reward policy of items that have none of their own.
    pub policy: RewardPolicy,
    /// Group statistics to compute in addition to the mean.
    pub statistics: Vec<Statistic>,
    /// The items, in the order of the reply.
    pub items: Vec<BatchItem>,
    /// Counts the memory of the request until the batch and its reply are dropped, which may be
    /// after the client has disconnected.
    pub held: Option<MemoryPermit>,
    /// What its key may use; `None` without limits.
    pub allowance: Option<Arc<dyn Allowance>>,
}

impl Batch {
    /// The reward policy of an item of this batch.
    #[must_use]
    pub fn policy_of<'a>(&'a self, item: &'a BatchItem) -> &'a RewardPolicy {
        item.policy.as_ref().unwrap_or(&self.policy)
    }

    /// Returns a batch of `items` from `caller` with no optional fields.
    #[must_use]
    pub fn new(caller: &str, items: Vec<BatchItem>) -> Self {
        let caller: Arc<str> = caller.into();
        Self {
            share: Arc::clone(&caller),
            caller,
            run: None,
            step: None,
            policy: RewardPolicy::default(),
            statistics: Vec::new(),
            items,
            held: None,
            allowance: None,
        }
    }
}
