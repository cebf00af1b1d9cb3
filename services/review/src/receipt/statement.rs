//! What a receipt states: an item and the result of grading it.

use std::collections::BTreeMap;

use assay_core::{Completion, GradeId, Item, Meta, RawJson, Task};
use assay_engine::{BatchItem, EngineError};
use assay_record::ItemGrade;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::replay::{ReplayError, rejected_task};

/// The keys of a grade that the item and the grader decide. The others depend on the policy, the
/// batch and time.
const RESULT: [&str; 12] = [
    "grader",
    "outcome",
    "verdict",
    "pass",
    "score",
    "components",
    "steps",
    "measures",
    "evidence",
    "error",
    "deterministic",
    "work",
];

/// What a receipt states.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Version of Assay that signed it.
    pub assay: String,
    /// Id of the grade.
    pub grade: GradeId,
    /// When it was graded, in microseconds since the Unix epoch.
    pub time_us: i64,
    /// The item, whose keys are those of an item of `POST /v1/grade`.
    pub item: StatedItem,
    /// The result, by the keys of a grade.
    pub result: BTreeMap<String, RawJson>,
}

/// The parts of an item on which its result depends.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedItem {
    /// Task family, the second half of the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The task.
    pub task: Box<RawValue>,
    /// Checks by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, Box<RawValue>>,
    /// The prompt, a string or messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Completion>,
    /// The completion, a string or messages.
    pub completion: Completion,
    /// Facts about the completion.
    #[serde(default)]
    pub meta: Meta,
}

impl Statement {
    /// What the receipt of a grade of this item states.
    pub(super) fn new(grade: &ItemGrade, item: &BatchItem) -> serde_json::Result<Self> {
        let json = |task: &Task| RawValue::from_string(task.body.get().to_owned());
        let checks = item.checks.iter();
        Ok(Self {
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            grade: grade.grade,
            time_us: grade.time_us,
            item: StatedItem {
                channel: item.channel.clone(),
                task: json(&item.task)?,
                checks: checks
                    .map(|(name, task)| Ok((name.clone(), json(task)?)))
                    .collect::<serde_json::Result<_>>()?,
                prompt: item.item.prompt.clone(),
                completion: item.item.completion.clone(),
                meta: item.item.meta.clone(),
            },
            result: result(grade)?,
        })
    }

    /// The statement as JSON, the only text in which [`Statement::read`] accepts it.
    ///
    /// # Errors
    /// If it cannot be read back.
    pub(super) fn to_json(&self) -> Result<String, String> {
        let json = serde_json::to_string(self).map_err(|error| error.to_string())?;
        Self::read(json.as_bytes())?;
        Ok(json)
    }

    /// Reads a statement. Texts that other readers could take for something else, such as duplicate
    /// keys, are rejected: it must be the text in which it is written.
    ///
    /// # Errors
    /// Why the bytes are not a statement.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let written = serde_json::to_vec(&read).map_err(|error| error.to_string())?;
        if written != json {
            return Err("it is not in the form in which receipts are written".to_owned());
        }
        Ok(read)
    }

    /// A part of the result that is a text, such as `verdict`.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.result.get(key)?.get()).ok()
    }
}

impl StatedItem {
    /// The item, for the engine.
    ///
    /// # Errors
    /// [`ReplayError`] for a task that cannot be read.
    pub(super) fn to_batch_item(&self) -> Result<BatchItem, ReplayError> {
        let task = Task::from_raw(&self.task).map_err(rejected_task)?;
        let item = Item {
            prompt: self.prompt.clone(),
            completion: self.completion.clone(),
            meta: self.meta.clone(),
        };
        let mut item = BatchItem::new(item, task);
        item.channel.clone_from(&self.channel);
        item.checks = self
            .checks
            .iter()
            .map(|(name, raw)| {
                let task = Task::from_raw(raw).map_err(|error| EngineError::Task {
                    pointer: format!("/checks/{name}"),
                    error,
                })?;
                Ok((name.clone(), task))
            })
            .collect::<Result<_, EngineError>>()?;
        Ok(item)
    }
}

/// The parts of a grade that grading the item again repeats, as JSON by key.
pub(super) fn result(grade: &ItemGrade) -> serde_json::Result<BTreeMap<String, RawJson>> {
    let json = serde_json::to_string(grade)?;
    let mut fields: BTreeMap<String, RawJson> = serde_json::from_str(&json)?;
    fields.retain(|key, _| RESULT.contains(&key.as_str()));
    Ok(fields)
}
