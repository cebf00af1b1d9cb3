//! Where a document breaks a schema, found by asking which parts of it hold. The validator's own
//! errors list everything that is wrong in every branch of `anyOf` and `oneOf`, which takes
//! exponential time where a schema refers to itself; its yes and no does not.

use std::collections::HashMap;
use std::sync::Mutex;

use jsonschema::{Draft, Validator, ValidatorMap};
use serde_json::{Map, Value, json};

use super::node::Trees;
use super::{Dialect, Violation, options};
use crate::json::Json;

/// Largest schema whose parts are compiled each, in values.
const MAX_VALUES: usize = 20_000;

/// The same for one that refers to itself: every part is compiled with all that it leads to.
const MAX_CYCLIC: usize = 1_000;

/// Most places references lead to that are followed to see whether they lead to themselves.
const MAX_TARGETS: usize = 1_000;

/// Most parts of documents that are looked at for one place.
const MAX_PARTS: usize = 4_000_000;

/// Most schemas that are followed at one place.
const MAX_STEPS: usize = 64;

/// Keywords that say something of a value without schemas of their own.
const PLAIN: &[&str] = &[
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

/// Whether the validator's own errors take no more time than its yes and no: a schema without
/// branches that does not refer to itself.
pub(super) fn is_plain(source: &Value) -> bool {
    !names(source, &["anyOf", "oneOf"]) && !is_cyclic(source)
}

fn names(source: &Value, keys: &[&str]) -> bool {
    match source {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| keys.contains(&key.as_str()) || names(value, keys)),
        Value::Array(elements) => elements.iter().any(|element| names(element, keys)),
        _ => false,
    }
}

/// Whether a reference may lead to what it stands in; true as well where that is not seen from the
/// pointers alone.
fn is_cyclic(source: &Value) -> bool {
    let mut targets: HashMap<&str, State> = HashMap::new();
    names(source, &["$dynamicRef", "$recursiveRef"]) || leads_back("", source, source, &mut targets)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Done,
}

fn leads_back<'s>(
    pointer: &'s str,
    place: &'s Value,
    source: &'s Value,
    targets: &mut HashMap<&'s str, State>,
) -> bool {
    targets.insert(pointer, State::Open);
    let mut references = Vec::new();
    gather(place, &mut references);
    let back = references.into_iter().any(|reference| {
        let Some(pointer) = reference.strip_prefix('#') else {
            return true;
        };
        match (targets.get(pointer), source.pointer(pointer)) {
            (Some(State::Done), _) => false,
            (None, Some(place)) if targets.len() < MAX_TARGETS => {
                leads_back(pointer, place, source, targets)
            }
            _ => true,
        }
    });
    targets.insert(pointer, State::Done);
    back
}

/// The references in a schema, without those of its definitions: they count where something leads
/// to them.
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

fn values(source: &Value) -> usize {
    1 + match source {
        Value::Object(members) => members.values().map(values).sum(),
        Value::Array(elements) => elements.iter().map(values).sum::<usize>(),
        _ => 0,
    }
}

/// The parts of a schema, compiled each.
pub(super) struct Parts {
    map: Option<ValidatorMap<Trees>>,
    draft: Draft,
    formats: Option<bool>,
    /// What a part says by plain keywords alone, once it was asked for.
    plain: Mutex<HashMap<String, Option<Validator<Trees>>>>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// A place in a schema and in a document.
#[derive(Clone)]
struct Here<'a> {
    schema: &'a Value,
    pointer: String,
    value: &'a Json,
    place: String,
}

