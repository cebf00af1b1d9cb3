//! A template: makes the task of a row, and optionally its prompt, solution and id.

use assay_core::Task;
use serde_json::Value;

use crate::compiled_text::{Columns, CompiledText, Renderer};
use crate::{Row, RowError, TemplateError, named};

/// Makes tasks of rows.
pub struct Template {
    renderer: Renderer,
    task: Node,
    prompt: Option<Node>,
    solution: Option<Node>,
    id: Option<Node>,
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
    /// Reads a template: a task, or an object with a `task` and optionally `prompt`, `solution` and
    /// `id`.
    ///
    /// # Errors
    /// [`TemplateError`]: invalid JSON, wrong fields, or a text that cannot be compiled, with its
    /// JSON pointer.
    pub fn from_json(json: &str) -> Result<Self, TemplateError> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| TemplateError::NotJson(error.to_string()))?;
        let Value::Object(mut fields) = value else {
            return Err(TemplateError::Shape("it is not an object".to_owned()));
        };
        let mut renderer = Renderer::new();
        if fields.contains_key("type") {
            let task = compile(&mut renderer, "", Value::Object(fields))?;
            return Ok(Self {
                renderer,
                task,
                prompt: None,
                solution: None,
                id: None,
            });
        }
        let task = fields
            .remove("task")
            .ok_or_else(|| TemplateError::Shape("it has neither `type` nor `task`".to_owned()))?;
        let task = compile(&mut renderer, "/task", task)?;
        let mut part = |name: &str| {
            let text = fields.remove(name);
            text.map(|text| compile(&mut renderer, &format!("/{name}"), text))
                .transpose()
        };
        let (prompt, solution, id) = (part("prompt")?, part("solution")?, part("id")?);
        if let Some(unknown) = fields.keys().next() {
            return Err(TemplateError::Shape(format!("unknown field `{unknown}`")));
        }
        Ok(Self {
            renderer,
            task,
            prompt,
            solution,
            id,
        })
    }

    /// The built-in template with this name.
    ///
    /// # Errors
    /// [`TemplateError::Unknown`], with the available names.
    pub fn named(name: &str) -> Result<Self, TemplateError> {
        Self::from_json(named::source(name)?)
    }

    /// The task of a row.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, an expression fails, or the result is not a task.
    pub fn task(&self, row: &Row) -> Result<Task, RowError> {
        let value = self.fill(&self.task, &Columns::new(row))?;
        Task::from_json(&value.to_string()).map_err(RowError::NoTask)
    }

    /// The prompt of a row; `None` if the template has no `prompt`.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn prompt(&self, row: &Row) -> Result<Option<Value>, RowError> {
        self.part(self.prompt.as_ref(), row)
    }

    /// A completion that should pass; `None` if the template has no `solution`.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn solution(&self, row: &Row) -> Result<Option<Value>, RowError> {
        self.part(self.solution.as_ref(), row)
    }

    /// The id of a row; `None` if the template has no `id`.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn id(&self, row: &Row) -> Result<Option<Value>, RowError> {
        self.part(self.id.as_ref(), row)
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

fn compile(renderer: &mut Renderer, pointer: &str, value: Value) -> Result<Node, TemplateError> {
    Ok(match value {
        Value::String(text) => Node::Text(renderer.compile(pointer, &text)?),
        Value::Array(values) => {
            let nodes = values.into_iter().enumerate();
            let nodes =
                nodes.map(|(at, value)| compile(renderer, &format!("{pointer}/{at}"), value));
            Node::Array(nodes.collect::<Result<_, _>>()?)
        }
        Value::Object(values) => {
            let nodes = values.into_iter().map(|(name, value)| {
                let step = name.replace('~', "~0").replace('/', "~1");
                Ok((
                    name,
                    compile(renderer, &format!("{pointer}/{step}"), value)?,
                ))
            });
            Node::Object(nodes.collect::<Result<_, TemplateError>>()?)
        }
        constant => Node::Constant(constant),
    })
}
