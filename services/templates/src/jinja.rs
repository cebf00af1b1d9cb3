//! One text of a template: compiled once, rendered over each row.

use std::collections::{BTreeMap, BTreeSet};

use assay_jinja::Program;
use minijinja::value::Serde;
use minijinja::{
    AutoEscape, Environment, ErrorKind, Output, State, UndefinedBehavior, Value as Jinja,
};
use serde_json::Value;

use crate::functions;
use crate::{Row, RowError, TemplateError};

/// Instructions that one text may take on one row: far more than any layout of a dataset needs.
const FUEL: u64 = 1_000_000;

/// Name under which the value of a lone expression is found again.
const MADE: &str = "__made";

/// The texts of a template under their pointers.
pub(crate) struct Engine {
    environment: Environment<'static>,
    programs: BTreeMap<String, Program>,
}

/// How a text is rendered.
#[derive(Debug)]
pub(crate) enum Text {
    /// It has nothing of Jinja.
    Plain(String),
    /// It is the value of one column.
    Column { pointer: String, name: String },
    /// It is one expression, whose value keeps its type.
    Expression {
        pointer: String,
        reads: BTreeSet<String>,
    },
    /// It is a text with something in it.
    Mixed {
        pointer: String,
        reads: BTreeSet<String>,
    },
}

/// The columns of a row as expressions see them.
pub(crate) struct Columns<'a> {
    row: &'a Row,
    jinja: std::cell::OnceCell<Jinja>,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(row: &'a Row) -> Self {
        Self {
            row,
            jinja: std::cell::OnceCell::new(),
        }
    }

    fn jinja(&self) -> Jinja {
        self.jinja
            .get_or_init(|| Jinja::from(Serde(self.row)))
            .clone()
    }
}

impl Engine {
    pub(crate) fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Templates are named by their pointers, which say nothing of what they write.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        assay_jinja::bound(&mut environment);
        environment.set_formatter(written);
        functions::add(&mut environment);
        Self {
            environment,
            programs: BTreeMap::new(),
        }
    }

    /// Compiles the text at `pointer`.
    pub(crate) fn compile(&mut self, pointer: &str, text: &str) -> Result<Text, TemplateError> {
        if !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
            return Ok(Text::Plain(text.to_owned()));
        }
        let pointer = pointer.to_owned();
        if let Some(expression) = lone(text) {
            if is_name(expression) {
                return Ok(Text::Column {
                    pointer,
                    name: expression.to_owned(),
                });
            }
            let reads = self.add(&pointer, &format!("{{% set {MADE} = ({expression}) %}}"))?;
            return Ok(Text::Expression { pointer, reads });
        }
        let reads = self.add(&pointer, text)?;
        Ok(Text::Mixed { pointer, reads })
    }

    fn add(&mut self, pointer: &str, source: &str) -> Result<BTreeSet<String>, TemplateError> {
        let wrong = |error: minijinja::Error| TemplateError::Text {
            pointer: pointer.to_owned(),
            message: told(&error),
        };
        let program = Program::compile(&self.environment, pointer, source).map_err(wrong)?;
        self.programs.insert(pointer.to_owned(), program);
        let globals: BTreeSet<String> = self
            .environment
            .globals()
            .map(|(name, _)| name.to_owned())
            .collect();
        let reads = assay_jinja::reads(&self.environment, pointer, source).map_err(wrong)?;
        Ok(reads
            .into_iter()
            .filter(|name| !globals.contains(name))
            .collect())
    }

    /// The value of a text on a row.
    pub(crate) fn render(&self, text: &Text, columns: &Columns<'_>) -> Result<Value, RowError> {
        match text {
            Text::Plain(text) => Ok(Value::String(text.clone())),
            Text::Column { pointer, name } => match columns.row.get(name) {
                None | Some(Value::Null) => Err(RowError::Missing {
                    column: name.clone(),
                    pointer: pointer.clone(),
                }),
                Some(value) => Ok(value.clone()),
            },
            Text::Expression { pointer, reads } => {
                let found = self
                    .rendered(pointer, columns, Some(MADE))
                    .map(|(_, value)| value);
                let value = found.map_err(|error| failed(&error, pointer, reads, columns.row))?;
                let Some(value) = value.filter(|value| !value.is_undefined()) else {
                    return Err(absent(pointer, reads, columns.row, || {
                        "it gives nothing on this row".to_owned()
                    }));
                };
                serde_json::to_value(value).map_err(|error| RowError::Failed {
                    pointer: pointer.clone(),
                    message: error.to_string(),
                })
            }
            Text::Mixed { pointer, reads } => {
                let rendered = self.rendered(pointer, columns, None).map(|(text, _)| text);
                rendered
                    .map(Value::String)
                    .map_err(|error| failed(&error, pointer, reads, columns.row))
            }
        }
    }
}

impl Engine {
    fn rendered(
        &self,
        pointer: &str,
        columns: &Columns<'_>,
        name: Option<&str>,
    ) -> Result<(String, Option<Jinja>), minijinja::Error> {
        let program = self
            .programs
            .get(pointer)
            .ok_or(ErrorKind::TemplateNotFound)?;
        program.render(&self.environment, columns.jinja(), name)
    }
}

/// Writes a value into a text. Null is nothing that a text could say.
fn written(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Jinja,
) -> Result<(), minijinja::Error> {
    if value.is_undefined() || value.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    assay_jinja::emit(out, state, value)
}

/// The expression of a text that is one expression and nothing else.
fn lone(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let more = ["{{", "}}", "{%", "{#"]
        .iter()
        .any(|mark| inside.contains(mark));
    // White space control of Jinja means nothing where there is nothing around.
    (!more).then(|| inside.trim_matches('-').trim())
}

/// Whether an expression is a plain name, which the row answers without Jinja.
fn is_name(expression: &str) -> bool {
    let mut characters = expression.chars();
    let starts = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let goes_on = characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    starts && goes_on && !["true", "false", "none", "True", "False", "None"].contains(&expression)
}

/// Why an expression failed: for want of a column, or otherwise.
fn failed(
    error: &minijinja::Error,
    pointer: &str,
    reads: &BTreeSet<String>,
    row: &Row,
) -> RowError {
    let message = || match error.kind() {
        ErrorKind::OutOfFuel => "it does not come to an end".to_owned(),
        _ => told(error),
    };
    if error.kind() == ErrorKind::UndefinedError || error.kind() == ErrorKind::UnknownMethod {
        return absent(pointer, reads, row, message);
    }
    RowError::Failed {
        pointer: pointer.to_owned(),
        message: message(),
    }
}

/// The first column that an expression reads and the row has not, else the failure as it was told.
fn absent(
    pointer: &str,
    reads: &BTreeSet<String>,
    row: &Row,
    message: impl FnOnce() -> String,
) -> RowError {
    let pointer = pointer.to_owned();
    match reads
        .iter()
        .find(|name| row.get(*name).is_none_or(Value::is_null))
    {
        Some(column) => RowError::Missing {
            column: column.clone(),
            pointer,
        },
        None => RowError::Failed {
            pointer,
            message: message(),
        },
    }
}

/// An error in one line, without the name that the text has here.
fn told(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}
