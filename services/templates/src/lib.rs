//! Owns templates, which make tasks, prompts and reference solutions of dataset rows. Reads no
//! files and grades nothing.
//!
//! A template is JSON whose strings are Jinja templates over the columns of a row. A string that is
//! a single expression keeps the type of its value: `"{{ tests }}"` is a list if the column
//! contains a list, while `"answer: {{ a }}"` is always a string.
//!
//! ```
//! use assay_templates::{Row, Template};
//!
//! let template = Template::from_json(
//!     r#"{ "type": "math", "answer": "{{ answer.split('####')[1].strip() }}" }"#,
//! )?;
//! let row: Row = serde_json::from_str(
//!     r#"{ "question": "6 times 7?", "answer": "6 * 7 = 42\n#### 42" }"#,
//! )?;
//! assert_eq!(template.task(&row)?.body.get(), r#"{"answer":"42","type":"math"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calls;
mod code_tests;
mod compiled_text;
mod criteria;
mod error;
mod expected_form;
mod instructions;
mod jinja_functions;
mod named;
mod pickled;
mod read_row;
mod template;
mod templates;
mod text_template;
mod tool_schemas;

pub use assay_jinja::produced as produced_bytes;
pub use error::{RowError, TemplateError};
pub use expected_form::expected_form;
pub use named::{NAMES, source};
pub use read_row::{RowTextError, UniqueValue, read_row};
pub use template::Template;
pub use templates::Templates;
pub use text_template::TextTemplate;

/// The columns of a row by name.
pub type Row = serde_json::Map<String, serde_json::Value>;
