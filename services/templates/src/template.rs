//! A template: makes a task from a row, and optionally its prompt, solution and id.

use std::collections::BTreeSet;

use assay_base::{json_message, pointer};
use assay_core::Task;
use serde_json::{Map, Value};

use crate::compiled_text::{Columns, CompiledText, Renderer};
use crate::{Row, RowError, TemplateError, expected_form, named};

/// Makes tasks of rows.
pub struct Template {
    renderer: Renderer,
    dataset: Option<String>,
    choices: Vec<Choice>,
    prompt: Option<Node>,
    solution: Option<Node>,
    /// Whether rows without the columns of the solution have none.
    is_solution_optional: bool,
    id: Option<Node>,
}

/// A task, or a reason to refuse rows, for the rows on which `when` is true.
struct Choice {
    when: Option<CompiledText>,
    makes: Makes,
}

enum Makes {
    Task(Node),
    Refusal(CompiledText),
}

/// JSON with compiled strings.
#[derive(Debug)]
enum Node {
    /// A value without strings.
    Constant(Value),
    Text(CompiledText),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Template {
    /// Reads a template: a task, or an object with `task` or `tasks` and optionally `dataset`,
    /// `prompt`, `solution` and `id`.
    ///
    /// # Errors
    /// [`TemplateError`]: invalid JSON, wrong fields, or a text that cannot be compiled, with its
    /// JSON pointer.
    pub fn from_json(json: &str) -> Result<Self, TemplateError> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| TemplateError::NotJson(json_message(&error, json.as_bytes())))?;
        let Value::Object(mut fields) = value else {
            return Err(shape("it is not an object"));
        };
        let mut renderer = Renderer::new();
        if fields.contains_key("type") {
            let task = compile(&mut renderer, "", Value::Object(fields))?;
            return Ok(Self {
                renderer,
                dataset: None,
                choices: vec![Choice {
                    when: None,
                    makes: Makes::Task(task),
                }],
                prompt: None,
                solution: None,
                is_solution_optional: false,
                id: None,
            });
        }
        let choices = match (fields.remove("task"), fields.remove("tasks")) {
            (Some(task), None) => vec![Choice {
                when: None,
                makes: Makes::Task(compile(&mut renderer, "/task", task)?),
            }],
            (None, Some(Value::Array(tasks))) if !tasks.is_empty() => tasks
                .into_iter()
                .enumerate()
                .map(|(at, task)| choice(&mut renderer, &format!("/tasks/{at}"), task))
                .collect::<Result<_, _>>()?,
            (None, Some(_)) => return Err(shape("`tasks` is not an array with elements")),
            (Some(_), Some(_)) => return Err(shape("it has both `task` and `tasks`")),
            (None, None) => return Err(shape("it has neither `type`, `task` nor `tasks`")),
        };
        let dataset = match fields.remove("dataset") {
            None => None,
            Some(Value::String(dataset)) => Some(dataset),
            Some(_) => return Err(shape("`dataset` is not a string")),
        };
        let mut part = |name: &str| {
            let text = fields.remove(name);
            text.map(|text| compile(&mut renderer, &format!("/{name}"), text))
                .transpose()
        };
        let (prompt, solution, id) = (part("prompt")?, part("solution")?, part("id")?);
        reject_other_fields(&fields, "")?;
        Ok(Self {
            renderer,
            dataset,
            choices,
            prompt,
            solution,
            is_solution_optional: false,
            id,
        })
    }

    /// Reads a built-in template. Copies of its dataset often lack the solutions, so they are
    /// optional.
    pub(crate) fn built_in(json: &str) -> Result<Self, TemplateError> {
        Ok(Self {
            is_solution_optional: true,
            ..Self::from_json(json)?
        })
    }

    /// The built-in template with this name.
    ///
    /// # Errors
    /// [`TemplateError::Unknown`], with the available names.
    pub fn named(name: &str) -> Result<Self, TemplateError> {
        let source = named::source(name);
        Self::built_in(source.ok_or_else(|| TemplateError::unknown(name, named::NAMES))?)
    }

    /// The task of a row.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, an expression fails, the template refuses the row, or the
    /// result is not a task.
    pub fn task(&self, row: &Row) -> Result<Task, RowError> {
        let columns = Columns::new(row);
        for choice in &self.choices {
            if let Some(when) = &choice.when
                && !self.is_true(when, &columns)?
            {
                continue;
            }
            return match &choice.makes {
                Makes::Task(task) => {
                    let value = self.fill(task, &columns)?;
                    Task::from_json(&value.to_string()).map_err(RowError::NoTask)
                }
                Makes::Refusal(reason) => Err(RowError::Refused {
                    reason: text(self.renderer.render(reason, &columns)?),
                }),
            };
        }
        Err(RowError::Refused {
            reason: "the template has no task for rows like this one".to_owned(),
        })
    }

    fn is_true(&self, when: &CompiledText, columns: &Columns<'_>) -> Result<bool, RowError> {
        match self.renderer.render(when, columns)? {
            Value::Bool(value) => Ok(value),
            other => Err(RowError::Failed {
                pointer: when.pointer().to_owned(),
                message: format!("the condition is neither true nor false: {other}"),
            }),
        }
    }

    /// The prompt of a row; `None` if the template has no `prompt`.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn prompt(&self, row: &Row) -> Result<Option<Value>, RowError> {
        self.part(self.prompt.as_ref(), row)
    }

    /// A completion that should pass; `None` if the template has no `solution`, or if it is
    /// built-in and the row lacks a column of the solution.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn solution(&self, row: &Row) -> Result<Option<Value>, RowError> {
        match self.part(self.solution.as_ref(), row) {
            Err(RowError::Missing { .. }) if self.is_solution_optional => Ok(None),
            solution => solution,
        }
    }

    /// The id of a row; `None` if the template has no `id`.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn id(&self, row: &Row) -> Result<Option<Value>, RowError> {
        self.part(self.id.as_ref(), row)
    }

    /// A description of the dataset that the template is for.
    #[must_use]
    pub fn dataset(&self) -> Option<&str> {
        self.dataset.as_deref()
    }

    /// The names of the graders of its tasks, except those that depend on the row.
    #[must_use]
    pub fn graders(&self) -> BTreeSet<&str> {
        let tasks = self
            .choices
            .iter()
            .filter_map(|choice| match &choice.makes {
                Makes::Task(Node::Object(fields)) => Some(fields),
                _ => None,
            });
        let types = tasks.flatten().filter(|(name, _)| name == "type");
        types
            .filter_map(|(_, node)| match node {
                Node::Text(CompiledText::Plain(name)) => Some(name.as_str()),
                _ => None,
            })
            .collect()
    }

    /// What completions of its tasks must contain, as instructions to a model. One for each form
    /// that does not depend on the row.
    #[must_use]
    pub fn expected_forms(&self) -> BTreeSet<String> {
        let tasks = self
            .choices
            .iter()
            .filter_map(|choice| match &choice.makes {
                Makes::Task(task) => Some(task),
                Makes::Refusal(_) => None,
            });
        tasks.map(|task| expected_form(&constants(task))).collect()
    }

    /// The columns that its tasks are made from.
    #[must_use]
    pub fn columns(&self) -> BTreeSet<&str> {
        let mut columns = BTreeSet::new();
        for choice in &self.choices {
            if let Some(when) = &choice.when {
                columns.extend(when.reads());
            }
            match &choice.makes {
                Makes::Task(task) => add_reads(task, &mut columns),
                Makes::Refusal(reason) => columns.extend(reason.reads()),
            }
        }
        columns
    }

    /// The columns that its tasks, prompts, solutions and ids are made from.
    pub(crate) fn all_columns(&self) -> BTreeSet<&str> {
        let mut columns = self.columns();
        for node in [&self.prompt, &self.solution, &self.id]
            .into_iter()
            .flatten()
        {
            add_reads(node, &mut columns);
        }
        columns
    }

    fn part(&self, node: Option<&Node>, row: &Row) -> Result<Option<Value>, RowError> {
        node.map(|node| self.fill(node, &Columns::new(row)))
            .transpose()
    }

    fn fill(&self, node: &Node, columns: &Columns<'_>) -> Result<Value, RowError> {
        Ok(match node {
            Node::Constant(value) => value.clone(),
            Node::Text(text) => self.renderer.render(text, columns)?,
            Node::Array(nodes) => Value::Array(
                nodes
                    .iter()
                    .map(|node| self.fill(node, columns))
                    .collect::<Result<_, _>>()?,
            ),
            Node::Object(nodes) => {
                let filled =
                    |(name, node): &(String, Node)| Ok((name.clone(), self.fill(node, columns)?));
                Value::Object(nodes.iter().map(filled).collect::<Result<_, RowError>>()?)
            }
        })
    }
}

