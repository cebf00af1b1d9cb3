//! Replaces strings within a JSON text. Everything else, including the spelling of numbers and
//! white space, stays byte for byte, and the names of fields are not changed.

/// Which strings of a JSON text are replaced.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JsonStrings {
    /// Fields whose strings are not replaced, because they are not texts of the client: identifiers
    /// and names.
    pub(crate) fixed: &'static [&'static str],
    /// Fields in whose values all strings are replaced, whatever the names of their fields.
    pub(crate) free: &'static [&'static str],
}

/// An array or object that is not closed yet.
struct Open {
    is_object: bool,
    /// Whether the next string of an object is the name of a field.
    expects_name: bool,
    /// Whether strings in it are not replaced, because of its field.
    is_fixed: bool,
    is_free: bool,
    /// The field whose value follows.
    field: Field,
}

#[derive(Clone, Copy, Default)]
struct Field {
    is_fixed: bool,
    is_free: bool,
}

impl JsonStrings {
    /// The text with the strings for which `replace` returns another text; `None` if nothing
    /// changes. `text` may consist of several JSON values.
    pub(crate) fn replace(
        self,
        text: &str,
        mut replace: impl FnMut(&str) -> Option<String>,
    ) -> Option<String> {
        let bytes = text.as_bytes();
        let mut open: Vec<Open> = Vec::new();
        let (mut changed, mut copied, mut at) = (None::<String>, 0, 0);
        while at < bytes.len() {
            match bytes[at] {
                byte @ (b'{' | b'[') => {
                    let field = value_field(&open);
                    open.push(Open {
                        is_object: byte == b'{',
                        expects_name: byte == b'{',
                        is_fixed: field.is_fixed,
                        is_free: field.is_free,
                        field,
                    });
                }
                b'}' | b']' => {
                    open.pop();
                }
                b',' => {
                    if let Some(last) = open.last_mut().filter(|last| last.is_object) {
                        last.expects_name = true;
                    }
                }
                b'"' => {
                    let end = end_of_string(bytes, at);
                    let literal = &text[at..end];
                    if let Some(last) = open.last_mut().filter(|last| last.expects_name) {
                        last.expects_name = false;
                        let name = literal.trim_matches('"');
                        last.field = Field {
                            is_free: last.is_free || self.free.contains(&name),
                            is_fixed: last.is_fixed || !last.is_free && self.fixed.contains(&name),
                        };
                    } else if !value_field(&open).is_fixed
                        && let Some(new) = replaced(literal, &mut replace)
                    {
                        let changed = changed.get_or_insert_default();
                        changed.push_str(&text[copied..at]);
                        changed.push_str(&new);
                        copied = end;
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        let mut changed = changed?;
        changed.push_str(&text[copied..]);
        Some(changed)
    }
}

/// The field to which a value at this place belongs.
fn value_field(open: &[Open]) -> Field {
    open.last().map_or_else(Field::default, |last| last.field)
}

/// Offset after the string that starts at `start`, or the end of the text.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The literal of the replaced string.
fn replaced(literal: &str, replace: &mut impl FnMut(&str) -> Option<String>) -> Option<String> {
    let new = match serde_json::from_str::<String>(literal) {
        Ok(text) => replace(&text)?,
        // A string with an unpaired surrogate, which JSON allows and Rust does not.
        Err(_) => replace(literal.trim_matches('"'))?,
    };
    // Serialising a string cannot fail.
    serde_json::to_string(&new).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shout(text: &str) -> Option<String> {
        text.contains("a\"").then(|| text.to_uppercase())
    }

    #[test]
    fn changes_only_matching_strings() {
        let json = r#" {"a\"":1.50,"b":["xa\"y",{"c":"é\u0061\"\n"}],"d":"plain"} "#;
        assert_eq!(
            JsonStrings::default().replace(json, shout).unwrap(),
            r#" {"a\"":1.50,"b":["XA\"Y",{"c":"ÉA\"\n"}],"d":"plain"} "#
        );
        assert_eq!(
            JsonStrings::default().replace(r#"{"a\"":"b"}"#, shout),
            None
        );
    }

    #[test]
    fn fixed_fields_keep_their_strings_except_within_free_fields() {
        let strings = JsonStrings {
            fixed: &["id", "ids"],
            free: &["meta"],
        };
        let all = |_: &str| Some("X".to_owned());
        assert_eq!(
            strings
                .replace(
                    r#"{"id":"1","ids":["1",{"t":"1"}],"t":"1","meta":{"id":["1"]}}"#,
                    all
                )
                .unwrap(),
            r#"{"id":"1","ids":["1",{"t":"1"}],"t":"X","meta":{"id":["X"]}}"#
        );
    }

    #[test]
    fn replaces_strings_that_are_not_unicode() {
        let strings = JsonStrings::default();
        let secret = |text: &str| text.contains("secret").then(|| "X".to_owned());
        assert_eq!(
            strings.replace(r#"["\ud800 secret"]"#, secret).unwrap(),
            r#"["X"]"#
        );
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec((".{0,4}", inner), 0..4)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// The same on the parsed value.
    fn model(value: &serde_json::Value) -> serde_json::Value {
        match value {
            serde_json::Value::String(text) => format!("<{text}>").into(),
            serde_json::Value::Array(list) => list.iter().map(model).collect(),
            serde_json::Value::Object(fields) => serde_json::Value::Object(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), model(value)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn replaces_every_string_and_nothing_else(value in json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let replaced = JsonStrings::default()
                .replace(&text, |string| Some(format!("<{string}>")))
                .unwrap_or(text);
            prop_assert_eq!(
                serde_json::from_str::<serde_json::Value>(&replaced).unwrap(),
                model(&value)
            );
        }

        #[test]
        fn does_not_fail_on_other_texts(text in ".{0,40}") {
            let _ = JsonStrings::default().replace(&text, |_| Some("x".to_owned()));
        }
    }
}
