//! Finds where a document violates a schema by validating parts of the document against parts of
//! the schema. The errors of the validator itself list everything that is wrong in every branch of
//! `anyOf` and `oneOf`, which takes exponential time if a schema refers to itself; its yes-or-no
//! result does not.

use std::collections::HashMap;
use std::sync::Mutex;

use assay_base::pointer::{self, escaped};
use jsonschema::{Draft, Validator, ValidatorMap};
use serde_json::{Map, Value, json};

use super::node::Trees;
use super::violation::{Dialect, Violation, options};
use crate::json::Json;

/// Maximum size of a schema for which each part is compiled, in values.
const MAX_VALUES: usize = 20_000;

/// The same for a schema that refers to itself. It is smaller because each part is compiled
/// together with all its reference targets.
const MAX_CYCLIC_VALUES: usize = 1_000;

/// Maximum number of reference targets that are followed to find out whether a schema refers to
/// itself.
const MAX_TARGETS: usize = 1_000;

/// Maximum number of values that are visited to find one violation.
const MAX_VISITS: usize = 4_000_000;

/// Maximum number of schemas that are followed for one value.
const MAX_STEPS: usize = 64;

/// Keywords that constrain a value without subschemas.
const PLAIN_KEYWORDS: &[&str] = &[
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
    "format",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
];

/// Whether the errors of the validator take no more time than its yes-or-no result. This is the
/// case for a schema without branches that does not refer to itself.
pub(super) fn is_plain(source: &Value) -> bool {
    !contains_key(source, &["anyOf", "oneOf"]) && !is_cyclic(source)
}

/// Whether an object in `source` has one of these keys.
fn contains_key(source: &Value, keys: &[&str]) -> bool {
    match source {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| keys.contains(&key.as_str()) || contains_key(value, keys)),
        Value::Array(elements) => elements.iter().any(|element| contains_key(element, keys)),
        _ => false,
    }
}

/// Whether the schema may refer to itself. Also true if its pointers alone do not determine it.
fn is_cyclic(source: &Value) -> bool {
    let mut targets: HashMap<&str, State> = HashMap::new();
    contains_key(source, &["$dynamicRef", "$recursiveRef"])
        || closes_cycle("", source, source, &mut targets)
}

/// State of a reference target in the depth-first search.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Its references are being followed. A reference to it closes a cycle.
    Open,
    /// All its references were followed.
    Done,
}

/// Whether a reference in `part`, the schema at `pointer`, leads to a schema that is being
/// followed.
fn closes_cycle<'s>(
    pointer: &'s str,
    part: &'s Value,
    source: &'s Value,
    targets: &mut HashMap<&'s str, State>,
) -> bool {
    targets.insert(pointer, State::Open);
    let mut references = Vec::new();
    gather(part, &mut references);
    let is_cyclic = references.into_iter().any(|reference| {
        let Some(pointer) = reference.strip_prefix('#') else {
            return true;
        };
        match (targets.get(pointer), source.pointer(pointer)) {
            (Some(State::Done), _) => false,
            (None, Some(part)) if targets.len() < MAX_TARGETS => {
                closes_cycle(pointer, part, source, targets)
            }
            _ => true,
        }
    });
    targets.insert(pointer, State::Done);
    is_cyclic
}

/// Collects the references in a schema, except those in its definitions: these count only if
/// something refers to them.
fn gather<'s>(schema: &'s Value, found: &mut Vec<&'s str>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("$ref", Value::String(reference)) => found.push(reference),
                    ("$defs" | "definitions", _) => {}
                    _ => gather(value, found),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| gather(element, found)),
        _ => {}
    }
}

/// Number of values in a schema.
fn values(source: &Value) -> usize {
    1 + match source {
        Value::Object(members) => members.values().map(values).sum(),
        Value::Array(elements) => elements.iter().map(values).sum::<usize>(),
        _ => 0,
    }
}

/// The parts of a schema, each compiled separately.
pub(super) struct Parts {
    map: Option<ValidatorMap<Trees>>,
    draft: Draft,
    formats: Option<bool>,
    /// Validators of the plain keywords of each part, compiled when they are first needed.
    plain: Mutex<HashMap<String, Option<Validator<Trees>>>>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// A location in a schema and in a document.
#[derive(Clone)]
struct Location<'a> {
    schema: &'a Value,
    /// JSON pointer to the schema.
    pointer: String,
    value: &'a Json,
    /// JSON pointer to the value in the document.
    value_pointer: String,
}