fn shape(message: &str) -> TemplateError {
    TemplateError::Shape(message.to_owned())
}

fn reject_other_fields(fields: &Map<String, Value>, pointer: &str) -> Result<(), TemplateError> {
    let Some(unknown) = fields.keys().next() else {
        return Ok(());
    };
    let place = if pointer.is_empty() {
        String::new()
    } else {
        format!(" at `{pointer}`")
    };
    Err(shape(&format!("unknown field `{unknown}`{place}")))
}

/// Compiles an element of `tasks`.
fn choice(renderer: &mut Renderer, pointer: &str, value: Value) -> Result<Choice, TemplateError> {
    let Value::Object(mut fields) = value else {
        return Err(shape(&format!("`{pointer}` is not an object")));
    };
    let mut text = |name: &str| match fields.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => renderer
            .compile(&format!("{pointer}/{name}"), &text)
            .map(Some),
        Some(_) => Err(shape(&format!("`{pointer}/{name}` is not a string"))),
    };
    let (when, refuse) = (text("when")?, text("refuse")?);
    if let Some(CompiledText::Plain(_) | CompiledText::Mixed { .. }) = when {
        let message = format!("`{pointer}/when` must be a single expression");
        return Err(shape(&message));
    }
    let makes = match (fields.remove("task"), refuse) {
        (Some(task), None) => Makes::Task(compile(renderer, &format!("{pointer}/task"), task)?),
        (None, Some(reason)) => Makes::Refusal(reason),
        _ => {
            let message = format!("`{pointer}` must have either `task` or `refuse`");
            return Err(shape(&message));
        }
    };
    reject_other_fields(&fields, pointer)?;
    Ok(Choice { when, makes })
}

