//! Reconstructs items from their rows and bodies in the record.

use std::collections::HashMap;

use assay_core::{Completion, GradeId, Hash, Item, Meta, Task};
use assay_record::{Body, BodyKind, Record, StoredGrade};
use serde_json::value::RawValue;

use super::error::{ReplayError, ReplayOptions, rejected_task};
use assay_engine::BatchItem;

/// Reads items from the record, and each task and prompt only once.
pub(crate) struct StoredItems<'s> {
    record: &'s Record,
    cached_bodies: HashMap<Hash, Body>,
}

impl<'s> StoredItems<'s> {
    pub(crate) fn new(record: &'s Record) -> Self {
        Self {
            record,
            cached_bodies: HashMap::new(),
        }
    }

    /// Returns a stored row and its item, with `options` set in its task.
    pub(crate) async fn item(
        &mut self,
        id: GradeId,
        options: &ReplayOptions,
    ) -> Result<(StoredGrade, BatchItem), ReplayError> {
        let stored = self
            .record
            .grade(id)
            .await?
            .ok_or(ReplayError::NotFound(id))?;
        if stored.source.redacted {
            return Err(ReplayError::Redacted);
        }
        let invalid =
            |what: &'static str, reason: String| ReplayError::InvalidBody { what, reason };
        let task = self
            .cached_body(&stored, stored.source.task_hash, "task")
            .await?;
        let text =
            String::from_utf8(task.content).map_err(|error| invalid("task", error.to_string()))?;
        let mut task =
            Task::from_json(&text).map_err(|error| invalid("task", error.to_string()))?;
        if !options.fields.is_empty() {
            task = task.with_fields(&options.fields).map_err(rejected_task)?;
        }
        let prompt = match stored.source.prompt_hash {
            Some(hash) => Some(read_completion(
                self.cached_body(&stored, hash, "prompt").await?,
                "prompt",
            )?),
            None => None,
        };
        let completion = self
            .body(&stored, stored.source.completion_hash, "completion")
            .await?;
        let completion = read_completion(completion, "completion")?;
        let meta: Meta = match &stored.source.meta {
            Some(json) => serde_json::from_str(json.get())
                .map_err(|error| invalid("meta", error.to_string()))?,
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
        item.channel = stored
            .grade
            .channel
            .split_once('/')
            .map(|(_, family)| family.to_owned());
        item.checks = read_checks(&stored)?;
        Ok((stored, item))
    }

    async fn cached_body(
        &mut self,
        stored: &StoredGrade,
        hash: Hash,
        what: &'static str,
    ) -> Result<Body, ReplayError> {
        if let Some(body) = self.cached_bodies.get(&hash) {
            return Ok(body.clone());
        }
        let body = self.body(stored, hash, what).await?;
        self.cached_bodies.insert(hash, body.clone());
        Ok(body)
    }

    async fn body(
        &self,
        stored: &StoredGrade,
        hash: Hash,
        what: &'static str,
    ) -> Result<Body, ReplayError> {
        self.record
            .body(hash)
            .await?
            .ok_or(if stored.source.bodies_omitted {
                ReplayError::BodyOmitted { what }
            } else {
                ReplayError::BodyDeleted { what }
            })
    }
}

fn read_checks(stored: &StoredGrade) -> Result<Vec<(String, Task)>, ReplayError> {
    let invalid = |reason: String| ReplayError::InvalidBody {
        what: "checks",
        reason,
    };
    let Some(json) = &stored.source.checks else {
        return Ok(Vec::new());
    };
    let raw: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(json.get()).map_err(|error| invalid(error.to_string()))?;
    raw.into_iter()
        .map(|(name, raw)| {
            Ok((
                name,
                Task::from_raw(&raw).map_err(|error| invalid(error.to_string()))?,
            ))
        })
        .collect()
}

fn read_completion(body: Body, what: &'static str) -> Result<Completion, ReplayError> {
    let invalid = |reason: String| ReplayError::InvalidBody { what, reason };
    match body.kind {
        BodyKind::Messages => {
            serde_json::from_slice(&body.content).map_err(|error| invalid(error.to_string()))
        }
        // A text with the bytes of a task has the same hash, and is stored once, as the first kind.
        BodyKind::Text | BodyKind::Task | BodyKind::Policy | BodyKind::Pair | BodyKind::Report => {
            let text =
                String::from_utf8(body.content).map_err(|error| invalid(error.to_string()))?;
            Ok(Completion::Text(text.into()))
        }
    }
}
