//! Texts of templates: compiled once, rendered for each row.

use std::collections::{BTreeMap, BTreeSet};

use assay_jinja::Program;
use minijinja::value::Serde;
use minijinja::{
    AutoEscape, Environment, ErrorKind, Output, State, UndefinedBehavior, Value as Jinja,
};
use serde_json::Value;

use crate::jinja_functions;
use crate::{Row, RowError, TemplateError};

/// Maximum number of Jinja instructions per text and row.
const FUEL: u64 = 1_000_000;

/// Variable that receives the value of a single expression.
const RESULT: &str = "__result";

/// The compiled texts of a template, by their JSON pointers.
pub(crate) struct Renderer {
    environment: Environment<'static>,
    programs: BTreeMap<String, Program>,
}

/// A compiled text. `reads` are the columns that it uses.
#[derive(Debug)]
pub(crate) enum CompiledText {
    /// A text without Jinja.
    Plain(String),
    /// The value of one column.
    Column { pointer: String, name: String },
    /// A single expression, whose value keeps its type.
    Expression {
        pointer: String,
        reads: BTreeSet<String>,
    },
    /// A text that contains expressions or statements.
    Mixed {
        pointer: String,
        reads: BTreeSet<String>,
    },
}

impl CompiledText {
    /// The columns that the text uses.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &str> {
        let (one, several) = match self {
            Self::Plain(_) => (None, None),
            Self::Column { name, .. } => (Some(name.as_str()), None),
            Self::Expression { reads, .. } | Self::Mixed { reads, .. } => (None, Some(reads)),
        };
        let several = several.into_iter().flatten().map(String::as_str);
        one.into_iter().chain(several)
    }

    /// JSON pointer to the text in its template; empty for a text without Jinja.
    pub(crate) fn pointer(&self) -> &str {
        match self {
            Self::Plain(_) => "",
            Self::Column { pointer, .. }
            | Self::Expression { pointer, .. }
            | Self::Mixed { pointer, .. } => pointer,
        }
    }
}

/// The columns of a row, converted for Jinja when first used.
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

impl Renderer {
    pub(crate) fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Templates are named by JSON pointers, so the format for escaping cannot be derived from
        // the name.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        assay_jinja::bound(&mut environment);
        environment.set_formatter(format_value);
        jinja_functions::add(&mut environment);
        Self {
            environment,
            programs: BTreeMap::new(),
        }
    }

    /// Compiles the text at `pointer`.
    pub(crate) fn compile(
        &mut self,
        pointer: &str,
        text: &str,
    ) -> Result<CompiledText, TemplateError> {
        if !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
            return Ok(CompiledText::Plain(text.to_owned()));
        }
        let pointer = pointer.to_owned();
        if let Some(expression) = single_expression(text) {
            if is_name(expression) {
                return Ok(CompiledText::Column {
                    pointer,
                    name: expression.to_owned(),
                });
            }
            let reads = self.add(&pointer, &format!("{{% set {RESULT} = ({expression}) %}}"))?;
            return Ok(CompiledText::Expression { pointer, reads });
        }
        let reads = self.add(&pointer, text)?;
        Ok(CompiledText::Mixed { pointer, reads })
    }

    fn add(&mut self, pointer: &str, source: &str) -> Result<BTreeSet<String>, TemplateError> {
        let invalid = |error: minijinja::Error| TemplateError::Text {
            pointer: pointer.to_owned(),
            message: one_line(&error),
        };
        let program = Program::compile(&self.environment, pointer, source).map_err(invalid)?;
        self.programs.insert(pointer.to_owned(), program);
        let globals: BTreeSet<String> = self
            .environment
            .globals()
            .map(|(name, _)| name.to_owned())
            .collect();
        let reads = assay_jinja::reads(&self.environment, pointer, source).map_err(invalid)?;
        Ok(reads
            .into_iter()
            .filter(|name| !globals.contains(name))
            .chain(named_columns(source))
            .collect())
    }

    /// The value of a text for a row.
    pub(crate) fn render(
        &self,
        text: &CompiledText,
        columns: &Columns<'_>,
    ) -> Result<Value, RowError> {
        match text {
            CompiledText::Plain(text) => Ok(Value::String(text.clone())),
            CompiledText::Column { pointer, name } => match columns.row.get(name) {
                None | Some(Value::Null) => Err(RowError::Missing {
                    column: name.clone(),
                    pointer: pointer.clone(),
                }),
                Some(value) => Ok(value.clone()),
            },
            CompiledText::Expression { pointer, reads } => {
                let rendered = self
                    .run(pointer, columns, Some(RESULT))
                    .map(|(_, value)| value);
                let value =
                    rendered.map_err(|error| failed(&error, pointer, reads, columns.row))?;
                let Some(value) = value.filter(|value| !value.is_undefined()) else {
                    return Err(missing_or_failed(pointer, reads, columns.row, || {
                        "the value is undefined".to_owned()
                    }));
                };
                serde_json::to_value(value).map_err(|error| RowError::Failed {
                    pointer: pointer.clone(),
                    message: error.to_string(),
                })
            }
            CompiledText::Mixed { pointer, reads } => {
                let rendered = self.run(pointer, columns, None).map(|(text, _)| text);
                rendered
                    .map(Value::String)
                    .map_err(|error| failed(&error, pointer, reads, columns.row))
            }
        }
    }
}