/// The text of a value: without quotes if it is a string.
fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The parts of a task that do not depend on the row; null for the others.
fn constants(node: &Node) -> Value {
    match node {
        Node::Constant(value) => value.clone(),
        Node::Text(CompiledText::Plain(text)) => text.clone().into(),
        Node::Text(_) => Value::Null,
        Node::Array(nodes) => nodes.iter().map(constants).collect(),
        Node::Object(nodes) => {
            let fields = nodes
                .iter()
                .map(|(name, node)| (name.clone(), constants(node)));
            Value::Object(fields.collect())
        }
    }
}

fn add_reads<'n>(node: &'n Node, columns: &mut BTreeSet<&'n str>) {
    match node {
        Node::Constant(_) => {}
        Node::Text(text) => columns.extend(text.reads()),
        Node::Array(nodes) => nodes.iter().for_each(|node| add_reads(node, columns)),
        Node::Object(nodes) => nodes.iter().for_each(|(_, node)| add_reads(node, columns)),
    }
}

fn compile(renderer: &mut Renderer, at: &str, value: Value) -> Result<Node, TemplateError> {
    Ok(match value {
        Value::String(text) => Node::Text(renderer.compile(at, &text)?),
        Value::Array(values) => {
            let nodes = values.into_iter().enumerate();
            let nodes =
                nodes.map(|(index, value)| compile(renderer, &format!("{at}/{index}"), value));
            Node::Array(nodes.collect::<Result<_, _>>()?)
        }
        Value::Object(values) => {
            let nodes = values.into_iter().map(|(name, value)| {
                let node = compile(renderer, &pointer::member(at, &name), value)?;
                Ok((name, node))
            });
            Node::Object(nodes.collect::<Result<_, TemplateError>>()?)
        }
        constant => Node::Constant(constant),
    })
}
