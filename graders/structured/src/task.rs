//! A `structured` task, as in a request. The schema and the expected value are read as trees; the
//! schema is not compiled.

use assay_core::error::{check_tolerance, invalid};
use assay_core::{Task, TaskError};
use assay_documents::Json;
use assay_documents::schema::{Dialect, Draft};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::compare::CompareOptions;
use crate::formats::Format;
use crate::levels::Weights;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(default)]
    format: Format,
    #[serde(default)]
    schema: Option<Box<RawValue>>,
    #[serde(default)]
    draft: Option<RawDraft>,
    #[serde(default)]
    formats: Option<bool>,
    #[serde(default)]
    expected: Option<Box<RawValue>>,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    weights: Option<Weights>,
    #[serde(default)]
    extract: Extract,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    arrays: Arrays,
    #[serde(default)]
    float_tolerance: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum RawDraft {
    #[serde(rename = "4")]
    Four,
    #[serde(rename = "6")]
    Six,
    #[serde(rename = "7")]
    Seven,
    #[serde(rename = "2019-09")]
    Year2019,
    #[serde(rename = "2020-12")]
    Year2020,
}

/// How incorrect documents are scored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// With 0.
    #[default]
    Valid,
    /// By the levels that they reach.
    Partial,
}

/// Where in a completion the document is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extract {
    #[default]
    Auto,
    Whole,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Arrays {
    #[default]
    Ordered,
    Unordered,
}

/// A parsed and validated task.
#[derive(Debug, Clone)]
pub(crate) struct StructuredTask {
    pub(crate) format: Format,
    pub(crate) schema: Option<Json>,
    pub(crate) dialect: Dialect,
    pub(crate) expected: Option<Json>,
    /// Weights of the levels, for partial scores.
    pub(crate) weights: Option<Weights>,
    pub(crate) extract: Extract,
    /// The tool whose call contains the document.
    pub(crate) tool: Option<String>,
    pub(crate) options: CompareOptions,
}

impl StructuredTask {
    /// Reads a task.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the field that has the wrong type or range.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: Body = task.parse()?;
        let schema = tree(body.schema.as_deref(), "/schema")?;
        if !matches!(schema, None | Some(Json::Object(_) | Json::Bool(_))) {
            return Err(invalid(
                "/schema",
                "a schema must be an object or a boolean",
            ));
        }
        if schema.is_none() && (body.draft.is_some() || body.formats.is_some()) {
            let pointer = if body.draft.is_some() {
                "/draft"
            } else {
                "/formats"
            };
            return Err(invalid(pointer, "this option requires a `schema`"));
        }
        let expected = tree(body.expected.as_deref(), "/expected")?;
        check_tolerance(body.float_tolerance)?;
        let weights = body.weights.unwrap_or_default();
        if body.weights.is_some() && body.mode == Mode::Valid {
            return Err(invalid(
                "/weights",
                "`weights` require `mode` `partial`; set it or remove them",
            ));
        }
        weights
            .check(schema.is_some(), expected.is_some())
            .map_err(|(level, message)| {
                let pointer = if level.is_empty() {
                    "/weights".to_owned()
                } else {
                    format!("/weights/{level}")
                };
                invalid(&pointer, message)
            })?;
        if body.tool.is_some() && (body.format != Format::Json || body.extract != Extract::Auto) {
            let message = "with `tool`, the document is read from a call; remove `format` and \
                           `extract`";
            return Err(invalid("/tool", message));
        }
        let draft = body.draft.map(|draft| match draft {
            RawDraft::Four => Draft::Draft4,
            RawDraft::Six => Draft::Draft6,
            RawDraft::Seven => Draft::Draft7,
            RawDraft::Year2019 => Draft::Draft201909,
            RawDraft::Year2020 => Draft::Draft202012,
        });
        Ok(Self {
            format: body.format,
            schema,
            dialect: Dialect {
                draft,
                formats: body.formats,
            },
            expected,
            weights: (body.mode == Mode::Partial).then_some(weights),
            extract: body.extract,
            tool: body.tool,
            options: CompareOptions {
                unordered: body.arrays == Arrays::Unordered,
                tolerance: body.float_tolerance,
            },
        })
    }
}

fn tree(raw: Option<&RawValue>, pointer: &str) -> Result<Option<Json>, TaskError> {
    let read =
        |raw: &RawValue| Json::read(raw.get()).map_err(|error| invalid(pointer, error.to_string()));
    raw.map(read).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<StructuredTask, TaskError> {
        StructuredTask::read(&Task::from_json(json).unwrap())
    }

    #[test]
    fn defaults_are_strict() {
        let task = read(r#"{"type":"structured"}"#).unwrap();
        assert_eq!(
            (task.format, task.extract, task.options),
            (Format::Json, Extract::Auto, CompareOptions::default())
        );
        assert!(task.weights.is_none() && task.schema.is_none() && task.expected.is_none());
        let task = read(r#"{"type":"structured","schema":null,"expected":null,"mode":"partial"}"#)
            .unwrap();
        assert!(task.schema.is_none() && task.expected.is_none() && task.weights.is_some());
    }

    #[test]
    fn expected_values_keep_their_digits() {
        let task =
            read(r#"{"type":"structured","expected":[1e400, 123456789012345678901234567890]}"#)
                .unwrap();
        assert_eq!(
            task.expected.unwrap().to_string(),
            "[1e400,123456789012345678901234567890]"
        );
    }

    #[test]
    fn reports_pointers_to_invalid_fields() {
        for (fields, pointer) in [
            (r#""format":"ini""#, "/format"),
            (r#""schema":[]"#, "/schema"),
            (r#""schema":{"a":1,"a":2}"#, "/schema"),
            (r#""expected":{"a":{"b":1,"b":2}}"#, "/expected"),
            (r#""draft":"3""#, "/draft"),
            (r#""draft":"7""#, "/draft"),
            (r#""formats":true"#, "/formats"),
            (r#""float_tolerance":0.2"#, "/float_tolerance"),
            (r#""arrays":"sorted""#, "/arrays"),
            (r#""weights":{"parses":1}"#, "/weights"),
            (
                r#""mode":"partial","weights":{"parses":-1}"#,
                "/weights/parses",
            ),
            (r#""mode":"partial","weights":{"parses":0}"#, "/weights"),
            (r#""mode":"partial","weights":{"keys":1}"#, "/weights/keys"),
            (r#""tool":"f","format":"yaml""#, "/tool"),
            (r#""shema":{}"#, "/shema"),
        ] {
            let error = read(&format!(r#"{{"type":"structured",{fields}}}"#)).unwrap_err();
            assert_eq!(error.pointer, pointer, "{fields}: {error}");
        }
    }
}
