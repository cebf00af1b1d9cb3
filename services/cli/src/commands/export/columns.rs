//! Columns of CSV and Parquet files: one per field of a grade, its id first, then its texts.
//! Names, order and types come from the schema of a grade, and values from its JSON, so a new field
//! is a new column.

use std::collections::HashMap;

use anyhow::{Context, bail};
use assay_record::{GradeSource, ItemGrade};
use serde_json::value::RawValue;
use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Schema, SchemaType, Type};

use super::writer::Row;

/// The column of ids, which is the first.
const ID: &str = "grade";

/// The column of times. It is the only column that is never null.
const TIME: &str = "time_us";

/// The columns of texts. A prompt or completion that is a string is a cell as it is; messages are
/// JSON.
const TEXTS: [(&str, Kind); 8] = [
    ("bodies", Kind::Text),
    ("task", Kind::Json),
    ("checks", Kind::Json),
    ("prompt", Kind::TextOrJson),
    ("completion", Kind::TextOrJson),
    ("policy_body", Kind::Json),
    ("adjudications", Kind::Json),
    ("comments", Kind::Json),
];

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// An object or an array, as JSON.
    Json,
    /// A text, or an array as JSON.
    TextOrJson,
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

/// All columns, with those of texts if `with_texts`.
pub(super) fn columns(with_texts: bool) -> Vec<Column> {
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
    let mut columns: Vec<Column> = columns.collect();
    columns.sort_by_key(|column| column.name != ID);
    let texts = TEXTS.into_iter().filter(|_| with_texts);
    columns.extend(texts.map(|(name, kind)| Column {
        name: name.to_owned(),
        kind,
    }));
    columns
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

/// The values of a row in the order of `columns`.
pub(super) fn cells(columns: &[Column], row: &Row) -> anyhow::Result<Vec<Cell>> {
    let json = serde_json::to_string(row)?;
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
        Kind::TextOrJson if json.starts_with('"') => Cell::Text(serde_json::from_str(json)?),
        Kind::Json | Kind::TextOrJson => Cell::Text(json.to_owned()),
        Kind::Integer | Kind::Time => Cell::Integer(serde_json::from_str(json)?),
        Kind::Number => Cell::Number(serde_json::from_str(json)?),
        Kind::Bool => Cell::Bool(serde_json::from_str(json)?),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use assay_core::{BatchId, ErrorCode, Fault, Hash};
    use assay_record::{Appeal, StoredGrade};
    use assay_wire::grades::GradeDetail;
    use serde_json::Value;

    use super::*;

    /// Two rows: one with all fields, one without the optional fields.
    pub(in super::super) fn rows() -> Vec<StoredGrade> {
        let batch: BatchId = "01JD5XW7P9V6F8K4M3N2Q1R000".parse().unwrap();
        let minimal = StoredGrade::passed(batch, 3, Hash::of(b"completion"));
        let mut full = minimal.clone();
        let StoredGrade { source, grade } = &mut full;
        source.run = Some("r, \"one\"\n".into());
        source.step = Some(-4);
        source.prompt_hash = Some(Hash::of(b"prompt"));
        source.policy_hash = Some(Hash::of(b"policy"));
        source.redacted = true;
        grade.id = Some("p1-3".to_owned());
        grade.group = Some("p1".to_owned());
        grade.prompt_key = Some("k".to_owned());
        grade.verdict = Some("partial".into());
        grade.pass = Some(false);
        grade.score = Some(0.1);
        grade.appeal = Some(Appeal {
            judge: "math@1".to_owned(),
            probability: 0.5,
            verdict: Some("correct".to_owned()),
            pass: Some(true),
            score: Some(1.0),
            agreed: false,
            binding: true,
            overturned: true,
            reason: None,
            sensitivity: 0.9,
            specificity: 0.98,
        });
        grade.score_after_appeal = Some(1.0);
        grade.reward = Some(-0.3);
        grade.reward_breakdown = Some(serde_json::from_str(r#"{"a":1}"#).unwrap());
        grade.advantage = Some(1e-300);
        grade.advantage_estimator = Some("mean".into());
        grade.measures = [("tokens".into(), 812.0)].into();
        grade.evidence = Some(serde_json::from_str("{\"extracted\":\"½ \u{1f600}\"}").unwrap());
        grade.time_us = 1_795_000_000_123_456;
        let mut minimal = minimal;
        let grade = &mut minimal.grade;
        (grade.verdict, grade.pass, grade.score) = (None, None, None);
        (grade.reward, grade.evidence) = (None, None);
        grade.outcome = "failed".into();
        grade.error = Some(Fault::transient(ErrorCode::Cancelled, "m"));
        grade.time_us = 1_795_000_000_123_456;
        vec![full, minimal]
    }

    /// The same without texts.
    pub(in super::super) fn plain() -> Vec<Row> {
        let grades = rows().into_iter();
        grades.map(|grade| Row::Grade(Box::new(grade))).collect()
    }

    /// A row with texts, of which the prompt is a list of messages.
    pub(in super::super) fn detail() -> Row {
        Row::Detail(Box::new(GradeDetail {
            stored: rows().remove(0),
            bodies: "stored".to_owned(),
            task: serde_json::json!({"type": "math"}).into(),
            checks: serde_json::json!({}).into(),
            prompt: serde_json::json!([{"role": "user", "content": "a"}]).into(),
            completion: Value::from("so \"b\"\n").into(),
            policy_body: Value::Null.into(),
            adjudications: Vec::new(),
            comments: Vec::new(),
        }))
    }

    #[test]
    fn has_a_column_for_every_field_of_a_row() {
        for (row, with_texts) in [(plain().remove(0), false), (detail(), true)] {
            let row = serde_json::to_value(&row).unwrap();
            let fields: BTreeSet<String> = row.as_object().unwrap().keys().cloned().collect();
            let names = columns(with_texts).into_iter().map(|column| column.name);
            assert_eq!(names.collect::<BTreeSet<_>>(), fields);
        }
    }

    #[test]
    fn texts_are_cells_as_they_are_and_messages_are_json() {
        let columns = columns(true);
        let cells = cells(&columns, &detail()).unwrap();
        let cell = |name: &str| {
            let at = columns.iter().position(|column| column.name == name);
            cells[at.unwrap()].clone()
        };
        assert_eq!(cell("completion"), Cell::Text("so \"b\"\n".to_owned()));
        let messages = r#"[{"content":"a","role":"user"}]"#;
        assert_eq!(cell("prompt"), Cell::Text(messages.to_owned()));
        assert_eq!(cell("policy_body"), Cell::Null);
    }
}
