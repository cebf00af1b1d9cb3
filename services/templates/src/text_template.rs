//! A single text over the columns of a row, such as that of a reference solution, which can be used
//! with or without a template of the task.

use serde_json::Value;

use crate::compiled_text::{Columns, CompiledText, Renderer};
use crate::{Row, RowError, TemplateError};

/// Makes a value from a row.
pub struct TextTemplate {
    renderer: Renderer,
    text: CompiledText,
}

impl TextTemplate {
    /// Compiles a text over the columns, such as `{{ canonical_solution }}`. Errors name it by
    /// `pointer`.
    ///
    /// # Errors
    /// [`TemplateError::Text`]: the text cannot be compiled.
    pub fn new(pointer: &str, text: &str) -> Result<Self, TemplateError> {
        let mut renderer = Renderer::new();
        let text = renderer.compile(pointer, text)?;
        Ok(Self { renderer, text })
    }

    /// The value for a row: of any type if the text is a single expression, otherwise a string.
    ///
    /// # Errors
    /// [`RowError`]: a column is missing, or an expression fails.
    pub fn value(&self, row: &Row) -> Result<Value, RowError> {
        self.renderer.render(&self.text, &Columns::new(row))
    }
}
