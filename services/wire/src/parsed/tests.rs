use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Size of the heap block of an allocation of `bytes`.
fn block(bytes: usize) -> usize {
    if bytes == 0 {
        0
    } else {
        (bytes + 8).next_multiple_of(16).max(32)
    }
}

/// Maximum number of nodes at each level of a map with `keys` keys, from the leaves up: after a
/// split, each node has at least 5 keys, and one key separates two nodes.
fn nodes(keys: usize) -> Vec<usize> {
    let mut levels = vec![if keys <= 11 { 1 } else { (keys + 1) / 6 }];
    while let Some(&below) = levels.last().filter(|below| **below > 1) {
        levels.push(if below <= 12 { 1 } else { below / 6 });
    }
    levels
}

/// Heap memory of a value in the layout of this build, in bytes.
fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => block(text.len()),
        Value::Array(values) => {
            let capacity = if values.is_empty() {
                0
            } else {
                values.len().next_power_of_two().max(4)
            };
            block(capacity * size_of::<Value>()) + values.iter().map(heap_bytes).sum::<usize>()
        }
        Value::Object(members) if members.is_empty() => 0,
        Value::Object(members) => {
            let leaf = 11 * (size_of::<String>() + size_of::<Value>()) + 12;
            let levels = nodes(members.len());
            let leaves = levels[0] * block(leaf);
            let inner_nodes = levels[1..].iter().sum::<usize>() * block(leaf + 12 * 8);
            leaves
                + inner_nodes
                + members
                    .iter()
                    .map(|(key, value)| block(key.len()) + heap_bytes(value))
                    .sum::<usize>()
        }
    }
}

/// Adds the counts of a parsed value.
fn count(value: &Value, depth: usize, into: &mut Parsed) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(_) => into.strings += 1,
        Value::Array(values) => {
            into.arrays += 1;
            into.depth = into.depth.max(depth + 1);
            into.commas += values.len().saturating_sub(1);
            values
                .iter()
                .for_each(|value| count(value, depth + 1, into));
        }
        Value::Object(members) => {
            into.objects += 1;
            into.depth = into.depth.max(depth + 1);
            into.commas += members.len().saturating_sub(1);
            into.strings += members.len();
            members
                .values()
                .for_each(|value| count(value, depth + 1, into));
        }
    }
}

fn texts() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just('"'),
            Just('\\'),
            Just('{'),
            Just(','),
            Just('é'),
            any::<char>()
        ],
        0..12,
    )
    .prop_map(|characters| characters.into_iter().collect())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts().prop_map(Value::String),
    ];
    leaf.prop_recursive(6, 200, 30, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..30).prop_map(Value::Array),
            proptest::collection::vec((texts(), inner), 0..30)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn counts_agree_with_the_parsed_value(value in values(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        }
        .unwrap();
        let parsed = parsed(text.as_bytes());
        let mut expected = Parsed {
            bytes: text.len(),
            structure: parsed.structure,
            ..Parsed::default()
        };
        count(&serde_json::from_str(&text).unwrap(), 0, &mut expected);
        prop_assert_eq!(parsed, expected);
    }

    #[test]
    fn memory_is_an_upper_bound_of_the_heap_memory(value in values()) {
        let text = serde_json::to_string(&value).unwrap();
        let memory = parsed(text.as_bytes()).memory();
        let heap = heap_bytes(&value);
        prop_assert!(memory >= heap, "{} < {} of {}", memory, heap, text);
    }

    #[test]
    fn chunks_do_not_change_the_count(
        value in values(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let text = serde_json::to_string(&value).unwrap().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut scanner = Scanner::default();
        for cut in cuts.windows(2) {
            scanner.scan(&text[cut[0]..cut[1]]);
        }
        prop_assert_eq!(*scanner.parsed(), parsed(&text));
    }

    #[test]
    fn counts_invalid_json_up_to_the_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        // A parser allocates for an invalid text what it allocates for the elements before the
        // error.
        let mut text = br#"[{"a":0},{"a":[1,2]},"#.to_vec();
        let before = parsed(&text);
        text.extend_from_slice(&bytes);
        prop_assert!(parsed(&text).memory() >= before.memory());
    }
}

#[test]
fn layout_of_values_matches_the_cost_constants() {
    assert_eq!(size_of::<Value>(), 32);
    assert_eq!(
        size_of::<Map<String, Value>>(),
        24,
        "objects must not be hash maps"
    );
    assert_eq!(
        size_of::<serde_json::Number>(),
        16,
        "numbers must not be strings"
    );
}

#[test]
fn memory_is_an_upper_bound_for_objects_of_every_size() {
    for keys in 0..3_000 {
        let object: Map<String, Value> = (0..keys)
            .map(|key| (format!("{key:x}"), json!(0)))
            .collect();
        let value = Value::Object(object);
        let memory = parsed(value.to_string().as_bytes()).memory();
        assert!(
            memory >= heap_bytes(&value),
            "{keys} keys: {memory} < {}",
            heap_bytes(&value)
        );
    }
}

#[test]
fn charges_one_node_for_each_small_object() {
    let text = format!("[{}{{}}]", r#"{"a":0},"#.repeat(1_000));
    let parsed = parsed(text.as_bytes());
    assert_eq!(
        (parsed.objects, parsed.arrays, parsed.commas),
        (1_001, 1, 1_000)
    );
    assert!(parsed.memory() > 700 * 1_000, "{}", parsed.memory());
}

#[test]
fn charges_little_more_than_the_bytes_of_a_long_string() {
    let text = format!(r#"{{"completion":"{}"}}"#, "x\\n".repeat(100_000));
    let memory = parsed(text.as_bytes()).memory();
    assert!(memory < text.len() + 1_000, "{memory}");
}

#[test]
fn tolerates_unbalanced_brackets() {
    let mut scanner = Scanner::default();
    scanner.scan(b"]]]}}}{\"a\":1}");
    assert_eq!((scanner.parsed().objects, scanner.parsed().depth), (1, 1));
    scanner.scan("[".repeat(100_000).as_bytes());
    scanner.scan(b",,,");
    assert_eq!(scanner.parsed().depth, 100_000);
}
