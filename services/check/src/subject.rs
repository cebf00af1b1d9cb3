//! The task of a row, with its prompt, solution and id.

use assay_core::{ErrorCode, GraderTable, Hash, PrepareContext, Task, TaskError};
use assay_templates::{RowError, RowTextError, Template, TextTemplate};
use serde_json::{Map, Value};

use crate::row::{DatasetRow, TASK};

/// Columns of the prompt, if the template has none. The first one present is used.
const PROMPTS: &[&str] = &["prompt", "question", "problem", "instruction", "text"];

/// Columns of a completion that should pass, if the template has none.
const SOLUTIONS: &[&str] = &["reference_solution", "canonical_solution"];

/// Columns of the row id, if the template has none.
const IDS: &[&str] = &["id", "task_id", "unique_id", "question_id", "problem_id"];

/// The task of a row and related columns.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) task: Task,
    /// The fields of the task, including `type`.
    pub(crate) body: Map<String, Value>,
    pub(crate) prompt: Option<String>,
    /// A completion that should pass.
    pub(crate) solution: Option<String>,
    /// Rollouts in a column of the row.
    pub(crate) rollouts: Option<Vec<Value>>,
}

impl Subject {
    /// A text of the task.
    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        self.body.get(field)?.as_str()
    }

    /// A text of the task, or the texts of a list.
    pub(crate) fn texts(&self, field: &str) -> Vec<&str> {
        match self.body.get(field) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// The only gold of a `math` task.
    pub(crate) fn math_gold(&self) -> Option<&str> {
        let is_math = self.task.kind.as_str() == "math";
        match self.texts("answer").as_slice() {
            [gold] if is_math => Some(gold.trim()),
            _ => None,
        }
    }
}

/// Why a row has no valid task.
#[derive(Debug)]
pub(crate) struct TaskProblem {
    pub(crate) cause: Cause,
    pub(crate) message: String,
}

/// The kind of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cause {
    /// A column that the task needs is missing.
    FieldMissing,
    /// The template cannot make a task from the row.
    TemplateFails,
    /// The grader rejects the task.
    TaskRejected,
}

impl TaskProblem {
    fn rejected(error: &TaskError) -> Self {
        let message = match (error.code, error.pointer.as_str()) {
            (ErrorCode::UnknownGrader, _) => error.message.clone(),
            (_, "") => format!("the grader rejects the task: {}", error.message),
            (_, pointer) => format!(
                "the grader rejects the task at `{pointer}`: {}",
                error.message
            ),
        };
        Self {
            cause: Cause::TaskRejected,
            message,
        }
    }
}

impl From<RowError> for TaskProblem {
    fn from(error: RowError) -> Self {
        let message = error.to_string();
        match error {
            RowError::Missing { .. } => Self {
                cause: Cause::FieldMissing,
                message,
            },
            RowError::Failed { .. } | RowError::Refused { .. } | RowError::NoTask(_) => Self {
                cause: Cause::TemplateFails,
                message,
            },
        }
    }
}

/// Makes subjects of rows.
pub(crate) struct SubjectReader<'a> {
    pub(crate) template: Option<&'a Template>,
    /// Makes a completion that should pass; overrides the solution of the template or a column.
    pub(crate) solution: Option<&'a TextTemplate>,
    /// Makes the prompt; overrides that of the template or a column.
    pub(crate) prompt: Option<&'a TextTemplate>,
    /// The column of rollouts.
    pub(crate) rollouts: Option<&'a str>,
    pub(crate) graders: &'a GraderTable,
}

impl SubjectReader<'_> {
    /// The id of a row.
    pub(crate) fn id(&self, row: &DatasetRow) -> Option<String> {
        let rendered = self
            .template
            .and_then(|template| template.id(&row.columns).ok().flatten());
        match rendered.or_else(|| column(row, IDS)) {
            Some(Value::String(id)) if !id.is_empty() => Some(id),
            Some(Value::Number(id)) => Some(id.to_string()),
            _ => None,
        }
    }

    /// Whether a row has a column for its id without a value.
    pub(crate) fn lacks_id(&self, row: &DatasetRow) -> bool {
        let is_empty = |value: &Value| value.is_null() || value.as_str().is_some_and(str::is_empty);
        let named = IDS.iter().filter_map(|name| row.columns.get(*name));
        let mut named = named.peekable();
        self.id(row).is_none() && named.peek().is_some() && named.all(is_empty)
    }

    /// The prompt of a row, which need not have a valid task.
    pub(crate) fn prompt(&self, row: &DatasetRow) -> Result<Option<String>, RowError> {
        let prompt = match (self.prompt, self.template) {
            (Some(prompt), _) => Some(prompt.value(&row.columns)?),
            (None, Some(template)) => template.prompt(&row.columns)?,
            (None, None) => None,
        };
        Ok(prompt
            .or_else(|| column(row, PROMPTS))
            .and_then(|value| text_of(&value)))
    }

    /// Makes the subject of a row and checks its task with the grader.
    pub(crate) fn read(&self, row: &mut DatasetRow) -> Result<Subject, TaskProblem> {
        let task = match self.template {
            Some(template) => {
                if row.lost_digits {
                    return Err(TaskProblem {
                        cause: Cause::TemplateFails,
                        message: RowTextError::LargeInteger.to_string(),
                    });
                }
                if let Some(task) = row.task.take() {
                    // With a template, `task` is an ordinary column.
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
                        "the row has no column `task`; name a template that makes tasks from its \
                         columns ({}), such as `--template gsm8k`",
                        columns.join(", ")
                    );
                    return Err(TaskProblem {
                        cause: Cause::FieldMissing,
                        message,
                    });
                };
                Task::from_raw(task).map_err(|error| TaskProblem::rejected(&error))?
            }
        };
        let grader = self
            .graders
            .get(&task)
            .map_err(|error| TaskProblem::rejected(&error))?;
        grader
            .check(&task, &PrepareContext::new(self.graders))
            .map_err(|error| TaskProblem::rejected(&error))?;
        // Cannot fail: graders accept only objects.
        let body = serde_json::from_str(task.body.get()).unwrap_or_default();
        if let (Some(_), Some(task)) = (self.solution, &row.task) {
            row.columns.insert(
                TASK.to_owned(),
                serde_json::from_str(task.get()).unwrap_or_default(),
            );
        }
        let solution = match (self.solution, self.template) {
            (Some(solution), _) => Some(solution.value(&row.columns)?),
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

/// The key of a row in baselines and rollouts: its id, or `#` and a hash of its prompt and task,
/// which do not change with other columns. Without a task, it is a hash of the whole row,
/// `content`.
pub(crate) fn key(
    id: Option<String>,
    content: Hash,
    subject: Result<&Subject, &TaskProblem>,
) -> String {
    id.unwrap_or_else(|| {
        let hash = subject.map_or(content, |subject| {
            let prompt = subject.prompt.as_deref().unwrap_or_default();
            Hash::of_parts(&[prompt.as_bytes(), subject.task.body.get().as_bytes()])
        });
        format!("#{}", hash.to_string().split_at(16).0)
    })
}

/// The value of the first of these columns that the row has.
fn column(row: &DatasetRow, names: &[&str]) -> Option<Value> {
    names
        .iter()
        .find_map(|name| row.columns.get(*name))
        .cloned()
}

/// A string, or the joined texts of a list of messages; `None` for other values.
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
