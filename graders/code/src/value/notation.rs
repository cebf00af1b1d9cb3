//! The notation of the image's driver: tagged values, and a human-readable form of them.

use assay_documents::Json;

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
pub(super) fn tagged(pairs: &[(String, Json)]) -> Option<(&str, &Json)> {
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
pub(super) fn is_mapping(kind: &str) -> bool {
    matches!(kind, "dict" | "Counter" | "OrderedDict" | "defaultdict")
}

/// Collects containers in the order in which the driver numbers them: each before its contents.
pub(super) fn number_containers<'a>(value: &'a Json, containers: &mut Vec<&'a Json>) {
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
