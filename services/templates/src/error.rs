//! Errors of templates, and of rows that templates are applied to.

use assay_base::did_you_mean;

/// Why a template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template is not valid JSON.
    #[error("the template is not JSON: {0}")]
    NotJson(String),
    /// The template has the wrong fields.
    #[error(
        "the template must be a task with a `type`, or an object with `task` or `tasks` and \
         optionally `dataset`, `prompt`, `solution` and `id`: {0}"
    )]
    Shape(String),
    /// A text of the template cannot be compiled.
    #[error("invalid template at `{pointer}`: {message}")]
    Text {
        /// JSON pointer to the text.
        pointer: String,
        /// The error of the compiler.
        message: String,
    },
    /// No template has this name.
    #[error("no template `{name}`{known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The end of the message: a similar name, or all that are available.
        known: String,
    },
    /// A template with this name exists.
    #[error("a template named `{0}` already exists; choose another name")]
    Taken(String),
}

impl TemplateError {
    pub(crate) fn unknown(name: &str, known: &[&str]) -> Self {
        let similar = did_you_mean(name, known.iter().copied());
        let known = if similar.is_empty() {
            format!("; available: `{}`", known.join("`, `"))
        } else {
            similar
        };
        Self::Unknown {
            name: name.to_owned(),
            known,
        }
    }
}

/// Why a template cannot be applied to a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// A column is missing or null.
    #[error("missing column `{column}`, which the template reads at `{pointer}`")]
    Missing {
        /// Name of the column.
        column: String,
        /// JSON pointer to the text that reads the column.
        pointer: String,
    },
    /// An expression fails on the row.
    #[error("the template fails at `{pointer}`: {message}")]
    Failed {
        /// JSON pointer to the text.
        pointer: String,
        /// The error of the expression.
        message: String,
    },
    /// The template has no task for the row.
    #[error("no task for this row: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// The result is not a task.
    #[error("the result of the template is not a task: {0}")]
    NoTask(assay_core::TaskError),
}
