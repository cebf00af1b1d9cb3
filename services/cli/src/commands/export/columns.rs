//! Columns of CSV and Parquet files: one per field of a grade, in the order of `GET /v1/grades`.

use std::borrow::Cow;

use assay_wire::grades::GradeBody;
use serde_json::Value;

/// Reads a column from a grade, by type. Only `Time` is never null.
pub(super) enum Getter {
    Text(fn(&GradeBody) -> Option<Cow<'_, str>>),
    /// An object or an array, as JSON.
    Json(fn(&GradeBody) -> Option<String>),
    Integer(fn(&GradeBody) -> Option<i64>),
    Number(fn(&GradeBody) -> Option<f64>),
    Bool(fn(&GradeBody) -> Option<bool>),
    /// Microseconds since the Unix epoch.
    Time(fn(&GradeBody) -> i64),
}

pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) getter: Getter,
}

/// All columns.
pub(super) const COLUMNS: &[Column] = &[
    text("grade", |row| Some(Cow::from(&row.grade))),
    text("batch", |row| Some(Cow::from(&row.batch))),
    integer("position", |row| Some(row.position.into())),
    text("caller", |row| Some(Cow::from(&row.caller))),
    text("run", |row| row.run.as_deref().map(Cow::from)),
    integer("step", |row| row.step),
    text("id", |row| row.id.as_deref().map(Cow::from)),
    text("group", |row| row.group.as_deref().map(Cow::from)),
    text("prompt_key", |row| row.prompt_key.as_deref().map(Cow::from)),
    text("channel", |row| Some(Cow::from(&row.channel))),
    text("grader", |row| Some(Cow::from(&row.grader))),
    text("task_hash", |row| Some(Cow::from(&row.task_hash))),
    text("completion_hash", |row| {
        Some(Cow::from(&row.completion_hash))
    }),
    text("prompt_hash", |row| {
        row.prompt_hash.as_deref().map(Cow::from)
    }),
    text("policy", |row| Some(Cow::from(&row.policy))),
    text("policy_hash", |row| {
        row.policy_hash.as_deref().map(Cow::from)
    }),
    text("outcome", |row| Some(Cow::from(&row.outcome))),
    text("verdict", |row| row.verdict.as_deref().map(Cow::from)),
    boolean("pass", |row| row.pass),
    number("score", |row| row.score),
    json("appeal", |row| {
        row.appeal
            .as_ref()
            .and_then(|appeal| serde_json::to_string(appeal).ok())
    }),
    number("score_after_appeal", |row| row.score_after_appeal),
    number("reward", |row| row.reward),
    number("advantage", |row| row.advantage),
    json("reward_breakdown", |row| unless_null(&row.reward_breakdown)),
    json("components", |row| unless_null(&row.components)),
    json("steps", |row| unless_null(&row.steps)),
    json("measures", |row| unless_null(&row.measures)),
    json("evidence", |row| unless_null(&row.evidence)),
    json("error", |row| unless_null(&row.error)),
    json("meta", |row| unless_null(&row.meta)),
    boolean("deterministic", |row| Some(row.deterministic)),
    boolean("cached", |row| Some(row.cached)),
    integer("queue_us", |row| i64::try_from(row.queue_us).ok()),
    integer("grade_us", |row| i64::try_from(row.grade_us).ok()),
    integer("work", |row| i64::try_from(row.work).ok()),
    Column {
        name: "time_us",
        getter: Getter::Time(|row| row.time_us),
    },
];

const fn text(name: &'static str, get: fn(&GradeBody) -> Option<Cow<'_, str>>) -> Column {
    Column {
        name,
        getter: Getter::Text(get),
    }
}

const fn json(name: &'static str, get: fn(&GradeBody) -> Option<String>) -> Column {
    Column {
        name,
        getter: Getter::Json(get),
    }
}

const fn integer(name: &'static str, get: fn(&GradeBody) -> Option<i64>) -> Column {
    Column {
        name,
        getter: Getter::Integer(get),
    }
}

const fn number(name: &'static str, get: fn(&GradeBody) -> Option<f64>) -> Column {
    Column {
        name,
        getter: Getter::Number(get),
    }
}

const fn boolean(name: &'static str, get: fn(&GradeBody) -> Option<bool>) -> Column {
    Column {
        name,
        getter: Getter::Bool(get),
    }
}

fn unless_null(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| value.to_string())
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Two rows: one with all fields, one without the optional fields.
    pub(in super::super) fn rows() -> Vec<GradeBody> {
        let full = serde_json::json!({
            "grade": "01JD5XW7P9V6F8K4M3N2Q1R0ST", "batch": "01JD5XW7P9V6F8K4M3N2Q1R0SS",
            "position": 3, "caller": "local", "run": "r, \"one\"\n", "step": -4, "id": "p1-3",
            "group": "p1", "prompt_key": "k", "channel": "math/default", "grader": "math@1",
            "task_hash": "aa", "completion_hash": "bb", "prompt_hash": "cc", "policy": "default",
            "policy_hash": "dd", "outcome": "graded", "verdict": "partial", "pass": false,
            "score": 0.1, "appeal": null, "score_after_appeal": 1.0, "reward": -0.3,
            "advantage": 1e-300, "reward_breakdown": {"a": 1}, "components": [{"name": "format"}],
            "steps": [], "measures": {"tokens": 812.0}, "evidence": {"extracted": "½ \u{1f600}"},
            "error": null, "meta": {}, "deterministic": true, "cached": false, "queue_us": 15,
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
        let fields: BTreeSet<&str> = row
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let columns: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(columns, fields);
        assert_eq!(columns.len(), COLUMNS.len());
    }
}
