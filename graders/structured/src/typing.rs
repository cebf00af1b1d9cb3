//! Types the scalars of untyped formats. A string is converted to the type that is required at its
//! location. It stays a string if a string is allowed there or the conversion fails. A single
//! element becomes an array of one element if only an array is allowed.

use std::collections::HashMap;

use assay_documents::Json;
use serde_json::Value;

use crate::formats::decimal;
use crate::requirements::{TypeSet, applicable_schemas};

/// The document with the types of its schema or, without a schema, of the expected value.
pub(crate) fn typed(document: Json, schema: Option<&Value>, expected: Option<&Json>) -> Json {
    let mut locations = Locations {
        root: schema,
        locations: vec![Location::default()],
    };
    let top = match (schema, expected) {
        (Some(schema), _) => locations.location(vec![schema], Vec::new()),
        (None, Some(expected)) => locations.location(Vec::new(), vec![expected]),
        (None, None) => return document,
    };
    locations.convert(document, top)
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
    elements: Option<usize>,
    /// The expected values of the members by name, computed on first use.
    expected: Option<HashMap<&'s str, Vec<&'s Json>>>,
}

/// The locations of documents, created as they are needed.
struct Locations<'s> {
    root: Option<&'s Value>,
    locations: Vec<Location<'s>>,
}

impl<'s> Locations<'s> {
    /// Adds a location and returns its index.
    fn location(&mut self, schemas: Vec<&'s Value>, values: Vec<&'s Json>) -> usize {
        let applicable = self.root.map(|root| {
            schemas
                .into_iter()
                .flat_map(|schema| applicable_schemas(root, schema))
                .collect()
        });
        let schemas: Vec<&Value> = applicable.unwrap_or_default();
        if schemas.is_empty() && values.is_empty() {
            return UNCONSTRAINED;
        }
        let of_schemas = schemas.iter().map(|schema| TypeSet::of_schema(schema));
        let types = of_schemas
            .chain(values.iter().map(|value| type_of(value)))
            .fold(TypeSet::default(), TypeSet::union);
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
        let location = &mut self.locations[at];
        if let Some(known) = location.members.get(name) {
            return *known;
        }
        let inside = |schema: &&'s Value| {
            let named = schema
                .get("properties")
                .and_then(|properties| properties.get(name));
            named.or_else(|| schema.get("additionalProperties"))
        };
        let schemas = location.schemas.iter().filter_map(inside).collect();
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

    /// The location of the elements of the arrays at a location.
    fn elements(&mut self, at: usize) -> usize {
        if at == UNCONSTRAINED {
            return UNCONSTRAINED;
        }
        let location = &self.locations[at];
        if let Some(known) = location.elements {
            return known;
        }
        let schemas = location
            .schemas
            .iter()
            .filter_map(|schema| schema.get("items"))
            .collect();
        let values = location
            .values
            .iter()
            .flat_map(|value| value.elements())
            .collect();
        let elements = self.location(schemas, values);
        self.locations[at].elements = Some(elements);
        elements
    }

    fn convert(&mut self, value: Json, location: usize) -> Json {
        let types = self.locations[location].types;
        let allows_array = types.contains(TypeSet::ARRAY);
        match value {
            Json::Text(text) if !types.is_empty() && !types.contains(TypeSet::TEXT) => {
                match scalar(&text, types) {
                    Some(scalar) => scalar,
                    None if text.is_empty() && types.contains(TypeSet::OBJECT) => {
                        Json::Object(Vec::new())
                    }
                    None if allows_array => {
                        let elements = self.elements(location);
                        Json::Array(vec![self.convert(Json::Text(text), elements)])
                    }
                    None => Json::Text(text),
                }
            }
            Json::Object(members) if allows_array && !types.contains(TypeSet::OBJECT) => {
                let elements = self.elements(location);
                Json::Array(vec![self.convert(Json::Object(members), elements)])
            }
            Json::Object(members) => {
                let typed = |(name, value): (String, Json)| {
                    let member = self.member(location, &name);
                    let value = self.convert(value, member);
                    (name, value)
                };
                Json::Object(members.into_iter().map(typed).collect())
            }
            Json::Array(elements) => {
                let inside = self.elements(location);
                Json::Array(
                    elements
                        .into_iter()
                        .map(|element| self.convert(element, inside))
                        .collect(),
                )
            }
            value => value,
        }
    }
}

fn type_of(value: &Json) -> TypeSet {
    match value {
        Json::Null => TypeSet::NULL,
        Json::Bool(_) => TypeSet::BOOLEAN,
        Json::Number(_) => TypeSet::NUMBER,
        Json::Text(_) => TypeSet::TEXT,
        Json::Array(_) => TypeSet::ARRAY,
        Json::Object(_) => TypeSet::OBJECT,
    }
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
        typed(Json::read(document).unwrap(), Some(schema), None).to_string()
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
        assert_eq!(
            typed(document, None, Some(&expected)).to_string(),
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
}
