//! Columns of CSV and Parquet files: one per field of a grade, in the order of `GET /v1/grades`.
//! Names, order and types come from the schema of a grade, and values from its JSON, so a new field
//! is a new column.

use std::collections::HashMap;

use anyhow::{Context, bail};
use assay_record::{GradeSource, ItemGrade, StoredGrade};
use serde_json::value::RawValue;
use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Schema, SchemaType, Type};

/// The column of times. It is the only column that is never null.
const TIME: &str = "time_us";

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// An object or an array, as JSON.
    Json,
    Integer,
    Number,
    Bool,
    /// Microseconds since the Unix epoch.
    Time,
}

pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    /// A text, or JSON.
    Text(String),
    /// An integer, or a time.
    Integer(i64),
    Number(f64),
    Bool(bool),
}

/// All columns.
pub(super) fn columns() -> Vec<Column> {
    let schemas = [GradeSource::schema(), ItemGrade::schema()];
    let properties = schemas.into_iter().flat_map(|schema| match schema {
        RefOr::T(Schema::Object(object)) => object.properties,
        _ => utoipa::openapi::schema::Object::new().properties,
    });
    let columns = properties.map(|(name, schema)| {
        let kind = if name == TIME {
            Kind::Time
        } else {
            kind(&schema)
        };
        Column { name, kind }
    });
    columns.collect()
}

fn kind(schema: &RefOr<Schema>) -> Kind {
    let RefOr::T(Schema::Object(object)) = schema else {
        return Kind::Json;
    };
    let types = match &object.schema_type {
        SchemaType::Type(one) => std::slice::from_ref(one),
        SchemaType::Array(types) => types,
        SchemaType::AnyValue => &[],
    };
    match types.iter().find(|one| **one != Type::Null) {
        Some(Type::String) => Kind::Text,
        Some(Type::Integer) => Kind::Integer,
        Some(Type::Number) => Kind::Number,
        Some(Type::Boolean) => Kind::Bool,
        _ => Kind::Json,
    }
}

/// The values of a grade in the order of `columns`.
pub(super) fn cells(columns: &[Column], grade: &StoredGrade) -> anyhow::Result<Vec<Cell>> {
    let json = serde_json::to_string(grade)?;
    let fields: HashMap<&str, &RawValue> = serde_json::from_str(&json)?;
    let cells = columns.iter().map(|Column { name, kind }| {
        let Some(value) = fields.get(name.as_str()) else {
            bail!("a grade has no field `{name}`");
        };
        cell(*kind, value.get()).with_context(|| format!("field `{name}` of a grade"))
    });
    cells.collect()
}

fn cell(kind: Kind, json: &str) -> serde_json::Result<Cell> {
    if json == "null" {
        return Ok(Cell::Null);
    }
    Ok(match kind {
        Kind::Text => Cell::Text(serde_json::from_str(json)?),
        Kind::Json => Cell::Text(json.to_owned()),
        Kind::Integer | Kind::Time => Cell::Integer(serde_json::from_str(json)?),
        Kind::Number => Cell::Number(serde_json::from_str(json)?),
        Kind::Bool => Cell::Bool(serde_json::from_str(json)?),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// Two rows: one with all fields, one without the optional fields.
    pub(in super::super) fn rows() -> Vec<StoredGrade> {
        let full = serde_json::json!({
            "grade": "01JD5XW7P9V6F8K4M3N2Q1R0ST", "batch": "01JD5XW7P9V6F8K4M3N2Q1R0SS",
            "position": 3, "caller": "local", "run": "r, \"one\"\n", "step": -4, "id": "p1-3",
            "group": "p1", "prompt_key": "k", "channel": "math/default", "grader": "math@1",
            "task_hash": "aa", "completion_hash": "bb", "prompt_hash": "cc", "policy": "default",
            "policy_hash": "dd", "outcome": "graded", "verdict": "partial", "pass": false,
            "score": 0.1, "score_after_appeal": 1.0,
            "appeal": {
                "judge": "math@1", "probability": 0.5, "verdict": "correct", "pass": true,
                "score": 1.0, "binding": true, "overturned": true, "reason": null,
            }, "reward": -0.3,
            "advantage": 1e-300, "reward_breakdown": {"a": 1}, "components": [{"name": "format"}],
            "steps": [], "measures": {"tokens": 812.0}, "evidence": {"extracted": "½ \u{1f600}"},
            "error": null, "meta": {}, "redacted": true, "bodies_omitted": false,
            "deterministic": true, "cached": false, "queue_us": 15,
            "grade_us": 60, "work": 7, "time_us": 1_795_000_000_123_456_i64,
        });
        let mut minimal = full.clone();
        for name in [
            "run",
            "step",
            "id",
            "group",
            "prompt_key",
            "prompt_hash",
            "policy_hash",
            "verdict",
            "pass",
            "score",
            "appeal",
            "score_after_appeal",
            "reward",
            "advantage",
            "reward_breakdown",
            "evidence",
        ] {
            minimal[name] = Value::Null;
        }
        minimal["error"] = serde_json::json!({ "code": "cancelled" });
        [full, minimal]
            .into_iter()
            .map(|row| serde_json::from_value(row).unwrap())
            .collect()
    }

    #[test]
    fn has_a_column_for_every_field_of_a_grade() {
        let row = serde_json::to_value(&rows()[0]).unwrap();
        let fields: BTreeSet<String> = row.as_object().unwrap().keys().cloned().collect();
        let names = columns().into_iter().map(|column| column.name);
        assert_eq!(names.collect::<BTreeSet<_>>(), fields);
    }
}