impl Parts {
    pub(super) fn new(source: &Value, dialect: Dialect, backtracking: bool, draft: Draft) -> Self {
        let is_small = values(source)
            <= if is_cyclic(source) {
                MAX_CYCLIC
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

    /// The innermost place at which a document that breaks the schema breaks it, and the keyword
    /// there.
    pub(super) fn violation(&self, source: &Value, document: &Json) -> Violation {
        let mut here = Here {
            schema: source,
            pointer: String::new(),
            value: document,
            place: String::new(),
        };
        let (mut steps, mut left) = (0, MAX_PARTS);
        while let Some(next) = self.next(source, &here) {
            steps = if std::ptr::eq(next.value, here.value) {
                steps + 1
            } else {
                0
            };
            let Some(rest) = left
                .checked_sub(parts(next.value))
                .filter(|_| steps <= MAX_STEPS)
            else {
                break;
            };
            left = rest;
            here = next;
        }
        self.plainly(&here).unwrap_or_else(|| self.branches(&here))
    }

    /// A part of the schema that the value, or a part of it, breaks.
    fn next<'a>(&self, source: &'a Value, here: &Here<'a>) -> Option<Here<'a>> {
        let schema = here.schema.as_object()?;
        let inside = |key: &str| {
            schema
                .get(key)
                .map(|schema| (schema, format!("{}/{}", here.pointer, escaped(key))))
        };
        let breaks = |next: &Here<'a>| self.holds(&next.pointer, next.value) == Some(false);
        if let Some(pointer) = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|to| to.strip_prefix('#'))
        {
            let target = source.pointer(pointer);
            let next = target.map(|schema| Here {
                schema,
                pointer: pointer.to_owned(),
                ..here.clone()
            });
            if let Some(next) = next.filter(breaks) {
                return Some(next);
            }
        }
        if schema.contains_key("$ref")
            && matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
        {
            return None; // What stands beside a reference says nothing in these drafts.
        }
        if let Some((branches, pointer)) = inside("allOf") {
            let branch = |(at, schema)| Here {
                schema,
                pointer: format!("{pointer}/{at}"),
                ..here.clone()
            };
            if let Some(next) = branches
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
                .map(branch)
                .find(breaks)
            {
                return Some(next);
            }
        }
        let named = schema.get("properties").and_then(Value::as_object);
        let others =
            inside("additionalProperties").filter(|_| !schema.contains_key("patternProperties"));
        for (key, value) in here.value.members() {
            let (schema, pointer) = match (named.and_then(|named| named.get(key)), &others) {
                (Some(schema), _) => (
                    schema,
                    format!("{}/properties/{}", here.pointer, escaped(key)),
                ),
                (None, Some((schema, pointer))) if schema.is_object() => (*schema, pointer.clone()),
                _ => continue,
            };
            // Keys, and so places, may be as long as the document: only the place of the failure is
            // built.
            if self.holds(&pointer, value) == Some(false) {
                return Some(Here {
                    schema,
                    pointer,
                    value,
                    place: format!("{}/{}", here.place, escaped(key)),
                });
            }
        }
        // Up to 2019-09 `items` is the array, and `additionalItems` what follows it.
        let (first, rest) = match schema.get("items") {
            Some(Value::Array(_)) => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        };
        let tuple = schema
            .get(first)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let rest = inside(rest).filter(|(schema, _)| schema.is_object() || schema.is_boolean());
        for (at, value) in here.value.elements().iter().enumerate() {
            let (schema, pointer) = match (tuple.get(at), &rest) {
                (Some(schema), _) => (schema, format!("{}/{first}/{at}", here.pointer)),
                (None, Some((schema, pointer))) => (*schema, pointer.clone()),
                (None, None) => break,
            };
            if self.holds(&pointer, value) == Some(false) {
                return Some(Here {
                    schema,
                    pointer,
                    value,
                    place: format!("{}/{at}", here.place),
                });
            }
        }
        None
    }

    fn holds(&self, pointer: &str, value: &Json) -> Option<bool> {
        Some(
            self.map
                .as_ref()?
                .get(&format!("#{pointer}"))?
                .is_valid(value),
        )
    }

    /// What the plain keywords of a place say against it.
    fn plainly(&self, here: &Here<'_>) -> Option<Violation> {
        let mut known = self.plain.lock().ok()?;
        let validator = known.entry(here.pointer.clone()).or_insert_with(|| {
            let plain = plain(here.schema.as_object()?);
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
        let error = validator.as_ref()?.validate(here.value).err()?;
        let keyword = format!("{}{}", here.pointer, error.schema_path().as_str());
        Some(Violation {
            place: here.place.clone(),
            keyword,
            reason: error.masked().to_string(),
        })
    }

    /// Which keyword with schemas of its own a place breaks.
    fn branches(&self, here: &Here<'_>) -> Violation {
        let tell = |keyword: &str, reason: String| Violation {
            place: here.place.clone(),
            keyword: format!("{}{keyword}", here.pointer),
            reason,
        };
        let count = |keyword: &str| {
            let branches = here.schema.get(keyword)?.as_array()?;
            let holds = |at: usize| {
                self.holds(&format!("{}/{keyword}/{at}", here.pointer), here.value)
                    .unwrap_or(true)
            };
            Some((0..branches.len()).filter(|at| holds(*at)).count())
        };
        match (count("anyOf"), count("oneOf")) {
            (Some(0), _) => tell(
                "/anyOf",
                "value holds none of the schemas under `anyOf`".to_owned(),
            ),
            (_, Some(0)) => tell(
                "/oneOf",
                "value holds none of the schemas under `oneOf`".to_owned(),
            ),
            (_, Some(several @ 2..)) => tell(
                "/oneOf",
                format!("value holds {several} of the schemas under `oneOf`, not one"),
            ),
            _ => tell("", "value does not hold this schema".to_owned()),
        }
    }
}

/// The plain keywords of a schema; of its properties the names, where there may be no others.
fn plain(schema: &Map<String, Value>) -> Value {
    let mut plain: Map<String, Value> = PLAIN
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

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

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
            place,
            keyword,
            reason,
        } = schema.violation(&Json::read(document).unwrap()).unwrap();
        (place, keyword, reason)
    }

    fn told(source: &Value, document: &str) -> (String, String) {
        let (place, keyword, _) = violation(source, document);
        (place, keyword)
    }

    fn pair(place: &str, keyword: &str) -> (String, String) {
        (place.to_owned(), keyword.to_owned())
    }

    #[test]
    fn branches_are_told_with_their_place() {
        let source = json!({"properties": {"steps": {"items": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}}}});
        assert_eq!(
            told(&source, r#"{"steps":[{"a":1},{}]}"#),
            pair("/steps/1", "/properties/steps/items/oneOf")
        );
        let (_, _, reason) = violation(&source, r#"{"steps":[{"a":1,"b":2}]}"#);
        assert_eq!(
            reason,
            "value holds 2 of the schemas under `oneOf`, not one"
        );
        assert_eq!(
            told(
                &json!({"anyOf": [{"type": "null"}, {"type": "array"}]}),
                "1"
            ),
            pair("", "/anyOf")
        );
        assert_eq!(
            told(&json!({"not": true, "anyOf": [true]}), "1"),
            pair("", "")
        );
        assert_eq!(told(&json!({"not": true}), "1"), pair("", "/not"));
    }

    #[test]
    fn schemas_that_refer_to_themselves_are_known() {
        for (cyclic, source) in [
            (
                false,
                json!({"properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}}}),
            ),
            (true, json!({"properties": {"a": {"$ref": "#"}}})),
            (
                true,
                json!({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}}}),
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
    fn references_are_followed_to_the_keyword() {
        let source = json!({
            "$ref": "#/$defs/t",
            "$defs": {"t": {
                "properties": {"next": {"$ref": "#/$defs/t"}, "n": {"type": "integer"}},
                "additionalProperties": false, "prefixItems": [{"maximum": 5}], "items": {"allOf": [true, {"minLength": 2}]}
            }}
        });
        assert_eq!(
            told(&source, r#"{"next":{"next":{"n":"x"}}}"#),
            pair("/next/next/n", "/$defs/t/properties/n/type")
        );
        assert_eq!(
            told(&source, r#"{"next":{"m~/":1}}"#),
            pair("/next", "/$defs/t/additionalProperties")
        );
        assert_eq!(
            told(&source, "[6]"),
            pair("/0", "/$defs/t/prefixItems/0/maximum")
        );
        assert_eq!(
            told(&source, r#"[1,"ab","a"]"#),
            pair("/2", "/$defs/t/items/allOf/1/minLength")
        );
    }

    #[test]
    fn older_drafts_pass_over_what_stands_beside_a_reference() {
        let source = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"a": {"$ref": "#/definitions/n", "type": "string"}}, "definitions": {"n": {"type": "null"}}
        });
        assert_eq!(
            told(&source, r#"{"a":"x"}"#),
            pair("/a", "/definitions/n/type")
        );
    }

    #[test]
    fn schemas_that_refer_to_themselves_in_branches_are_told_at_once() {
        let branch = |mark: &str| json!({"type": "object", "properties": {"a": {"$ref": "#"}, "op": {"const": mark}}, "required": ["op"]});
        let both = json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}], "required": ["op"]});
        let deep = format!("{}1{}", r#"{"op":"*","a":"#.repeat(250), "}".repeat(250));
        assert_eq!(
            told(&json!({"anyOf": [branch("+"), branch("-")]}), &deep),
            pair("", "/anyOf")
        );
        assert_eq!(
            told(
                &json!({"oneOf": [branch("+"), branch("-"), {"type": "string"}]}),
                &deep
            ),
            pair("", "/oneOf")
        );
        let deep = format!("{}{{}}{}", r#"{"op":"*","a":"#.repeat(250), "}".repeat(250));
        assert_eq!(told(&both, &deep).0, "/a".repeat(250));
        let wide = format!("[{}1]", "1,".repeat(200_000));
        assert_eq!(
            told(
                &json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}),
                &wide
            ),
            pair("", "/anyOf")
        );
    }
}