impl Renderer {
    fn run(
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

/// Writes a value into a text. Null and undefined values are errors.
fn format_value(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Jinja,
) -> Result<(), minijinja::Error> {
    if value.is_undefined() || value.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    assay_jinja::emit(out, state, value)
}

/// The expression of a text that consists of a single expression.
fn single_expression(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    // The whitespace control of Jinja has no effect without surrounding text.
    (!closes_within(inside)).then(|| inside.trim_matches('-').trim())
}

/// Whether the expression at the start of a text is closed by a `}}` within the text. As in Jinja,
/// what is in quotes or brackets does not close it: `{'a': {'b': 1}}` is an expression.
fn closes_within(text: &str) -> bool {
    let (mut quote, mut escaped, mut depth) = (None, false, 0_i64);
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b'}') if depth <= 0 && bytes.get(at + 1) == Some(&b'}') => return true,
            (None, b')' | b']' | b'}') => depth -= 1,
            (None, _) => {}
        }
    }
    false
}

/// The names that a text passes to the function `column`, as far as they are constant.
fn named_columns(source: &str) -> impl Iterator<Item = String> {
    source.match_indices("column(").filter_map(|(at, call)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if source[..at].ends_with(is_part) {
            return None;
        }
        let argument = source[at + call.len()..].trim_start();
        let quote = argument.chars().next().filter(|c| "'\"".contains(*c))?;
        let (name, rest) = argument[1..].split_once(quote)?;
        let is_whole = rest.trim_start().starts_with(')') && !name.contains('\\');
        is_whole.then(|| name.to_owned())
    })
}

/// Whether an expression is a name, which is read from the row without Jinja.
fn is_name(expression: &str) -> bool {
    let mut characters = expression.chars();
    let starts = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let continues = characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    starts && continues && !["true", "false", "none", "True", "False", "None"].contains(&expression)
}

/// The error of a row on which an expression failed. An undefined value may be a missing column.
fn failed(
    error: &minijinja::Error,
    pointer: &str,
    reads: &BTreeSet<String>,
    row: &Row,
) -> RowError {
    if let Some(reason) = jinja_functions::refusal(error) {
        return RowError::Refused { reason };
    }
    let message = || match error.kind() {
        ErrorKind::OutOfFuel => format!("more than {FUEL} instructions"),
        _ => one_line(error),
    };
    // Operators and `length` report an undefined operand as an invalid type.
    let is_undefined = matches!(
        error.kind(),
        ErrorKind::UndefinedError | ErrorKind::UnknownMethod
    ) || error
        .detail()
        .is_some_and(|detail| detail.contains("undefined"));
    if is_undefined {
        return missing_or_failed(pointer, reads, row, message);
    }
    RowError::Failed {
        pointer: pointer.to_owned(),
        message: message(),
    }
}

/// [`RowError::Missing`] for the first column that the expression reads and the row lacks,
/// otherwise [`RowError::Failed`].
fn missing_or_failed(
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

/// An error in one line, without the internal name of the template.
fn one_line(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_expressions_may_contain_brackets_and_quotes() {
        for (text, expected) in [
            ("{{ a }}", Some("a")),
            (" {{- a -}} ", Some("a")),
            (
                "{{ b + [{'a': {'b': {}}}] }}",
                Some("b + [{'a': {'b': {}}}]"),
            ),
            ("{{ {'a': {}}}}", Some("{'a': {}}")),
            (r"{{ '}}\'}}{%' ~ a }}", Some(r"'}}\'}}{%' ~ a")),
            ("{{ a }}{{ b }}", None),
            ("{{ {} }} and {{ {} }}", None),
            ("{{ a }}{% if b %}{{ c }}", None),
            ("a {{ b }}", None),
        ] {
            assert_eq!(single_expression(text), expected, "{text}");
        }
    }

    #[test]
    fn constant_names_of_columns_are_found() {
        let source = r#"{{ column('A b') ~ column( "c'd" ) ~ column(e) ~ x.column('f') }}"#;
        let names: Vec<String> = named_columns(source).collect();
        assert_eq!(names, ["A b", "c'd"]);
    }
}
