//! Types the scalars of untyped formats. A string is converted to the type that is required at its
//! location. It stays a string if a string is allowed there or the conversion fails. If a string
//! and another type are allowed, the value that equals the expected one is used. A single element
//! becomes an array of one element if only an array is allowed.

use std::collections::{HashMap, HashSet};

use assay_documents::Json;
use assay_documents::json::same;
use assay_documents::schema::pattern_bytes;
use jsonschema_regex::to_rust_regex;
use regex::Regex;
use serde_json::Value;

use crate::formats::decimal;
use crate::requirements::{TypeSet, applicable_schemas};

/// What types the scalars of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typing<'s> {
    pub(crate) schema: Option<&'s Value>,
    pub(crate) patterns: &'s Patterns,
    pub(crate) expected: Option<&'s Json>,
    /// Whether elements of arrays correspond to the expected ones by their index.
    pub(crate) is_ordered: bool,
}

/// What a string becomes if both a string and another type are allowed, and neither is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preference {
    Text,
    Scalar,
}

/// The patterns of `patternProperties` in a schema. Those that need backtracking match nothing.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: HashMap<String, Regex>,
    bytes: usize,
}

impl Patterns {
    /// Compiles the patterns of a schema, whose memory the compiled schema limits.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        let mut found = Self::default();
        found.collect(schema);
        if !found.compiled.is_empty() {
            found.bytes = pattern_bytes(schema);
        }
        found
    }

    /// Estimated size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn collect(&mut self, schema: &Value) {
        match schema {
            Value::Array(values) => values.iter().for_each(|value| self.collect(value)),
            Value::Object(fields) => {
                let patterns = fields.get("patternProperties").and_then(Value::as_object);
                for pattern in patterns.into_iter().flat_map(|patterns| patterns.keys()) {
                    let translated = to_rust_regex(pattern).ok();
                    let compiled = translated.and_then(|pattern| Regex::new(&pattern).ok());
                    self.compiled
                        .extend(compiled.map(|compiled| (pattern.clone(), compiled)));
                }
                fields.values().for_each(|value| self.collect(value));
            }
            _ => {}
        }
    }

    fn matches(&self, pattern: &str, name: &str) -> bool {
        self.compiled
            .get(pattern)
            .is_some_and(|pattern| pattern.is_match(name))
    }
}

/// The document with the types of its schema or, without a schema, of the expected value.
pub(crate) fn typed(document: Json, typing: Typing<'_>, preference: Preference) -> Json {
    if typing.schema.is_none() && typing.expected.is_none() {
        return document;
    }
    let mut locations = Locations {
        typing,
        preference,
        locations: vec![Location::default()],
    };
    let values = typing.expected.into_iter().collect();
    let top = locations.location(typing.schema.into_iter().collect(), values);
    locations.convert(document, top, typing.expected)
}

/// Index of the location without requirements. The locations inside it have none either.
const UNCONSTRAINED: usize = 0;

/// A location, shared by all elements of an array: the rows of a table share the locations of their
/// cells.
#[derive(Default)]
struct Location<'s> {
    schemas: Vec<&'s Value>,
    /// The expected values at the location, one for each element of an array.
    values: Vec<&'s Json>,
    /// The allowed types; empty if every type is allowed.
    types: TypeSet,
    members: HashMap<String, usize>,
    /// The elements that the schemas describe by their index.
    first_elements: HashMap<usize, usize>,
    other_elements: Option<usize>,
    /// The expected scalars in canonical form, computed on first use.
    scalars: Option<HashSet<String>>,
    /// The expected values of the members by name, computed on first use.
    expected: Option<HashMap<&'s str, Vec<&'s Json>>>,
}

/// The locations of documents, created as they are needed.
struct Locations<'s> {
    typing: Typing<'s>,
    preference: Preference,
    locations: Vec<Location<'s>>,
}

