//! Makes tasks from rows with the templates of a node.

use std::collections::HashMap;
use std::sync::Arc;

use assay_base::pointer;
use assay_core::{ErrorCode, Hash, Item, Task};
use assay_engine::{BatchItem, Engine};
use assay_templates::{Row, RowError, Template, Templates, produced_bytes, read_row};
use assay_wire::sessions::SessionLog;
use assay_wire::{OwnForm, Problem, ReadTask, TemplateTask};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::batch;

/// Maximum size of a row, in bytes of its text.
const MAX_ROW_BYTES: usize = 16 << 20;

/// Maximum size of the task that a template makes, in bytes of its text.
const MAX_TASK_BYTES: usize = 64 << 20;

/// Total size of the tasks that are kept for equal rows, in bytes.
const KEPT_BYTES: usize = 64 << 20;

/// Limit on the texts that templates produce, as a factor of the limit on the tasks that they make.
/// The tests of a programming task are unpacked, parsed and written again.
const PRODUCED_FACTOR: u64 = 4;

/// Maximum size of the log of a session in a grade, in bytes of its JSON; that of a completion.
const MAX_LOG_BYTES: usize = 1 << 20;

/// Returns the log of a session by its id.
pub type FindLog = Box<dyn Fn(&str) -> Result<SessionLog, Problem> + Send>;

/// Makes the tasks of one request or file. Each pair of a template and a row is expanded once, as
/// long as its task is kept.
pub struct TemplateTasks {
    templates: Arc<Templates>,
    engine: Engine,
    kept: HashMap<Hash, Task>,
    kept_bytes: usize,
    made_bytes: usize,
    max_made_bytes: usize,
    /// Bytes of texts that templates produced to make the tasks.
    produced_bytes: u64,
    /// Finds sessions; `None` outside a server.
    find_log: Option<FindLog>,
    /// The tasks of sessions by their id.
    of_sessions: HashMap<String, Task>,
}

impl TemplateTasks {
    /// Makes tasks of at most `max_bytes` in total. `engine` validates them.
    #[must_use]
    pub fn new(templates: Arc<Templates>, engine: Engine, max_bytes: usize) -> Self {
        Self {
            templates,
            engine,
            kept: HashMap::new(),
            kept_bytes: 0,
            made_bytes: 0,
            max_made_bytes: max_bytes,
            produced_bytes: 0,
            find_log: None,
            of_sessions: HashMap::new(),
        }
    }

    /// The same, with the sessions of a node.
    #[must_use]
    pub fn with_sessions(self, find_log: FindLog) -> Self {
        Self {
            find_log: Some(find_log),
            ..self
        }
    }

    /// Bytes of all tasks that were made from rows and sessions so far.
    #[must_use]
    pub fn made_bytes(&self) -> usize {
        self.made_bytes
    }

    /// The task that the template `name` makes from a row, which `pointer` locates in the request.
    ///
    /// # Errors
    /// A [`Problem`] at `pointer`, or below if a column is missing: the template is unknown or
    /// cannot make a task from the row, or the grader rejects the task. The message names templates
    /// that fit the row.
    pub fn make(&mut self, name: &str, row: &Row, pointer: &str) -> Result<Task, Problem> {
        let template = self.template(name, pointer)?;
        let before = produced_bytes();
        let task = template.task(row);
        let produced = produced_bytes() - before;
        let task = task.map_err(|error| self.row_problem(name, row, pointer, &error))?;
        self.count_produced(produced, pointer)?;
        let bytes = task.body.get().len();
        if bytes > MAX_TASK_BYTES {
            let message = format!(
                "the task that template `{name}` makes from the row has {bytes} bytes, more than \
                 {MAX_TASK_BYTES}; grade the row with fewer tests"
            );
            return Err(Problem::at(
                ErrorCode::InvalidTask,
                pointer.to_owned(),
                message,
            ));
        }
        self.count_made(bytes, pointer)?;
        let item = BatchItem::new(Item::text(""), task);
        self.engine.check(&item).map_err(|error| {
            let problem = batch::problem(error);
            let place = problem.pointer.unwrap_or_default();
            let message = format!(
                "template `{name}` makes an invalid task from the row: `{place}`: {}{}",
                problem.message,
                self.templates.suggestion(row, name)
            );
            Problem::at(problem.code, pointer.to_owned(), message)
        })?;
        Ok(item.task)
    }

    /// Limits the bytes of tasks that the request does not contain.
    fn count_made(&mut self, bytes: usize, pointer: &str) -> Result<(), Problem> {
        self.made_bytes = self.made_bytes.saturating_add(bytes);
        if self.made_bytes <= self.max_made_bytes {
            return Ok(());
        }
        let message = format!(
            "the tasks that are made from rows and sessions have more than {} bytes; split the \
             request into several",
            self.max_made_bytes
        );
        Err(Problem::at(
            ErrorCode::InvalidTask,
            pointer.to_owned(),
            message,
        ))
    }

