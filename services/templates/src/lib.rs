//! Owns templates: how the row of a dataset becomes a task, its prompt and its reference solution.
//! Reads no file and grades nothing.
//!
//! A template is JSON whose texts are Jinja over the columns of a row. A text that is one
//! expression and nothing else keeps the type of its value: `"{{ tests }}"` is the list that the
//! column holds, `"answer: {{ a }}"` a text.
//!
//! ```
//! use assay_templates::{Row, Template};
//!
//! let template = Template::from_json(r#"{ "type": "math", "answer": "{{ answer.split('####')[1].strip() }}" }"#)?;
//! let row: Row = serde_json::from_str(r#"{ "question": "6 times 7?", "answer": "6 * 7 = 42\n#### 42" }"#)?;
//! assert_eq!(template.task(&row)?.body.get(), r#"{"answer":"42","type":"math"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod functions;
mod jinja;
mod named;
mod solution;
mod template;

pub use error::{RowError, TemplateError};
pub use named::NAMES;
pub use solution::SolutionTemplate;
pub use template::Template;

/// The columns of one row by their names.
pub type Row = serde_json::Map<String, serde_json::Value>;
