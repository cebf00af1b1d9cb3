//! What can be wrong with a template, and with a row under it.

/// A template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is not JSON.
    #[error("the template is not JSON: {0}")]
    NotJson(String),
    /// It is JSON of another shape.
    #[error(
        "a template is a task, an object with a `type`, or an object with a `task` and perhaps \
         `prompt`, `solution` and `id`: {0}"
    )]
    Shape(String),
    /// One of its texts cannot be compiled.
    #[error("the template is wrong at `{pointer}`: {message}")]
    Text {
        /// JSON pointer to the text.
        pointer: String,
        /// What is wrong with it.
        message: String,
    },
    /// No template has this name.
    #[error("no template is named `{name}`; there are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Those there are.
        known: String,
    },
}

/// A row does not become what the template says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// It has no such column, or nothing in it.
    #[error("the row has no `{column}`, which the template reads at `{pointer}`")]
    Missing {
        /// The column.
        column: String,
        /// JSON pointer to the text that reads it.
        pointer: String,
    },
    /// An expression fails on the row.
    #[error("the template fails at `{pointer}`: {message}")]
    Failed {
        /// JSON pointer to the text.
        pointer: String,
        /// Why.
        message: String,
    },
    /// What came out is no task.
    #[error("the template makes no task of the row: {0}")]
    NoTask(assay_core::TaskError),
}
