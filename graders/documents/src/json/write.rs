//! Converts trees to text and to values of serde_json.

use std::fmt;

use serde_json::Value;

use super::number;
use super::tree::Json;

impl fmt::Display for Json {
    /// Writes JSON without white space. Keys keep their order and numbers their text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// Writes a string literal.
fn write_text(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.write_str("\"")?;
        out.write_str(text)?;
        return out.write_str("\"");
    }
    out.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

impl Json {
    /// Writes the text of the value, as its [`Display`](fmt::Display) does, in less time than with
    /// a formatter.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(true) => out.write_str("true"),
            Self::Bool(false) => out.write_str("false"),
            Self::Number(text) => out.write_str(text),
            Self::Text(text) => write_text(out, text),
            Self::Array(elements) => {
                out.write_str("[")?;
                for (at, element) in elements.iter().enumerate() {
                    out.write_str(if at == 0 { "" } else { "," })?;
                    element.write(out)?;
                }
                out.write_str("]")
            }
            Self::Object(members) => {
                out.write_str("{")?;
                for (at, (key, value)) in members.iter().enumerate() {
                    out.write_str(if at == 0 { "" } else { "," })?;
                    write_text(out, key)?;
                    out.write_str(":")?;
                    value.write(out)?;
                }
                out.write_str("}")
            }
        }
    }

    /// A text that is the same for equal values and different for others: keys are sorted, and
    /// numbers are written by [`number::canonical`].
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        self.write_canonical(&mut text);
        text
    }

    fn write_canonical(&self, text: &mut String) {
        match self {
            Self::Number(digits) => text.push_str(&number::canonical(digits)),
            Self::Array(elements) => {
                text.push('[');
                for element in elements {
                    element.write_canonical(text);
                    text.push(',');
                }
                text.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by(|(a, _), (b, _)| a.cmp(b));
                text.push('{');
                for (key, value) in members {
                    // Writing to a `String` cannot fail.
                    let _ = write_text(text, key);
                    text.push(':');
                    value.write_canonical(text);
                    text.push(',');
                }
                text.push('}');
            }
            Self::Null | Self::Bool(_) | Self::Text(_) => {
                let _ = self.write(text);
            }
        }
    }

    /// The value as a serde_json value. Numbers that do not fit into 64 bits become the nearest
    /// double.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(text) => number_value(text),
            Self::Text(text) => Value::String(text.clone()),
            Self::Array(elements) => elements.iter().map(Self::to_value).collect(),
            Self::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), value.to_value()))
                .collect(),
        }
    }
}

/// A number as a serde_json value.
pub(crate) fn number_value(text: &str) -> Value {
    let read: Option<Value> = serde_json::from_str(text).ok();
    read.unwrap_or_else(|| Value::from(number::to_f64(text)))
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(elements) => Self::Array(elements.iter().map(Self::from).collect()),
            Value::Object(members) => Self::Object(
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_text() {
        let text = r#"{"b":[1.50,-2e400,"a\n\"é",null],"a":{"":true}}"#;
        assert_eq!(Json::read(text).unwrap().to_string(), text);
    }

    #[test]
    fn converts_huge_numbers_to_finite_values() {
        assert_eq!(
            Json::read("1e400").unwrap().to_value(),
            Value::from(f64::MAX)
        );
        assert_eq!(
            Json::read("18446744073709551615").unwrap().to_value(),
            Value::from(u64::MAX)
        );
    }
}