impl<'s> Locations<'s> {
    /// Adds a location and returns its index.
    fn location(&mut self, schemas: Vec<&'s Value>, values: Vec<&'s Json>) -> usize {
        let applicable = self.typing.schema.map(|root| {
            schemas
                .into_iter()
                .flat_map(|schema| applicable_schemas(root, schema))
                .collect()
        });
        let schemas: Vec<&Value> = applicable.unwrap_or_default();
        if schemas.is_empty() && values.is_empty() {
            return UNCONSTRAINED;
        }
        let types = if self.typing.schema.is_some() {
            let types = schemas.iter().map(|schema| TypeSet::of_schema(schema));
            types.fold(TypeSet::default(), TypeSet::union)
        } else {
            let types = values.iter().map(|value| TypeSet::of(value));
            types.fold(TypeSet::default(), TypeSet::union)
        };
        self.locations.push(Location {
            schemas,
            values,
            types,
            ..Location::default()
        });
        self.locations.len() - 1
    }

    /// The location of a member of the objects at a location.
    fn member(&mut self, at: usize, name: &str) -> usize {
        if at == UNCONSTRAINED {
            return UNCONSTRAINED;
        }
        let patterns = self.typing.patterns;
        let location = &mut self.locations[at];
        if let Some(known) = location.members.get(name) {
            return *known;
        }
        let schemas = location
            .schemas
            .iter()
            .flat_map(|schema| schemas_of_member(schema, name, patterns))
            .collect();
        let expected = location.expected.get_or_insert_with(|| {
            let mut expected: HashMap<&str, Vec<&Json>> = HashMap::new();
            for (key, value) in location.values.iter().flat_map(|value| value.members()) {
                expected.entry(key).or_default().push(value);
            }
            expected
        });
        let values = expected.get(name).cloned().unwrap_or_default();
        let member = self.location(schemas, values);
        self.locations[at].members.insert(name.to_owned(), member);
        member
    }

    /// The location of the element with this index of the arrays at a location.
    fn element(&mut self, at: usize, index: usize) -> usize {
        if at == UNCONSTRAINED {
            return UNCONSTRAINED;
        }
        let location = &self.locations[at];
        let is_described = location
            .schemas
            .iter()
            .any(|schema| index < first_elements(schema).len());
        let known = if is_described {
            location.first_elements.get(&index).copied()
        } else {
            location.other_elements
        };
        if let Some(known) = known {
            return known;
        }
        let schemas = location
            .schemas
            .iter()
            .filter_map(|schema| schema_of_element(schema, index))
            .collect();
        let values = location
            .values
            .iter()
            .flat_map(|value| value.elements())
            .collect();
        let element = self.location(schemas, values);
        let location = &mut self.locations[at];
        if is_described {
            location.first_elements.insert(index, element);
        } else {
            location.other_elements = Some(element);
        }
        element
    }

    /// Converts a value. `expected` is the value that is expected in its place, if its place is
    /// known.
    fn convert(&mut self, value: Json, location: usize, expected: Option<&'s Json>) -> Json {
        let types = self.locations[location].types;
        let wants_array = types.contains(TypeSet::ARRAY);
        match value {
            Json::Text(text) if types.is_empty() || types.contains(TypeSet::TEXT) => {
                self.alternative(text, location, expected)
            }
            Json::Text(text) => match scalar(&text, types) {
                Some(scalar) => scalar,
                None if text.is_empty() && types.contains(TypeSet::OBJECT) => {
                    Json::Object(Vec::new())
                }
                None if wants_array => self.array(vec![Json::Text(text)], location, expected),
                None => Json::Text(text),
            },
            Json::Object(members) if wants_array && !types.contains(TypeSet::OBJECT) => {
                self.array(vec![Json::Object(members)], location, expected)
            }
            Json::Object(members) => {
                let expected = MembersByName::of(expected);
                let typed = |(name, value): (String, Json)| {
                    let member = self.member(location, &name);
                    let value = self.convert(value, member, expected.get(&name));
                    (name, value)
                };
                Json::Object(members.into_iter().map(typed).collect())
            }
            Json::Array(elements) => self.array(elements, location, expected),
            value => value,
        }
    }

    fn array(&mut self, elements: Vec<Json>, location: usize, expected: Option<&'s Json>) -> Json {
        let expected = expected.filter(|_| self.typing.is_ordered);
        let typed = |(index, element): (usize, Json)| {
            let inside = self.element(location, index);
            let expected = expected.and_then(|all| all.elements().get(index));
            self.convert(element, inside, expected)
        };
        Json::Array(elements.into_iter().enumerate().map(typed).collect())
    }

