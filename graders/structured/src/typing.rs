//! Types the scalars of untyped formats. A string is converted to the type that its place requires,
//! and stays a string if a string is allowed there or the conversion fails; a single element
//! becomes an array of one if only an array is allowed.

use std::collections::HashMap;

use assay_documents::Json;
use serde_json::Value;

use crate::formats::decimal;
use crate::places::{Kinds, gathered};

/// The document with the types of its schema or, without a schema, of the expected value.
pub(crate) fn typed(document: Json, schema: Option<&Value>, expected: Option<&Json>) -> Json {
    let mut types = Types {
        root: schema,
        places: vec![Place::default()],
    };
    let top = match (schema, expected) {
        (Some(schema), _) => types.place(vec![schema], Vec::new()),
        (None, Some(expected)) => types.place(Vec::new(), vec![expected]),
        (None, None) => return document,
    };
    types.apply(document, top)
}

/// A place without any requirement, and so are all places in it.
const ANYWHERE: usize = 0;

/// One place of all documents: rows of a table share the places of their cells.
#[derive(Default)]
struct Place<'s> {
    schemas: Vec<&'s Value>,
    /// The expected values there, one for each element of an array.
    values: Vec<&'s Json>,
    /// Empty if anything is allowed.
    kinds: Kinds,
    members: HashMap<String, usize>,
    elements: Option<usize>,
    /// The places of the members by name, computed on first use.
    expected: Option<HashMap<&'s str, Vec<&'s Json>>>,
}

struct Types<'s> {
    root: Option<&'s Value>,
    places: Vec<Place<'s>>,
}

impl<'s> Types<'s> {
    fn place(&mut self, says: Vec<&'s Value>, values: Vec<&'s Json>) -> usize {
        let gathered = self.root.map(|root| {
            says.into_iter()
                .flat_map(|schema| gathered(root, schema))
                .collect()
        });
        let schemas: Vec<&Value> = gathered.unwrap_or_default();
        if schemas.is_empty() && values.is_empty() {
            return ANYWHERE;
        }
        let named = schemas.iter().map(|schema| Kinds::named(schema));
        let kinds = named
            .chain(values.iter().map(|value| kind(value)))
            .fold(Kinds::default(), Kinds::and);
        self.places.push(Place {
            schemas,
            values,
            kinds,
            ..Place::default()
        });
        self.places.len() - 1
    }

    fn member(&mut self, at: usize, name: &str) -> usize {
        if at == ANYWHERE {
            return ANYWHERE;
        }
        let place = &mut self.places[at];
        if let Some(known) = place.members.get(name) {
            return *known;
        }
        let inside = |schema: &&'s Value| {
            let named = schema
                .get("properties")
                .and_then(|properties| properties.get(name));
            named.or_else(|| schema.get("additionalProperties"))
        };
        let schemas = place.schemas.iter().filter_map(inside).collect();
        let expected = place.expected.get_or_insert_with(|| {
            let mut expected: HashMap<&str, Vec<&Json>> = HashMap::new();
            for (key, value) in place.values.iter().flat_map(|value| value.members()) {
                expected.entry(key).or_default().push(value);
            }
            expected
        });
        let values = expected.get(name).cloned().unwrap_or_default();
        let member = self.place(schemas, values);
        self.places[at].members.insert(name.to_owned(), member);
        member
    }

    fn elements(&mut self, at: usize) -> usize {
        if at == ANYWHERE {
            return ANYWHERE;
        }
        let place = &self.places[at];
        if let Some(known) = place.elements {
            return known;
        }
        let schemas = place
            .schemas
            .iter()
            .filter_map(|schema| schema.get("items"))
            .collect();
        let values = place
            .values
            .iter()
            .flat_map(|value| value.elements())
            .collect();
        let elements = self.place(schemas, values);
        self.places[at].elements = Some(elements);
        elements
    }

    fn apply(&mut self, value: Json, place: usize) -> Json {
        let kinds = self.places[place].kinds;
        let wants_array = kinds.has(Kinds::ARRAY);
        match value {
            Json::Text(text) if !kinds.is_empty() && !kinds.has(Kinds::TEXT) => {
                match scalar(&text, kinds) {
                    Some(scalar) => scalar,
                    None if text.is_empty() && kinds.has(Kinds::OBJECT) => Json::Object(Vec::new()),
                    None if wants_array => {
                        let elements = self.elements(place);
                        Json::Array(vec![self.apply(Json::Text(text), elements)])
                    }
                    None => Json::Text(text),
                }
            }
            Json::Object(members) if wants_array && !kinds.has(Kinds::OBJECT) => {
                let elements = self.elements(place);
                Json::Array(vec![self.apply(Json::Object(members), elements)])
            }
            Json::Object(members) => {
                let typed = |(name, value): (String, Json)| {
                    let member = self.member(place, &name);
                    let value = self.apply(value, member);
                    (name, value)
                };
                Json::Object(members.into_iter().map(typed).collect())
            }
            Json::Array(elements) => {
                let inside = self.elements(place);
                Json::Array(
                    elements
                        .into_iter()
                        .map(|element| self.apply(element, inside))
                        .collect(),
                )
            }
            value => value,
        }
    }
}

fn kind(value: &Json) -> Kinds {
    match value {
        Json::Null => Kinds::NULL,
        Json::Bool(_) => Kinds::BOOLEAN,
        Json::Number(_) => Kinds::NUMBER,
        Json::Text(_) => Kinds::TEXT,
        Json::Array(_) => Kinds::ARRAY,
        Json::Object(_) => Kinds::OBJECT,
    }
}

/// The scalar that a text denotes, of the allowed kinds.
fn scalar(text: &str, kinds: Kinds) -> Option<Json> {
    let text = text.trim();
    match text {
        "true" | "false" if kinds.has(Kinds::BOOLEAN) => Some(Json::Bool(text == "true")),
        "" | "null" if kinds.has(Kinds::NULL) => Some(Json::Null),
        _ if kinds.has(Kinds::NUMBER) => decimal(text).map(Json::Number),
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
                "n": {"type": "integer"}, "b": {"type": "boolean"}, "s": {"type": "string"}, "o": {"type": ["number", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "one": {"enum": [1, 2]}
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
            "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "number"}}}},
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