impl Parts {
    /// Compiles the parts of a schema, unless it is too large.
    pub(super) fn new(source: &Value, dialect: Dialect, backtracking: bool, draft: Draft) -> Self {
        let is_small = values(source)
            <= if is_cyclic(source) {
                MAX_CYCLIC_VALUES
            } else {
                MAX_VALUES
            };
        let map = is_small
            .then(|| {
                options(source, dialect, backtracking)
                    .build_map(source)
                    .ok()
            })
            .flatten();
        Self {
            map,
            draft,
            formats: dialect.formats,
            plain: Mutex::default(),
        }
    }

    /// The innermost location at which a document violates the schema, and the keyword there. The
    /// document must violate the schema.
    pub(super) fn violation(&self, source: &Value, document: &Json) -> Violation {
        let mut location = Location {
            schema: source,
            pointer: String::new(),
            value: document,
            value_pointer: String::new(),
        };
        let (mut steps, mut visits_left) = (0, MAX_VISITS);
        while let Some(next) = self.next(source, &location) {
            steps = if std::ptr::eq(next.value, location.value) {
                steps + 1
            } else {
                0
            };
            let Some(left) = visits_left
                .checked_sub(parts(next.value))
                .filter(|_| steps <= MAX_STEPS)
            else {
                break;
            };
            visits_left = left;
            location = next;
        }
        self.keyword_violation(&location)
            .unwrap_or_else(|| self.branch_violation(&location))
    }

    /// A subschema that the value, or a part of it, violates. References and `allOf`, which apply
    /// to the same value, are followed before members and elements.
    fn next<'a>(&self, source: &'a Value, location: &Location<'a>) -> Option<Location<'a>> {
        let schema = location.schema.as_object()?;
        let inside = |key: &str| {
            schema
                .get(key)
                .map(|schema| (schema, pointer::member(&location.pointer, key)))
        };
        let is_violated =
            |next: &Location<'a>| self.is_valid(&next.pointer, next.value) == Some(false);
        if let Some(pointer) = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|to| to.strip_prefix('#'))
        {
            let target = source.pointer(pointer);
            let next = target.map(|schema| Location {
                schema,
                pointer: pointer.to_owned(),
                ..location.clone()
            });
            if let Some(next) = next.filter(is_violated) {
                return Some(next);
            }
        }
        if schema.contains_key("$ref")
            && matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
        {
            return None; // In these drafts, keywords next to a reference are ignored.
        }
        if let Some((branches, pointer)) = inside("allOf") {
            let branch = |(at, schema)| Location {
                schema,
                pointer: format!("{pointer}/{at}"),
                ..location.clone()
            };
            if let Some(next) = branches
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
                .map(branch)
                .find(is_violated)
            {
                return Some(next);
            }
        }
        let named = schema.get("properties").and_then(Value::as_object);
        let others =
            inside("additionalProperties").filter(|_| !schema.contains_key("patternProperties"));
        for (key, value) in location.value.members() {
            let (schema, pointer) = match (named.and_then(|named| named.get(key)), &others) {
                (Some(schema), _) => (
                    schema,
                    format!("{}/properties/{}", location.pointer, escaped(key)),
                ),
                (None, Some((schema, pointer))) if schema.is_object() => (*schema, pointer.clone()),
                _ => continue,
            };
            // Keys, and so pointers, may be as long as the document. Only the pointer of the
            // violation is built.
            if self.is_valid(&pointer, value) == Some(false) {
                return Some(Location {
                    schema,
                    pointer,
                    value,
                    value_pointer: pointer::member(&location.value_pointer, key),
                });
            }
        }
        // Up to 2019-09, `items` is the array and `additionalItems` applies to what follows it.
        let (first, rest) = match schema.get("items") {
            Some(Value::Array(_)) => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        };
        let tuple = schema
            .get(first)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let rest = inside(rest).filter(|(schema, _)| schema.is_object() || schema.is_boolean());
        for (at, value) in location.value.elements().iter().enumerate() {
            let (schema, pointer) = match (tuple.get(at), &rest) {
                (Some(schema), _) => (schema, format!("{}/{first}/{at}", location.pointer)),
                (None, Some((schema, pointer))) => (*schema, pointer.clone()),
                (None, None) => break,
            };
            if self.is_valid(&pointer, value) == Some(false) {
                return Some(Location {
                    schema,
                    pointer,
                    value,
                    value_pointer: format!("{}/{at}", location.value_pointer),
                });
            }
        }
        None
    }

    /// Whether a value is valid for the part of the schema at `pointer`; `None` if it is not
    /// compiled.
    fn is_valid(&self, pointer: &str, value: &Json) -> Option<bool> {
        Some(
            self.map
                .as_ref()?
                .get(&format!("#{pointer}"))?
                .is_valid(value),
        )
    }

    /// The violation of a plain keyword, if there is one.
    fn keyword_violation(&self, location: &Location<'_>) -> Option<Violation> {
        let mut cached = self.plain.lock().ok()?;
        let validator = cached.entry(location.pointer.clone()).or_insert_with(|| {
            let plain = plain(location.schema.as_object()?);
            options(
                &Value::Null,
                Dialect {
                    draft: Some(self.draft),
                    formats: self.formats,
                },
                true,
            )
            .build(&plain)
            .ok()
        });
        let error = validator.as_ref()?.validate(location.value).err()?;
        let keyword = format!("{}{}", location.pointer, error.schema_path().as_str());
        Some(Violation {
            pointer: location.value_pointer.clone(),
            keyword,
            reason: error.masked().to_string(),
        })
    }

    /// The violation of a keyword with subschemas.
    fn branch_violation(&self, location: &Location<'_>) -> Violation {
        let violation = |keyword: &str, reason: String| Violation {
            pointer: location.value_pointer.clone(),
            keyword: format!("{}{keyword}", location.pointer),
            reason,
        };
        let count = |keyword: &str| {
            let branches = location.schema.get(keyword)?.as_array()?;
            let is_valid = |at: usize| {
                self.is_valid(
                    &format!("{}/{keyword}/{at}", location.pointer),
                    location.value,
                )
                .unwrap_or(true)
            };
            Some((0..branches.len()).filter(|at| is_valid(*at)).count())
        };
        match (count("anyOf"), count("oneOf")) {
            (Some(0), _) => violation(
                "/anyOf",
                "value matches none of the schemas under `anyOf`".to_owned(),
            ),
            (_, Some(0)) => violation(
                "/oneOf",
                "value matches none of the schemas under `oneOf`".to_owned(),
            ),
            (_, Some(several @ 2..)) => violation(
                "/oneOf",
                format!("value matches {several} of the schemas under `oneOf`, not exactly one"),
            ),
            _ => violation("", "value does not match this schema".to_owned()),
        }
    }
}