    /// A string where a string is allowed: what is expected there, if the text can be that. All
    /// types are allowed if the schema says nothing about the location.
    fn alternative(&mut self, text: String, at: usize, expected: Option<&Json>) -> Json {
        let location = &mut self.locations[at];
        let prefers_scalar = self.preference == Preference::Scalar && !location.types.is_empty();
        if location.values.is_empty() && !prefers_scalar {
            return Json::Text(text);
        }
        let types = if location.types.is_empty() {
            TypeSet::SCALAR
        } else {
            location.types
        };
        let Some(scalar) = scalar(&text, types) else {
            return Json::Text(text);
        };
        let mut is_expected = |value: &Json| match expected {
            Some(expected) => same(value, expected, 0.0),
            None => location.expects(value),
        };
        let text = Json::Text(text);
        if prefers_scalar || is_expected(&scalar) && !is_expected(&text) {
            scalar
        } else {
            text
        }
    }
}

impl Location<'_> {
    /// Whether a scalar is among the expected values.
    fn expects(&mut self, value: &Json) -> bool {
        let values = &self.values;
        let scalars = self.scalars.get_or_insert_with(|| {
            let is_scalar = |value: &&&Json| !matches!(value, Json::Array(_) | Json::Object(_));
            let scalars = values.iter().filter(is_scalar);
            scalars.map(|value| value.canonical()).collect()
        });
        scalars.contains(&value.canonical())
    }
}

/// The members of an expected object, with an index if there are many.
enum MembersByName<'s> {
    Few(Option<&'s Json>),
    Many(HashMap<&'s str, &'s Json>),
}

impl<'s> MembersByName<'s> {
    fn of(expected: Option<&'s Json>) -> Self {
        /// Number of members up to which names are compared one by one.
        const FEW: usize = 16;
        let members = expected.map_or(&[][..], Json::members);
        if members.len() <= FEW {
            return Self::Few(expected);
        }
        let members = members.iter().map(|(name, value)| (name.as_str(), value));
        Self::Many(members.collect())
    }

    fn get(&self, name: &str) -> Option<&'s Json> {
        match self {
            Self::Few(expected) => expected.and_then(|expected| expected.get(name)),
            Self::Many(members) => members.get(name).copied(),
        }
    }
}

/// The schemas of a member of an object that a schema describes.
fn schemas_of_member<'s>(schema: &'s Value, name: &str, patterns: &Patterns) -> Vec<&'s Value> {
    let named = schema
        .get("properties")
        .and_then(|properties| properties.get(name));
    let mut found: Vec<&Value> = named.into_iter().collect();
    let of_pattern = schema.get("patternProperties").and_then(Value::as_object);
    let matching = of_pattern
        .into_iter()
        .flatten()
        .filter(|(pattern, _)| patterns.matches(pattern, name));
    found.extend(matching.map(|(_, schema)| schema));
    if found.is_empty() {
        let others = ["additionalProperties", "unevaluatedProperties"];
        found.extend(others.iter().find_map(|key| schema.get(key)));
    }
    found
}

/// The schemas of the elements that a schema describes by their index.
fn first_elements(schema: &Value) -> &[Value] {
    let lists = ["prefixItems", "items"].iter();
    let mut lists = lists.filter_map(|key| schema.get(key)?.as_array());
    lists.next().map_or(&[], Vec::as_slice)
}

/// The schema of an element of an array that a schema describes.
fn schema_of_element(schema: &Value, index: usize) -> Option<&Value> {
    first_elements(schema)
        .get(index)
        .or_else(|| schema.get("items").filter(|items| !items.is_array()))
        .or_else(|| schema.get("additionalItems"))
}

