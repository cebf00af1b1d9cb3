//! The fields that promoted shadows set in the tasks of their runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use assay_core::{Hash, Item, Task};
use assay_engine::{BatchItem, Engine};
use assay_record::shadow::Shadow;
use assay_record::{Record, RecordError};
use serde_json::value::RawValue;

/// Fields of tasks, as JSON values by name.
type Fields = BTreeMap<String, Box<RawValue>>;

/// The fields of runs, by name of the run as recorded.
#[derive(Default)]
pub(crate) struct PromotedFields(RwLock<HashMap<String, Arc<Fields>>>);

impl PromotedFields {
    fn of(&self, run: &str) -> Option<Arc<Fields>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(run).cloned()
    }

    /// Sets the fields of a run in the tasks of its items. A task that its grader would reject with
    /// them stays as it is. Takes as long as to check the tasks.
    pub(crate) fn set_in<'i>(
        &self,
        engine: &Engine,
        run: Option<&str>,
        items: impl Iterator<Item = &'i mut BatchItem>,
    ) {
        let Some(fields) = run.and_then(|run| self.of(run)) else {
            return;
        };
        let mut changed: HashMap<Hash, Option<Task>> = HashMap::new();
        for item in items {
            let task = changed
                .entry(item.task.hash())
                .or_insert_with(|| with_fields(engine, &item.task, &fields));
            if let Some(task) = task {
                item.task = task.clone();
            }
        }
    }

    /// Reads the fields of all runs.
    pub(crate) async fn refresh(&self, record: &Record) -> Result<(), RecordError> {
        let mut all = HashMap::new();
        for shadow in record.promoted_shadows().await? {
            let fields = fields(&shadow)?;
            all.insert(shadow.run, Arc::new(fields));
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(())
    }
}

/// The fields of a shadow.
pub(crate) fn fields(shadow: &Shadow) -> Result<Fields, RecordError> {
    serde_json::from_str(&shadow.options)
        .map_err(|error| RecordError::Inconsistent(format!("shadow {}: {error}", shadow.id)))
}

/// A task with other fields; `None` if its grader rejects it.
fn with_fields(engine: &Engine, task: &Task, fields: &Fields) -> Option<Task> {
    let item = BatchItem::new(Item::text(""), task.with_fields(fields).ok()?);
    engine.check(&item).ok()?;
    Some(item.task)
}