/// The plain keywords of a schema, and the names of its properties if others are not allowed.
fn plain(schema: &Map<String, Value>) -> Value {
    let mut plain: Map<String, Value> = PLAIN_KEYWORDS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), schema.get(*key)?.clone())))
        .collect();
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        plain.insert("additionalProperties".to_owned(), Value::Bool(false));
        for names in ["properties", "patternProperties"] {
            if let Some(named) = schema.get(names).and_then(Value::as_object) {
                plain.insert(
                    names.to_owned(),
                    named.keys().map(|name| (name.clone(), json!({}))).collect(),
                );
            }
        }
    }
    Value::Object(plain)
}

/// Number of values in a tree.
fn parts(tree: &Json) -> usize {
    let inside = tree
        .elements()
        .iter()
        .chain(tree.members().iter().map(|(_, value)| value));
    1 + inside.map(parts).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;

    fn violation(source: &Value, document: &str) -> (String, String, String) {
        let schema = Schema::compile(source.clone(), Dialect::default()).unwrap();
        let Violation {
            pointer,
            keyword,
            reason,
        } = schema.violation(&Json::read(document).unwrap()).unwrap();
        (pointer, keyword, reason)
    }

    fn located(source: &Value, document: &str) -> (String, String) {
        let (pointer, keyword, _) = violation(source, document);
        (pointer, keyword)
    }

    fn pair(pointer: &str, keyword: &str) -> (String, String) {
        (pointer.to_owned(), keyword.to_owned())
    }

    #[test]
    fn locates_violated_branches() {
        let source = json!({"properties": {"steps": {"items": {"oneOf": [{"required": ["a"]},
            {"required": ["b"]}]}}}});
        assert_eq!(
            located(&source, r#"{"steps":[{"a":1},{}]}"#),
            pair("/steps/1", "/properties/steps/items/oneOf")
        );
        let (_, _, reason) = violation(&source, r#"{"steps":[{"a":1,"b":2}]}"#);
        assert_eq!(
            reason,
            "value matches 2 of the schemas under `oneOf`, not exactly one"
        );
        assert_eq!(
            located(
                &json!({"anyOf": [{"type": "null"}, {"type": "array"}]}),
                "1"
            ),
            pair("", "/anyOf")
        );
        assert_eq!(
            located(&json!({"not": true, "anyOf": [true]}), "1"),
            pair("", "")
        );
        assert_eq!(located(&json!({"not": true}), "1"), pair("", "/not"));
    }

    #[test]
    fn detects_cyclic_schemas() {
        for (cyclic, source) in [
            (
                false,
                json!({"properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/a"}},
                    "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}}}),
            ),
            (true, json!({"properties": {"a": {"$ref": "#"}}})),
            (
                true,
                json!({"items": {"$ref": "#/$defs/a"},
                    "$defs": {"a": {"items": {"$ref": "#/$defs/b"}},
                        "b": {"items": {"$ref": "#/$defs/a"}}}}),
            ),
            (true, json!({"$ref": "other.json"})),
            (
                true,
                json!({"properties": {"$defs": {"$ref": "#/$defs/none"}}, "$dynamicRef": "#a"}),
            ),
        ] {
            assert_eq!(is_cyclic(&source), cyclic, "{source}");
        }
    }

    #[test]
    fn follows_references_to_the_keyword() {
        let source = json!({
            "$ref": "#/$defs/t",
            "$defs": {"t": {
                "properties": {"next": {"$ref": "#/$defs/t"}, "n": {"type": "integer"}},
                "additionalProperties": false, "prefixItems": [{"maximum": 5}],
                    "items": {"allOf": [true, {"minLength": 2}]}
            }}
        });
        assert_eq!(
            located(&source, r#"{"next":{"next":{"n":"x"}}}"#),
            pair("/next/next/n", "/$defs/t/properties/n/type")
        );
        assert_eq!(
            located(&source, r#"{"next":{"m~/":1}}"#),
            pair("/next", "/$defs/t/additionalProperties")
        );
        assert_eq!(
            located(&source, "[6]"),
            pair("/0", "/$defs/t/prefixItems/0/maximum")
        );
        assert_eq!(
            located(&source, r#"[1,"ab","a"]"#),
            pair("/2", "/$defs/t/items/allOf/1/minLength")
        );
    }

    #[test]
    fn ignores_keywords_next_to_references_in_older_drafts() {
        let source = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"a": {"$ref": "#/definitions/n", "type": "string"}},
                "definitions": {"n": {"type": "null"}}
        });
        assert_eq!(
            located(&source, r#"{"a":"x"}"#),
            pair("/a", "/definitions/n/type")
        );
    }

    #[test]
    fn locates_violations_of_cyclic_branches_quickly() {
        let branch = |mark: &str| {
            json!({"type": "object", "properties": {"a": {"$ref": "#"},
            "op": {"const": mark}}, "required": ["op"]})
        };
        let both = json!({"allOf": [{"properties": {"a": {"$ref": "#"}}},
            {"properties": {"a": {"$ref": "#"}}}], "required": ["op"]});
        let deep = format!("{}1{}", r#"{"op":"*","a":"#.repeat(250), "}".repeat(250));
        assert_eq!(
            located(&json!({"anyOf": [branch("+"), branch("-")]}), &deep),
            pair("", "/anyOf")
        );
        assert_eq!(
            located(
                &json!({"oneOf": [branch("+"), branch("-"), {"type": "string"}]}),
                &deep
            ),
            pair("", "/oneOf")
        );
        let deep = format!("{}{{}}{}", r#"{"op":"*","a":"#.repeat(250), "}".repeat(250));
        assert_eq!(located(&both, &deep).0, "/a".repeat(250));
        let wide = format!("[{}1]", "1,".repeat(200_000));
        assert_eq!(
            located(
                &json!({"anyOf": [{"type": "array", "items": {"type": "string"}},
                    {"type": "null"}]}),
                &wide
            ),
            pair("", "/anyOf")
        );
    }
}
