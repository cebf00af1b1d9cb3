//! Types for documents whose format has none. A text becomes what its place asks for, and stays a text where a text may stand
//! there or where it is nothing of the kind; one element becomes an array of one where only an array may stand.

use std::collections::HashMap;

use assay_documents::Json;
use serde_json::Value;

use crate::formats::decimal;
use crate::places::{Kinds, gathered};

/// The document with the types its schema names, or, without a schema, those of what is expected.
pub(crate) fn typed(document: Json, schema: Option<&Value>, expected: Option<&Json>) -> Json {
    let mut types = Types { root: schema, places: Vec::new() };
    let says = match (schema, expected) {
        (Some(schema), _) => vec![Says::Schema(schema)],
        (None, Some(expected)) => vec![Says::Value(expected)],
        (None, None) => return document,
    };
    let top = types.place(says);
    types.apply(document, top)
}

/// What has a say at a place.
#[derive(Clone, Copy)]
enum Says<'s> {
    Schema(&'s Value),
    Value(&'s Json),
}

/// One place of all documents: rows of a table share those of their cells.
struct Place<'s> {
    says: Vec<Says<'s>>,
    /// Empty where anything may stand.
    kinds: Kinds,
    members: HashMap<String, usize>,
    elements: Option<usize>,
}

struct Types<'s> {
    root: Option<&'s Value>,
    places: Vec<Place<'s>>,
}

impl<'s> Types<'s> {
    fn place(&mut self, says: Vec<Says<'s>>) -> usize {
        let mut all = Vec::new();
        for say in says {
            match (say, self.root) {
                (Says::Schema(schema), Some(root)) => all.extend(gathered(root, schema).into_iter().map(Says::Schema)),
                (say, _) => all.push(say),
            }
        }
        let kinds = all.iter().map(|say| match say {
            Says::Schema(schema) => Kinds::named(schema),
            Says::Value(value) => kind(value),
        });
        let kinds = kinds.fold(Kinds::default(), Kinds::and);
        self.places.push(Place { says: all, kinds, members: HashMap::new(), elements: None });
        self.places.len() - 1
    }

    fn member(&mut self, place: usize, name: &str) -> usize {
        if let Some(known) = self.places[place].members.get(name) {
            return *known;
        }
        let inside = self.places[place].says.iter().filter_map(|say| match say {
            Says::Schema(schema) => {
                let named = schema.get("properties").and_then(|properties| properties.get(name));
                named.or_else(|| schema.get("additionalProperties")).map(Says::Schema)
            }
            Says::Value(value) => value.get(name).map(Says::Value),
        });
        let inside = inside.collect();
        let member = self.place(inside);
        self.places[place].members.insert(name.to_owned(), member);
        member
    }

    fn elements(&mut self, place: usize) -> usize {
        if let Some(known) = self.places[place].elements {
            return known;
        }
        let mut inside = Vec::new();
        for say in &self.places[place].says {
            match say {
                Says::Schema(schema) => inside.extend(schema.get("items").map(Says::Schema)),
                Says::Value(value) => inside.extend(value.elements().iter().map(Says::Value)),
            }
        }
        let elements = self.place(inside);
        self.places[place].elements = Some(elements);
        elements
    }

    fn apply(&mut self, value: Json, place: usize) -> Json {
        let kinds = self.places[place].kinds;
        let wants_array = kinds.has(Kinds::ARRAY);
        match value {
            Json::Text(text) if !kinds.is_empty() && !kinds.has(Kinds::TEXT) => match scalar(&text, kinds) {
                Some(scalar) => scalar,
                None if text.is_empty() && kinds.has(Kinds::OBJECT) => Json::Object(Vec::new()),
                None if wants_array => {
                    let elements = self.elements(place);
                    Json::Array(vec![self.apply(Json::Text(text), elements)])
                }
                None => Json::Text(text),
            },
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
                Json::Array(elements.into_iter().map(|element| self.apply(element, inside)).collect())
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

/// The scalar a text writes, of the kinds that may stand there.
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
    fn a_text_becomes_what_its_place_asks_for() {
        let schema = json!({
            "type": "array",
            "items": {"$ref": "#/$defs/row"},
            "$defs": {"row": {"properties": {
                "n": {"type": "integer"}, "b": {"type": "boolean"}, "s": {"type": "string"}, "o": {"type": ["number", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "one": {"enum": [1, 2]}
            }}}
        });
        assert_eq!(
            by_schema(r#"[{"n":" 007","b":"true","s":"5","o":"","either":"5","one":"2","x":"1"}]"#, &schema),
            r#"[{"n":7,"b":true,"s":"5","o":null,"either":"5","one":2,"x":"1"}]"#
        );
        assert_eq!(by_schema(r#"[{"n":"seven","b":"yes"}]"#, &schema), r#"[{"n":"seven","b":"yes"}]"#);
    }

    #[test]
    fn one_is_an_array_of_one_where_only_arrays_stand() {
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
    fn without_a_schema_the_expected_value_tells() {
        let expected = Json::read(r#"{"a":[1],"b":{"c":true},"d":"5"}"#).unwrap();
        let document = Json::read(r#"{"a":"1","b":{"c":"true"},"d":"5","e":"5"}"#).unwrap();
        assert_eq!(typed(document, None, Some(&expected)).to_string(), r#"{"a":[1],"b":{"c":true},"d":"5","e":"5"}"#);
    }

    #[test]
    fn schemas_that_lead_to_themselves_are_followed_as_deep_as_the_document() {
        let schema = json!({"properties": {"n": {"type": "number"}, "next": {"$ref": "#"}}});
        assert_eq!(
            by_schema(r#"{"n":"1","next":{"n":"2","next":{"n":"3"}}}"#, &schema),
            r#"{"n":1,"next":{"n":2,"next":{"n":3}}}"#
        );
    }
}
