//! Compares the value that a function returned, in the notation of the image's driver, with the
//! JSON value that the task expects.
//!
//! The notation is JSON in which an object with the key `$` is a value of a type that JSON does not
//! have; the driver of the Python image defines it. A value is equal to the expected one if
//! Python's `==` returns true for it and `json.loads` of the expected text, or if `json.dumps`
//! writes the same text for both, which writes a tuple as an array and a key of a dictionary as a
//! string. A set equals an array only in a test with `unordered`.

mod compare;
mod numbers;
#[cfg(test)]
mod tests;
mod unordered;

use assay_documents::Json;
use assay_documents::json::Reader;

pub(crate) use compare::{Rule, equal};
pub(crate) use numbers::within;

/// Most levels of a value. The driver stops at 200 nested containers, each of which takes at most
/// four levels of the notation.
const MAX_DEPTH: usize = 1_000;

/// Reads a JSON value, including repeated keys; `None` if the text is not valid.
pub(crate) fn read(text: &str) -> Option<Json> {
    Reader::new(text)
        .to_depth(MAX_DEPTH)
        .with_repeated_keys()
        .all()
        .ok()
}

/// A human-readable form of a value.
pub(crate) fn shown(value: &Json) -> String {
    let list = |elements: &[Json]| elements.iter().map(shown).collect::<Vec<_>>().join(", ");
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(text) => text.clone(),
        Json::Text(text) => format!("{text:?}"),
        Json::Array(elements) => format!("[{}]", list(elements)),
        Json::Object(pairs) => match tagged(pairs) {
            Some(("tuple", Json::Array(elements))) => format!("({})", list(elements)),
            Some(("set" | "frozenset", Json::Array(elements))) => format!("{{{}}}", list(elements)),
            Some(("deque", Json::Array(elements))) => format!("deque([{}])", list(elements)),
            Some((kind, Json::Array(pairs))) if is_mapping(kind) => {
                let pair = |pair: &Json| match pair {
                    Json::Array(pair) => pair.iter().map(shown).collect::<Vec<_>>().join(": "),
                    other => shown(other),
                };
                format!(
                    "{{{}}}",
                    pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
                )
            }
            Some(("object", Json::Text(class))) => format!("<{class}>"),
            Some(("float" | "int", Json::Text(text))) => text.clone(),
            Some((kind, inside)) => format!("{kind} {}", shown(inside)),
            None => {
                let pairs = pairs
                    .iter()
                    .map(|(key, value)| format!("{key:?}: {}", shown(value)));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
        },
    }
}

/// The kind and content of a tagged value.
fn tagged(pairs: &[(String, Json)]) -> Option<(&str, &Json)> {
    match pairs {
        // A deque and a defaultdict have a third field.
        [(tag, Json::Text(kind)), (key, value)] | [(tag, Json::Text(kind)), (key, value), _]
            if tag == "$" && key == "v" =>
        {
            Some((kind, value))
        }
        _ => None,
    }
}

/// Whether a kind is a dictionary.
fn is_mapping(kind: &str) -> bool {
    matches!(kind, "dict" | "Counter" | "OrderedDict" | "defaultdict")
}

/// Collects containers in the order in which the driver numbers them: each before its contents.
fn number_containers<'a>(value: &'a Json, containers: &mut Vec<&'a Json>) {
    match value {
        Json::Array(elements) => {
            containers.push(value);
            elements
                .iter()
                .for_each(|element| number_containers(element, containers));
        }
        Json::Object(pairs) => {
            if let Some((kind, inside)) = tagged(pairs) {
                let pairs = is_mapping(kind);
                if pairs || matches!(kind, "set" | "bytearray" | "deque") {
                    containers.push(value);
                }
                // An array that is only part of a tagged value's notation is not a container.
                let Json::Array(elements) = inside else {
                    return;
                };
                for element in elements {
                    match element {
                        Json::Array(pair) if pairs => {
                            pair.iter()
                                .for_each(|part| number_containers(part, containers));
                        }
                        element => number_containers(element, containers),
                    }
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
}
