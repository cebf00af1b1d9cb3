//! Reads the JSON text of a row. What a task could not be made from without a guess is an error.

use assay_base::{has_large_integer, json_message};
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::Row;

/// Why a text is not a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowTextError {
    /// An integer would lose digits, and a right answer could be graded as wrong.
    #[error(
        "the row has an integer of more than 64 bits, which would lose digits; write it as a string"
    )]
    LargeInteger,
    /// It is not JSON, not an object, or has a key twice.
    #[error("the row is not an object with its columns: {0}")]
    NotRow(String),
}

/// Reads a row.
///
/// # Errors
/// [`RowTextError`], for an object with a duplicate key too: either of its values could be meant.
pub fn read_row(json: &str) -> Result<Row, RowTextError> {
    if has_large_integer(json) {
        return Err(RowTextError::LargeInteger);
    }
    let not_row = |message: String| RowTextError::NotRow(message);
    let malformed = |error| not_row(json_message(&error, json.as_bytes()));
    match serde_json::from_str(json).map_err(malformed)? {
        UniqueValue(Value::Object(row)) => Ok(row),
        UniqueValue(_) => Err(not_row("expected an object".to_owned())),
    }
}

/// A value whose objects have no duplicate keys. It is read from JSON with an error for others.
pub struct UniqueValue(pub Value);

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = UniqueValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<UniqueValue, E> {
                Ok(UniqueValue(Value::Null))
            }

            fn visit_bool<E>(self, value: bool) -> Result<UniqueValue, E> {
                Ok(UniqueValue(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<UniqueValue, E> {
                Ok(UniqueValue(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<UniqueValue, E> {
                Ok(UniqueValue(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<UniqueValue, E> {
                Ok(UniqueValue(value.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<UniqueValue, E> {
                Ok(UniqueValue(value.into()))
            }

            fn visit_string<E>(self, value: String) -> Result<UniqueValue, E> {
                Ok(UniqueValue(value.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<UniqueValue, A::Error> {
                let mut values = Vec::new();
                while let Some(UniqueValue(value)) = array.next_element()? {
                    values.push(value);
                }
                Ok(UniqueValue(Value::Array(values)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<UniqueValue, A::Error> {
                let mut fields = Map::new();
                while let Some(key) = object.next_key::<String>()? {
                    if fields.contains_key(&key) {
                        return Err(de::Error::custom(format_args!("duplicate key `{key}`")));
                    }
                    let UniqueValue(value) = object.next_value()?;
                    fields.insert(key, value);
                }
                Ok(UniqueValue(Value::Object(fields)))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rows_as_serde_json_does() {
        for json in [
            "{}",
            r#"{"a":null,"b":[true,-1,18446744073709551615,0.5,"é\n",{"c":{}}],"d":1e300}"#,
        ] {
            let row = read_row(json).unwrap();
            assert_eq!(row, serde_json::from_str::<Row>(json).unwrap(), "{json}");
        }
    }

    #[test]
    fn rejects_texts_that_need_a_guess() {
        for (json, part) in [
            (r#"{"answer":"1","answer":"2"}"#, "duplicate key `answer`"),
            (r#"{"answer":"1","a":[{"b":1,"b":1}]}"#, "duplicate key `b`"),
            (r#"{"answer":123456789012345678901}"#, "more than 64 bits"),
            ("[]", "expected an object"),
            ("{", "EOF"),
            (r#"{"a":1e999}"#, "number out of range"),
        ] {
            let message = read_row(json).unwrap_err().to_string();
            assert!(message.contains(part), "{json}: {message}");
        }
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        assert!(read_row(&deep).is_err());
    }
}
