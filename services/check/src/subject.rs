//! What a row asks: its task, and what the dataset says of its prompt, its solution and its name.

use assay_core::{ErrorCode, GraderTable, PrepareContext, Task, TaskError};
use assay_templates::{RowError, SolutionTemplate, Template};
use serde_json::{Map, Value};

use crate::findings::{Code, field_missing, task_not_made, task_refused};
use crate::row::{DatasetRow, TASK};

/// Columns that hold the prompt where no template says which, the first that is there.
const PROMPTS: &[&str] = &["prompt", "question", "problem", "instruction", "text"];

/// Columns that hold a completion that should pass, where no template says which.
const SOLUTIONS: &[&str] = &["reference_solution", "canonical_solution"];

/// Columns that hold the row's name, where no template says which.
const IDS: &[&str] = &["id", "task_id", "unique_id", "question_id", "problem_id"];

/// What a row asks.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) task: Task,
    /// The task's fields, its `type` among them.
    pub(crate) body: Map<String, Value>,
    pub(crate) prompt: Option<String>,
    /// A completion that should pass.
    pub(crate) solution: Option<String>,
    /// Rollouts that the row itself holds.
    pub(crate) rollouts: Option<Vec<Value>>,
}

/// Why a row asks nothing.
#[derive(Debug)]
pub(crate) struct NotMade {
    pub(crate) code: &'static Code,
    pub(crate) message: String,
}

impl NotMade {
    fn refused(error: &TaskError) -> Self {
        let message = match (error.code, error.pointer.as_str()) {
            (ErrorCode::UnknownGrader, _) => error.message.clone(),
            (_, "") => format!("the grader refuses the task: {}", error.message),
            (_, pointer) => format!(
                "the grader refuses the task at `{pointer}`: {}",
                error.message
            ),
        };
        Self {
            code: &task_refused::CODE,
            message,
        }
    }
}

impl From<RowError> for NotMade {
    fn from(error: RowError) -> Self {
        let message = error.to_string();
        match error {
            RowError::Missing { .. } => Self {
                code: &field_missing::CODE,
                message,
            },
            RowError::Failed { .. } | RowError::NoTask(_) => Self {
                code: &task_not_made::CODE,
                message,
            },
        }
    }
}

/// How rows are read.
pub(crate) struct Reader<'a> {
    pub(crate) template: Option<&'a Template>,
    /// A completion that should pass, instead of the solution of the template or of a column.
    pub(crate) solution: Option<&'a SolutionTemplate>,
    /// The column of rollouts.
    pub(crate) rollouts: Option<&'a str>,
    pub(crate) graders: &'a GraderTable,
}

impl Reader<'_> {
    /// The name of a row: its id, else a hash of what it holds. Known findings are known by it.
    pub(crate) fn key(&self, row: &DatasetRow) -> String {
        let made = self
            .template
            .and_then(|template| template.id(&row.columns).ok().flatten());
        match made.or_else(|| column(row, IDS)) {
            Some(Value::String(id)) if !id.is_empty() => id,
            Some(Value::Number(id)) => id.to_string(),
            _ => format!("#{}", row.hash().to_string().split_at(16).0),
        }
    }

    /// The prompt of a row, whatever its task.
    pub(crate) fn prompt(&self, row: &DatasetRow) -> Result<Option<String>, RowError> {
        let prompt = match self.template {
            Some(template) => template.prompt(&row.columns)?,
            None => None,
        };
        Ok(prompt
            .or_else(|| column(row, PROMPTS))
            .and_then(|value| text_of(&value)))
    }

    /// What a row asks, its task looked at by its grader.
    pub(crate) fn read(&self, row: &mut DatasetRow) -> Result<Subject, NotMade> {
        let task = match self.template {
            Some(template) => {
                if let Some(task) = row.task.take() {
                    // Under a template it is a column as any other.
                    row.columns.insert(
                        TASK.to_owned(),
                        serde_json::from_str(task.get()).unwrap_or_default(),
                    );
                }
                template.task(&row.columns)?
            }
            None => {
                let Some(task) = &row.task else {
                    let columns: Vec<_> =
                        row.columns.keys().map(|name| format!("`{name}`")).collect();
                    let message = format!(
                        "the row has no `task`; name a template that makes one of its columns {}, \
                         such as `--template gsm8k`",
                        columns.join(", ")
                    );
                    return Err(NotMade {
                        code: &field_missing::CODE,
                        message,
                    });
                };
                Task::from_raw(task).map_err(|error| NotMade::refused(&error))?
            }
        };
        let grader = self
            .graders
            .get(&task)
            .map_err(|error| NotMade::refused(&error))?;
        grader
            .check(&task, &PrepareContext::new(self.graders))
            .map_err(|error| NotMade::refused(&error))?;
        // A task that its grader accepts is an object.
        let body = serde_json::from_str(task.body.get()).unwrap_or_default();
        if let (Some(_), Some(task)) = (self.solution, &row.task) {
            row.columns.insert(
                TASK.to_owned(),
                serde_json::from_str(task.get()).unwrap_or_default(),
            );
        }
        let solution = match (self.solution, self.template) {
            (Some(solution), _) => Some(solution.solution(&row.columns)?),
            (None, Some(template)) => template.solution(&row.columns)?,
            (None, None) => None,
        };
        let solution = solution
            .or_else(|| column(row, SOLUTIONS))
            .and_then(|value| text_of(&value));
        let prompt = self.prompt(row)?;
        let rollouts = self
            .rollouts
            .and_then(|name| row.columns.get(name)?.as_array().cloned());
        Ok(Subject {
            task,
            body,
            prompt,
            solution,
            rollouts,
        })
    }
}

/// The first of these columns that the row has.
fn column(row: &DatasetRow, names: &[&str]) -> Option<Value> {
    names
        .iter()
        .find_map(|name| row.columns.get(*name))
        .cloned()
}

/// A text, or the texts of a list of messages, joined; `None` of anything else.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => {
            let texts = values.iter().map(|value| match value {
                Value::Object(message) => message.get("content").and_then(text_of),
                other => text_of(other),
            });
            let texts: Vec<String> = texts.collect::<Option<_>>()?;
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}
