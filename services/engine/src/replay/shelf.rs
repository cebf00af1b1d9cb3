//! Items as they were sent, put together again from a row and its bodies.

use std::collections::HashMap;

use assay_core::record::{Body, BodyKind, GradeRecord};
use assay_core::store::Store;
use assay_core::{Completion, GradeId, Hash, Item, Meta, Task};
use serde_json::value::RawValue;

use super::{ReplayError, ReplayOptions, refused};
use crate::BatchItem;

/// Reads from the record, each task and prompt once.
pub(super) struct Shelf<'s> {
    store: &'s dyn Store,
    shared: HashMap<Hash, Body>,
}

impl<'s> Shelf<'s> {
    pub(super) fn new(store: &'s dyn Store) -> Self {
        Self {
            store,
            shared: HashMap::new(),
        }
    }

    /// A stored row and its item, with `options` set in its task.
    pub(super) async fn item(
        &mut self,
        id: GradeId,
        options: &ReplayOptions,
    ) -> Result<(GradeRecord, BatchItem), ReplayError> {
        let row = self
            .store
            .grade(id)
            .await?
            .ok_or(ReplayError::NotFound(id))?;
        let bad = |what: &'static str, reason: String| ReplayError::BadBody { what, reason };
        let task = self.shared(row.task_hash, "task").await?;
        let text =
            String::from_utf8(task.content).map_err(|error| bad("task", error.to_string()))?;
        let mut task = Task::from_json(&text).map_err(|error| bad("task", error.to_string()))?;
        if !options.is_empty() {
            task = task.with_fields(options).map_err(refused)?;
        }
        let prompt = match row.prompt_hash {
            Some(hash) => Some(read_completion(
                self.shared(hash, "prompt").await?,
                "prompt",
            )?),
            None => None,
        };
        let completion = self.body(row.completion_hash, "completion").await?;
        let completion = read_completion(completion, "completion")?;
        let meta: Meta = match &row.meta_json {
            Some(json) => {
                serde_json::from_str(json).map_err(|error| bad("meta", error.to_string()))?
            }
            None => Meta::default(),
        };
        let mut item = BatchItem::new(
            Item {
                prompt,
                completion,
                meta,
            },
            task,
        );
        item.channel = row
            .channel
            .split_once('/')
            .map(|(_, family)| family.to_owned());
        item.checks = read_checks(&row)?;
        Ok((row, item))
    }

    async fn shared(&mut self, hash: Hash, what: &'static str) -> Result<Body, ReplayError> {
        if let Some(body) = self.shared.get(&hash) {
            return Ok(body.clone());
        }
        let body = self.body(hash, what).await?;
        self.shared.insert(hash, body.clone());
        Ok(body)
    }

    async fn body(&self, hash: Hash, what: &'static str) -> Result<Body, ReplayError> {
        self.store
            .body(hash)
            .await?
            .ok_or(ReplayError::BodyGone { what })
    }
}

fn read_checks(record: &GradeRecord) -> Result<Vec<(String, Task)>, ReplayError> {
    let bad = |reason: String| ReplayError::BadBody {
        what: "checks",
        reason,
    };
    let Some(json) = &record.checks_json else {
        return Ok(Vec::new());
    };
    let raw: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(json).map_err(|error| bad(error.to_string()))?;
    raw.into_iter()
        .map(|(name, raw)| {
            Ok((
                name,
                Task::from_raw(&raw).map_err(|error| bad(error.to_string()))?,
            ))
        })
        .collect()
}

fn read_completion(body: Body, what: &'static str) -> Result<Completion, ReplayError> {
    let bad = |reason: String| ReplayError::BadBody { what, reason };
    match body.kind {
        BodyKind::Text => {
            let text = String::from_utf8(body.content).map_err(|error| bad(error.to_string()))?;
            Ok(Completion::Text(text.into()))
        }
        BodyKind::Messages => {
            serde_json::from_slice(&body.content).map_err(|error| bad(error.to_string()))
        }
        BodyKind::Task | BodyKind::Policy | BodyKind::Pair | BodyKind::Report => {
            Err(bad("it is a task, a policy, a pair or a report".to_owned()))
        }
    }
}
