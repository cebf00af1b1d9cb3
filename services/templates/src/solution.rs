//! A template of a reference solution, which can be used with or without a template of the task.

use serde_json::Value;

use crate::compiled_text::{Columns, CompiledText, Renderer};
use crate::{Row, RowError, TemplateError};

/// Makes a completion that should pass from a row.
pub struct SolutionTemplate {
    renderer: Renderer,
    text: CompiledText,
}

impl SolutionTemplate {
    /// Compiles a text over the columns, such as `{{ canonical_solution }}`.
    ///
    /// # Errors
    /// [`TemplateError::Text`]: the text cannot be compiled.
    pub fn new(text: &str) -> Result<Self, TemplateError> {
        let mut renderer = Renderer::new();
        let text = renderer.compile("/solution", text)?;
        Ok(Self { renderer, text })
    }

    /// The solution of a row.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn solution(&self, row: &Row) -> Result<Value, RowError> {
        self.renderer.render(&self.text, &Columns::new(row))
    }
}
