//! Tasks of items: in their own form, or as a template and a row from which the service makes them.

use assay_core::{ErrorCode, Task};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::Problem;
use crate::reading::read_object;

/// Makes the tasks of items from their JSON.
pub trait ReadTask {
    /// The type of a task after reading.
    type Task: Clone;

    /// Makes a task from JSON, which `pointer` locates in the request.
    ///
    /// # Errors
    /// A [`Problem`] at `pointer` or below.
    fn read(&mut self, json: &RawValue, pointer: &str) -> Result<Self::Task, Problem>;

    /// The task that verifies an interpreter session, whose id is at `pointer`.
    ///
    /// # Errors
    /// A [`Problem`] at `pointer`: there is no such session, or no server that has sessions.
    fn session(&mut self, id: &str, pointer: &str) -> Result<Self::Task, Problem> {
        let _ = id;
        let message = "only `POST /v1/grade` has the sessions of a node; write the log of the \
                       session as a check of type `session` instead";
        Err(Problem::invalid(pointer, message))
    }
}

/// Reads tasks in their own form only.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnForm;

impl ReadTask for OwnForm {
    type Task = Task;

    fn read(&mut self, json: &RawValue, pointer: &str) -> Result<Task, Problem> {
        Task::from_raw(json).map_err(|error| Problem::of_task(pointer, error))
    }
}

/// Checks tasks of both forms without making them from rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unexpanded;

impl ReadTask for Unexpanded {
    type Task = ();

    fn read(&mut self, json: &RawValue, pointer: &str) -> Result<(), Problem> {
        match TemplateTask::read(json, pointer)? {
            Some(_) => Ok(()),
            None => OwnForm.read(json, pointer).map(drop),
        }
    }

    fn session(&mut self, _id: &str, _pointer: &str) -> Result<(), Problem> {
        Ok(())
    }
}

/// A task that the service makes from a row of a dataset.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplateTask {
    /// Name of a template: a built-in one, which `docs/TEMPLATES.md` lists, or one of the
    /// configuration.
    #[schema(example = "gsm8k")]
    pub template: String,
    /// The row: its columns by name.
    #[schema(value_type = Object, example = json!({ "answer": "6 * 7 = 42\n#### 42" }))]
    pub row: Box<RawValue>,
}

impl TemplateTask {
    /// The name of the template; `None` if the task has its own form. The row is not read.
    #[must_use]
    pub fn name(json: &RawValue) -> Option<String> {
        // Most tasks do not contain the word, so their fields are not read here.
        memchr::memmem::find(json.get().as_bytes(), b"\"template\"")?;
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(borrow)]
            r#type: Option<&'a RawValue>,
            template: Option<Value>,
        }
        match serde_json::from_str::<Head<'_>>(json.get()) {
            Ok(Head {
                r#type: None,
                template: Some(template),
            }) if json.get().starts_with('{') => {
                Some(template.as_str().unwrap_or_default().to_owned())
            }
            // Whatever else is wrong is reported when the task is read.
            _ => None,
        }
    }

    /// Reads the template and the row of a task; `None` if the task has its own form.
    ///
    /// # Errors
    /// A [`Problem`] at `pointer` or below, for a template or a row of the wrong type.
    pub fn read(json: &RawValue, pointer: &str) -> Result<Option<Self>, Problem> {
        if Self::name(json).is_none() {
            return Ok(None);
        }
        let task: Self = read_object(json, pointer, ErrorCode::InvalidTask)?;
        if !task.row.get().starts_with('{') {
            return Err(Problem::at(
                ErrorCode::InvalidTask,
                format!("{pointer}/row"),
                "the row must be an object with its columns by name",
            ));
        }
        Ok(Some(task))
    }
}
