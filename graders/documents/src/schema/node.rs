//! Lets the validator read [`Json`] trees directly, without a copy in another representation, so
//! that numbers stay exact.

use std::borrow::Cow;
use std::collections::HashSet;
use std::slice;

use jsonschema::json::{Array, Json as Representation, JsonNumber, Node, NodeIdentity, Object};
use jsonschema::types::JsonType;
use serde_json::{Number, Value};

use super::visit_limit::count_visit;
use crate::json::{Json, number, number_value};

/// The representation of documents for the validator.
pub(super) struct Trees;

impl Representation for Trees {
    type Node<'a> = &'a Json;
    type PreparedKey = String;
    /// A lookup is a pass over the members, so a pass is never more expensive.
    const KEYS_PER_LOOKUP: usize = 1_000;
    type StringBuffer = Option<Json>;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Option<Json>,
        string: &str,
        f: impl FnOnce(&Json) -> T,
    ) -> T {
        f(buffer.insert(Json::Text(string.to_owned())))
    }
}

impl<'a> Node<'a, Trees> for &'a Json {
    type Object = Members<'a>;
    type Array = Elements<'a>;
    type Number = Digits<'a>;

    fn as_object(&self) -> Option<Members<'a>> {
        count_visit();
        match self {
            Json::Object(members) => Some(Members(members)),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<Elements<'a>> {
        count_visit();
        match self {
            Json::Array(elements) => Some(Elements(elements)),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        count_visit();
        match self {
            Json::Text(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<Digits<'a>> {
        count_visit();
        match self {
            Json::Number(text) => Some(Digits(text)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    fn json_type(&self) -> JsonType {
        count_visit();
        match self {
            Json::Null => JsonType::Null,
            Json::Bool(_) => JsonType::Boolean,
            Json::Number(_) => JsonType::Number,
            Json::Text(_) => JsonType::String,
            Json::Array(_) => JsonType::Array,
            Json::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        count_visit();
        same_value(self, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(Json::to_value(self))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Json>(self).addr()))
    }
}

/// [`crate::json::same`] for a value of a schema, without tolerance.
fn same_value(a: &Json, b: &Value) -> bool {
    match (a, b) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(a), Value::Bool(b)) => a == b,
        (Json::Number(a), Value::Number(b)) => number::same(a, &b.to_string()),
        (Json::Text(a), Value::String(b)) => a == b,
        (Json::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (Json::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same_value(a, b)))
        }
        _ => false,
    }
}

/// An object.
pub(super) struct Members<'a>(&'a [(String, Json)]);

impl<'a> Object<'a, Trees> for Members<'a> {
    type Node = &'a Json;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<&'a Json> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter(self.0.iter())
    }
}

/// The members of an object.
pub(super) struct MembersIter<'a>(slice::Iter<'a, (String, Json)>);

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, &'a Json);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key.as_str(), value))
    }
}

/// An array.
pub(super) struct Elements<'a>(&'a [Json]);

impl<'a> Array<'a, Trees> for Elements<'a> {
    type Node = &'a Json;
    type ElementsIter = slice::Iter<'a, Json>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> slice::Iter<'a, Json> {
        self.0.iter()
    }

    fn is_unique(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.0.len());
        self.0
            .iter()
            .all(|element| seen.insert(element.canonical()))
    }
}

/// A number.
pub(super) struct Digits<'a>(&'a str);

/// Maximum digits of a number that is written without an exponent, for divisions.
const MAX_PLAIN_DIGITS: usize = 10_000;

impl JsonNumber for Digits<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        Some(number::to_f64(self.0))
    }

    fn as_str(&self) -> Cow<'_, str> {
        number::plain(self.0, MAX_PLAIN_DIGITS)
    }

    fn to_number(&self) -> Cow<'_, Number> {
        match number_value(self.0) {
            Value::Number(number) => Cow::Owned(number),
            _ => Cow::Owned(Number::from(0)),
        }
    }

    fn is_integer(&self) -> bool {
        number::is_integer(self.0)
    }

    fn is_written_as_integer(&self) -> bool {
        number::is_written_as_integer(self.0)
    }
}

#[cfg(test)]
mod tests {
    use jsonschema::json::conformance;

    use super::*;

    #[test]
    fn conforms_to_the_validator_interface() {
        let document = Json::from(&conformance::document());
        conformance::assert_conformance::<Trees>(&&document);
    }
}
