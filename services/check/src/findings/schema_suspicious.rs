//! `schema-suspicious`: the JSON Schema of a `structured` task accepts everything or nothing, or
//! has a misspelt keyword.

use assay_base::did_you_mean;
use serde_json::Value;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::subject::Subject;

pub(super) const CODE: Code = code!("schema-suspicious", Warning);

/// Keywords that restrict a value.
const ASSERTIONS: &[&str] = &[
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "contains",
    "additionalItems",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentSchemas",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "format",
    "contentSchema",
];

/// Keywords that describe a schema.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "examples",
    "example",
    "contentEncoding",
    "contentMediaType",
    "nullable",
    "optional",
];

/// Keywords with one schema, with a list of them, and with schemas by name.
const ONE: &[&str] = &[
    "additionalProperties",
    "items",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "additionalItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const NAMED: &[&str] = &[
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// Maximum depth of a schema that is read.
const MAX_DEPTH: usize = 32;

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some("structured"), Ok(subject)) = (row.kind(), &row.subject) else {
        return;
    };
    if let Some(problem) = whole(subject).or_else(|| part(subject.body.get("schema")?, "", 0)) {
        sink.add(&CODE, &row.location, &row.key, problem);
    }
}

/// Whether the whole schema accepts everything, without an expected value.
fn whole(subject: &Subject) -> Option<String> {
    if subject
        .body
        .get("expected")
        .is_some_and(|expected| !expected.is_null())
    {
        return None;
    }
    let restricts = match subject.body.get("schema") {
        None | Some(Value::Null | Value::Bool(true)) => false,
        Some(Value::Object(schema)) => schema.keys().any(|key| ASSERTIONS.contains(&key.as_str())),
        Some(_) => true,
    };
    (!restricts).then(|| "the schema accepts every document".to_owned())
}

/// What is wrong with a schema or a part of it.
fn part(schema: &Value, pointer: &str, depth: usize) -> Option<String> {
    let fields = match schema {
        Value::Bool(false) if depth == 0 => {
            return Some("the schema accepts no document".to_owned());
        }
        Value::Object(fields) if depth < MAX_DEPTH => fields,
        _ => return None,
    };
    let at = if pointer.is_empty() {
        String::new()
    } else {
        format!(" at `{pointer}`")
    };
    let known = || ASSERTIONS.iter().chain(ANNOTATIONS).copied();
    for key in fields
        .keys()
        .filter(|key| !known().any(|known| known == key.as_str()))
    {
        let similar = did_you_mean(key, known());
        if !similar.is_empty() {
            return Some(format!(
                "unknown keyword `{key}` in the schema{at}{similar}"
            ));
        }
    }
    if let Some(why) = accepts_nothing(schema) {
        return Some(format!("the schema{at} accepts nothing: {why}"));
    }
    let one = ONE
        .iter()
        .filter_map(|key| Some((format!("{pointer}/{key}"), fields.get(*key)?)));
    let lists = LISTS
        .iter()
        .filter_map(|key| Some((key, fields.get(*key)?.as_array()?)));
    let lists = lists.flat_map(|(key, values)| {
        (0..)
            .zip(values)
            .map(move |(at, value): (usize, _)| (format!("{pointer}/{key}/{at}"), value))
    });
    let named = NAMED
        .iter()
        .filter_map(|key| Some((key, fields.get(*key)?.as_object()?)));
    let named = named.flat_map(|(key, values)| {
        values
            .iter()
            .map(move |(name, value)| (format!("{pointer}/{key}/{name}"), value))
    });
    let mut parts = one.chain(lists).chain(named);
    parts.find_map(|(pointer, value)| part(value, &pointer, depth + 1))
}

fn accepts_nothing(schema: &Value) -> Option<String> {
    let number = |key: &str| schema.get(key)?.as_f64();
    if schema
        .get("enum")
        .is_some_and(|values| values.as_array().is_some_and(Vec::is_empty))
    {
        return Some("its `enum` is empty".to_owned());
    }
    for (low, high) in [
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
    ] {
        if let (Some(least), Some(most)) = (number(low), number(high))
            && least > most
        {
            return Some(format!("its `{low}` exceeds its `{high}`"));
        }
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none();
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let missing = required.filter_map(Value::as_str).find(|name| {
        schema
            .get("properties")
            .and_then(Value::as_object)
            .is_none_or(|known| !known.contains_key(*name))
    });
    missing
        .filter(|_| closed && schema.get("allOf").is_none())
        .map(|name| format!("it requires `{name}`, which is not one of its properties"))
}
