//! A reference solution: one text over the columns of a row, with a template of the task or without
//! one.

use serde_json::Value;

use crate::jinja::{Columns, Engine, Text};
use crate::{Row, RowError, TemplateError};

/// How rows contain a completion that should pass.
pub struct SolutionTemplate {
    engine: Engine,
    text: Text,
}

impl SolutionTemplate {
    /// Compiles a text over the columns, such as `{{ canonical_solution }}`.
    ///
    /// # Errors
    /// [`TemplateError::Text`].
    pub fn new(text: &str) -> Result<Self, TemplateError> {
        let mut engine = Engine::new();
        let text = engine.compile("/solution", text)?;
        Ok(Self { engine, text })
    }

    /// The solution of a row.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn solution(&self, row: &Row) -> Result<Value, RowError> {
        self.engine.render(&self.text, &Columns::new(row))
    }
}
