//! A template: the task, and beside it what a dataset says of its prompt, its solution and its
//! name.

use assay_core::Task;
use serde_json::Value;

use crate::jinja::{Columns, Engine, Text};
use crate::{Row, RowError, TemplateError, named};

/// How rows become tasks.
pub struct Template {
    engine: Engine,
    task: Node,
    prompt: Option<Node>,
    solution: Option<Node>,
    id: Option<Node>,
}

/// JSON whose texts are compiled.
#[derive(Debug)]
enum Node {
    Other(Value),
    Text(Text),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Template {
    /// Reads a template: a task, or an object with a `task` and perhaps `prompt`, `solution` and
    /// `id`.
    ///
    /// # Errors
    /// [`TemplateError`], with a pointer to the text that is wrong.
    pub fn from_json(json: &str) -> Result<Self, TemplateError> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| TemplateError::NotJson(error.to_string()))?;
        let Value::Object(mut fields) = value else {
            return Err(TemplateError::Shape("it is no object".to_owned()));
        };
        let mut engine = Engine::new();
        if fields.contains_key("type") {
            let task = compile(&mut engine, "", Value::Object(fields))?;
            return Ok(Self {
                engine,
                task,
                prompt: None,
                solution: None,
                id: None,
            });
        }
        let task = fields
            .remove("task")
            .ok_or_else(|| TemplateError::Shape("it has neither".to_owned()))?;
        let task = compile(&mut engine, "/task", task)?;
        let mut part = |name: &str| {
            let text = fields.remove(name);
            text.map(|text| compile(&mut engine, &format!("/{name}"), text))
                .transpose()
        };
        let (prompt, solution, id) = (part("prompt")?, part("solution")?, part("id")?);
        if let Some(unknown) = fields.keys().next() {
            return Err(TemplateError::Shape(format!(
                "it has an unknown `{unknown}`"
            )));
        }
        Ok(Self {
            engine,
            task,
            prompt,
            solution,
            id,
        })
    }

    /// The template of this name, for datasets that many use.
    ///
    /// # Errors
    /// [`TemplateError::Unknown`], with the names there are.
    pub fn named(name: &str) -> Result<Self, TemplateError> {
        Self::from_json(named::source(name)?)
    }

    /// The task of a row.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, an expression fails, or the result is no task.
    pub fn task(&self, row: &Row) -> Result<Task, RowError> {
        let value = self.fill(&self.task, &Columns::new(row))?;
        Task::from_json(&value.to_string()).map_err(RowError::NoTask)
    }

    /// The prompt of a row; `None` when the template says nothing of it.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn prompt(&self, row: &Row) -> Result<Option<Value>, RowError> {
        self.part(self.prompt.as_ref(), row)
    }

    /// A completion that should pass; `None` when the template says nothing of it.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn solution(&self, row: &Row) -> Result<Option<Value>, RowError> {
        self.part(self.solution.as_ref(), row)
    }

    /// The name of a row; `None` when the template says nothing of it.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn id(&self, row: &Row) -> Result<Option<Value>, RowError> {
        self.part(self.id.as_ref(), row)
    }

    fn part(&self, node: Option<&Node>, row: &Row) -> Result<Option<Value>, RowError> {
        node.map(|node| self.fill(node, &Columns::new(row)))
            .transpose()
    }

    fn fill(&self, node: &Node, columns: &Columns<'_>) -> Result<Value, RowError> {
        Ok(match node {
            Node::Other(value) => value.clone(),
            Node::Text(text) => self.engine.render(text, columns)?,
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

fn compile(engine: &mut Engine, pointer: &str, value: Value) -> Result<Node, TemplateError> {
    Ok(match value {
        Value::String(text) => Node::Text(engine.compile(pointer, &text)?),
        Value::Array(values) => {
            let nodes = values.into_iter().enumerate();
            let nodes = nodes.map(|(at, value)| compile(engine, &format!("{pointer}/{at}"), value));
            Node::Array(nodes.collect::<Result<_, _>>()?)
        }
        Value::Object(values) => {
            let nodes = values.into_iter().map(|(name, value)| {
                let step = name.replace('~', "~0").replace('/', "~1");
                Ok((name, compile(engine, &format!("{pointer}/{step}"), value)?))
            });
            Node::Object(nodes.collect::<Result<_, TemplateError>>()?)
        }
        other => Node::Other(other),
    })
}
