//! Reconstructs items from their rows and bodies in the record.

use std::collections::{HashMap, HashSet};

use assay_core::{Completion, GradeId, Hash, Item, Meta, Task};
use assay_engine::BatchItem;
use assay_record::{Body, BodyKind, Record, RecordError, StoredGrade};
use serde_json::value::RawValue;

use super::error::{ReplayError, ReplayOptions, rejected_task};

/// Stored grades with the bodies of their items.
pub(crate) struct StoredItems {
    rows: HashMap<GradeId, StoredGrade>,
    bodies: HashMap<Hash, Body>,
}

impl StoredItems {
    /// Reads the grades with these ids and their bodies. Those that are not stored are left out.
    pub(crate) async fn read(record: &Record, ids: &[GradeId]) -> Result<Self, RecordError> {
        let rows = record.grades_by_id(ids).await?;
        Self::with_bodies(record, rows).await
    }

    /// Reads the bodies of these grades.
    pub(super) async fn with_bodies(
        record: &Record,
        rows: HashMap<GradeId, StoredGrade>,
    ) -> Result<Self, RecordError> {
        let hashes: HashSet<Hash> = rows.values().flat_map(hashes).collect();
        let hashes: Vec<Hash> = hashes.into_iter().collect();
        let bodies = record.bodies(&hashes).await?;
        Ok(Self { rows, bodies })
    }

    /// Returns a stored row and its item, with `options` set in its task.
    pub(crate) fn item(
        &self,
        id: GradeId,
        options: &ReplayOptions,
    ) -> Result<(StoredGrade, BatchItem), ReplayError> {
        let stored = self.rows.get(&id).ok_or(ReplayError::NotFound(id))?;
        if stored.source.redacted {
            return Err(ReplayError::Redacted);
        }
        let task = self.body(stored, stored.source.task_hash, "task")?;
        let task = std::str::from_utf8(&task.content).map_err(|error| invalid("task", &error))?;
        let mut task = Task::from_json(task).map_err(|error| invalid("task", &error))?;
        if !options.fields.is_empty() {
            task = task.with_fields(&options.fields).map_err(rejected_task)?;
        }
        let prompt = match stored.source.prompt_hash {
            Some(hash) => Some(read_completion(
                self.body(stored, hash, "prompt")?,
                "prompt",
            )?),
            None => None,
        };
        let completion = self.body(stored, stored.source.completion_hash, "completion")?;
        let completion = read_completion(completion, "completion")?;
        let meta: Meta = match &stored.source.meta {
            Some(json) => {
                serde_json::from_str(json.get()).map_err(|error| invalid("meta", &error))?
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
        item.channel = stored
            .grade
            .channel
            .split_once('/')
            .map(|(_, family)| family.to_owned());
        item.checks = read_checks(stored)?;
        Ok((stored.clone(), item))
    }

    fn body(
        &self,
        stored: &StoredGrade,
        hash: Hash,
        what: &'static str,
    ) -> Result<&Body, ReplayError> {
        self.bodies
            .get(&hash)
            .ok_or(if stored.source.bodies_omitted {
                ReplayError::BodyOmitted { what }
            } else {
                ReplayError::BodyDeleted { what }
            })
    }
}

/// The bodies of an item.
pub(super) fn hashes(stored: &StoredGrade) -> impl Iterator<Item = Hash> + use<> {
    let source = &stored.source;
    [
        Some(source.task_hash),
        Some(source.completion_hash),
        source.prompt_hash,
    ]
    .into_iter()
    .flatten()
}

fn invalid(what: &'static str, error: &impl ToString) -> ReplayError {
    ReplayError::InvalidBody {
        what,
        reason: error.to_string(),
    }
}

fn read_checks(stored: &StoredGrade) -> Result<Vec<(String, Task)>, ReplayError> {
    let Some(json) = &stored.source.checks else {
        return Ok(Vec::new());
    };
    let raw: std::collections::BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(json.get()).map_err(|error| invalid("checks", &error))?;
    raw.into_iter()
        .map(|(name, raw)| {
            let task = Task::from_raw(&raw).map_err(|error| invalid("checks", &error))?;
            Ok((name, task))
        })
        .collect()
}

fn read_completion(body: &Body, what: &'static str) -> Result<Completion, ReplayError> {
    match body.kind {
        BodyKind::Messages => {
            serde_json::from_slice(&body.content).map_err(|error| invalid(what, &error))
        }
        // A text with the bytes of a task has the same hash, and is stored once, as the first kind.
        BodyKind::Text | BodyKind::Task | BodyKind::Policy | BodyKind::Pair | BodyKind::Report => {
            let text = std::str::from_utf8(&body.content).map_err(|error| invalid(what, &error))?;
            Ok(Completion::Text(text.into()))
        }
    }
}