/// The scalar with one of the allowed types that a text represents.
fn scalar(text: &str, types: TypeSet) -> Option<Json> {
    let text = text.trim();
    match text {
        "true" | "false" if types.contains(TypeSet::BOOLEAN) => Some(Json::Bool(text == "true")),
        "" | "null" if types.contains(TypeSet::NULL) => Some(Json::Null),
        _ if types.contains(TypeSet::NUMBER) => decimal(text).map(Json::Number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn by_schema(document: &str, schema: &Value) -> String {
        by_both(document, schema, None)
    }

    fn by_both(document: &str, schema: &Value, expected: Option<&str>) -> String {
        let expected = expected.map(|expected| Json::read(expected).unwrap());
        let typing = Typing {
            schema: Some(schema),
            patterns: &Patterns::of_schema(schema),
            expected: expected.as_ref(),
            is_ordered: true,
        };
        typed(Json::read(document).unwrap(), typing, Preference::Text).to_string()
    }

    #[test]
    fn converts_texts_to_the_type_of_the_schema() {
        let schema = json!({
            "type": "array",
            "items": {"$ref": "#/$defs/row"},
            "$defs": {"row": {"properties": {
                "n": {"type": "integer"}, "b": {"type": "boolean"}, "s": {"type": "string"},
                "o": {"type": ["number", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "one": {"enum": [1, 2]}
            }}}
        });
        assert_eq!(
            by_schema(
                r#"[{"n":" 007","b":"true","s":"5","o":"","either":"5","one":"2","x":"1"}]"#,
                &schema
            ),
            r#"[{"n":7,"b":true,"s":"5","o":null,"either":"5","one":2,"x":"1"}]"#
        );
        assert_eq!(
            by_schema(r#"[{"n":"seven","b":"yes"}]"#, &schema),
            r#"[{"n":"seven","b":"yes"}]"#
        );
    }

    #[test]
    fn a_single_element_is_an_array_if_the_schema_requires_one() {
        let schema = json!({"properties": {
            "a": {"type": "array", "items": {"type": "number"}},
            "b": {
                "type": "array",
                "items": {"type": "object", "properties": {"c": {"type": "number"}}}
            },
            "o": {"type": "object"}, "s": {"type": ["string", "array"]}
        }});
        assert_eq!(
            by_schema(r#"{"a":"1.5","b":{"c":"2"},"o":"","s":"x"}"#, &schema),
            r#"{"a":[1.5],"b":[{"c":2}],"o":{},"s":"x"}"#
        );
    }

    #[test]
    fn uses_the_expected_value_without_a_schema() {
        let expected = Json::read(r#"{"a":[1],"b":{"c":true},"d":"5"}"#).unwrap();
        let document = Json::read(r#"{"a":"1","b":{"c":"true"},"d":"5","e":"5"}"#).unwrap();
        let typing = Typing {
            schema: None,
            patterns: &Patterns::default(),
            expected: Some(&expected),
            is_ordered: true,
        };
        assert_eq!(
            typed(document, typing, Preference::Text).to_string(),
            r#"{"a":[1],"b":{"c":true},"d":"5","e":"5"}"#
        );
    }

    #[test]
    fn follows_recursive_schemas_as_deep_as_the_document() {
        let schema = json!({"properties": {"n": {"type": "number"}, "next": {"$ref": "#"}}});
        assert_eq!(
            by_schema(r#"{"n":"1","next":{"n":"2","next":{"n":"3"}}}"#, &schema),
            r#"{"n":1,"next":{"n":2,"next":{"n":3}}}"#
        );
    }

    #[test]
    fn follows_every_keyword_that_describes_parts() {
        let schema = json!({
            "$ref": "#/definitions/root",
            "definitions": {
                "root": {
                    "properties": {"t": {"prefixItems": [{"type": "number"}, {"type": "string"}],
                        "items": {"type": "boolean"}}},
                    "patternProperties": {"^n_": {"$ref": "#/definitions/number"}},
                    "additionalProperties": {"allOf": [{"type": "boolean"}]},
                    "if": {"required": ["k"]}, "then": {"properties": {"k": {"type": "null"}}}
                },
                "number": {"anyOf": [{"type": "number"}, {"type": "null"}]}
            }
        });
        assert_eq!(
            by_schema(
                r#"{"t":["1","2","true"],"n_a":"3","n_b":"","other":"true","k":""}"#,
                &schema
            ),
            r#"{"t":[1,"2",true],"n_a":3,"n_b":null,"other":true,"k":null}"#
        );
    }

    #[test]
    fn ambiguous_texts_are_what_is_expected() {
        let schema = json!({"items": {"properties": {"v": {"type": ["integer", "string"]}}}});
        let document = r#"[{"v":"5","w":"6"},{"v":"5","w":"6"}]"#;
        let expected = r#"[{"v":5,"w":6},{"v":"5","w":"6"}]"#;
        assert_eq!(by_both(document, &schema, Some(expected)), expected);
        assert_eq!(by_both(document, &schema, None), document);
        assert_eq!(by_both(document, &schema, Some(r#"[{"v":7}]"#)), document);
    }
}