    /// Limits the work of templates, which does not show in the tasks: a row may unpack to far more
    /// text than its task contains.
    fn count_produced(&mut self, bytes: u64, pointer: &str) -> Result<(), Problem> {
        self.produced_bytes = self.produced_bytes.saturating_add(bytes);
        let most = (self.max_made_bytes as u64).saturating_mul(PRODUCED_FACTOR);
        if self.produced_bytes <= most {
            return Ok(());
        }
        let message = format!(
            "the templates produce more than {most} bytes of text to make the tasks of the \
             request; split it into several"
        );
        Err(Problem::at(
            ErrorCode::InvalidTask,
            pointer.to_owned(),
            message,
        ))
    }

    fn template(&self, name: &str, pointer: &str) -> Result<&Template, Problem> {
        self.templates.get(name).map_err(|error| {
            Problem::at(
                ErrorCode::InvalidTask,
                pointer.to_owned(),
                error.to_string(),
            )
        })
    }

    fn row_problem(&self, name: &str, row: &Row, pointer: &str, error: &RowError) -> Problem {
        let suggestion = self.templates.suggestion(row, name);
        let (pointer, message) = match error {
            RowError::Missing { column, .. } => (
                pointer::member(pointer, column),
                format!("missing column `{column}`, which template `{name}` needs{suggestion}"),
            ),
            other => (
                pointer.to_owned(),
                format!("template `{name}`: {other}{suggestion}"),
            ),
        };
        Problem::at(ErrorCode::InvalidTask, pointer, message)
    }
}

impl ReadTask for TemplateTasks {
    type Task = Task;

    fn read(&mut self, json: &RawValue, pointer: &str) -> Result<Task, Problem> {
        let Some(TemplateTask { template, row }) = TemplateTask::read(json, pointer)? else {
            return OwnForm.read(json, pointer);
        };
        let text = row.get();
        let key = Hash::of_parts(&[template.as_bytes(), text.as_bytes()]);
        if let Some(task) = self.kept.get(&key) {
            return Ok(task.clone());
        }
        self.template(&template, &format!("{pointer}/template"))?;
        let pointer = format!("{pointer}/row");
        if text.len() > MAX_ROW_BYTES {
            let message = format!(
                "the row has {} bytes, more than {MAX_ROW_BYTES}; omit the columns that the \
                 template does not read",
                text.len()
            );
            return Err(Problem::at(ErrorCode::InvalidTask, pointer, message));
        }
        let row = read_row(text).map_err(|error| {
            Problem::at(ErrorCode::InvalidTask, pointer.clone(), error.to_string())
        })?;
        let task = self.make(&template, &row, &pointer)?;
        let bytes = task.body.get().len();
        if self.kept_bytes.saturating_add(bytes) > KEPT_BYTES {
            self.kept.clear();
            self.kept_bytes = 0;
        }
        self.kept_bytes += bytes;
        self.kept.insert(key, task.clone());
        Ok(task)
    }

    fn session(&mut self, id: &str, pointer: &str) -> Result<Task, Problem> {
        let Some(find_log) = &self.find_log else {
            return OwnForm.session(id, pointer);
        };
        let task = match self.of_sessions.get(id) {
            Some(task) => task.clone(),
            None => {
                let log = find_log(id).map_err(|problem| Problem {
                    pointer: Some(pointer.to_owned()),
                    ..problem
                })?;
                let task = session_task(log, pointer)?;
                self.of_sessions.insert(id.to_owned(), task.clone());
                task
            }
        };
        self.count_made(task.body.get().len(), pointer)?;
        Ok(task)
    }
}

/// The task that replays a log. The items of one that is too large are ungradable, because the code
/// in it is that of a model, which must not reject a batch.
fn session_task(log: SessionLog, pointer: &str) -> Result<Task, Problem> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Content {
        Log(SessionLog),
        Unavailable {
            session: String,
            unavailable: String,
        },
    }
    #[derive(Serialize)]
    struct SessionTask {
        r#type: &'static str,
        #[serde(flatten)]
        content: Content,
    }
    let write = |content| {
        let task = SessionTask {
            r#type: "session",
            content,
        };
        // It consists of texts and numbers, which can be written.
        to_raw_value(&task).map_err(|error| {
            Problem::at(ErrorCode::Internal, pointer.to_owned(), error.to_string())
        })
    };
    let session = log.session.clone();
    let mut json = write(Content::Log(log))?;
    let bytes = json.get().len();
    if bytes > MAX_LOG_BYTES {
        let unavailable = format!(
            "its log has {bytes} bytes, more than the {MAX_LOG_BYTES} that can be part of a grade"
        );
        json = write(Content::Unavailable {
            session,
            unavailable,
        })?;
    }
    OwnForm.read(&json, pointer)
}
