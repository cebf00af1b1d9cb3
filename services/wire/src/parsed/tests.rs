use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Size of a heap block for `bytes`.
fn block(bytes: usize) -> usize {
    if bytes == 0 {
        0
    } else {
        (bytes + 8).next_multiple_of(16).max(32)
    }
}

/// Most nodes at each level of a map with `keys` keys, from the leaves up: after a split, each node
/// has at least 5 keys, and one key separates two nodes.
fn nodes(keys: usize) -> Vec<usize> {
    let mut levels = vec![if keys <= 11 { 1 } else { (keys + 1) / 6 }];
    while let Some(&below) = levels.last().filter(|below| **below > 1) {
        levels.push(if below <= 12 { 1 } else { below / 6 });
    }
    levels
}

/// The heap memory of a value in the layout of this build.
fn held(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => block(text.len()),
        Value::Array(values) => {
            let places = if values.is_empty() {
                0
            } else {
                values.len().next_power_of_two().max(4)
            };
            block(places * size_of::<Value>()) + values.iter().map(held).sum::<usize>()
        }
        Value::Object(members) if members.is_empty() => 0,
        Value::Object(members) => {
            let leaf = 11 * (size_of::<String>() + size_of::<Value>()) + 12;
            let levels = nodes(members.len());
            let leaves = levels[0] * block(leaf);
            let inner = levels[1..].iter().sum::<usize>() * block(leaf + 12 * 8);
            leaves
                + inner
                + members
                    .iter()
                    .map(|(key, value)| block(key.len()) + held(value))
                    .sum::<usize>()
        }
    }
}

/// The counts of a parsed value.
fn counted(value: &Value, depth: usize, into: &mut Parsed) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(_) => into.strings += 1,
        Value::Array(values) => {
            into.arrays += 1;
            into.depth = into.depth.max(depth + 1);
            into.commas += values.len().saturating_sub(1);
            values
                .iter()
                .for_each(|value| counted(value, depth + 1, into));
        }
        Value::Object(members) => {
            into.objects += 1;
            into.depth = into.depth.max(depth + 1);
            into.commas += members.len().saturating_sub(1);
            into.strings += members.len();
            members
                .values()
                .for_each(|value| counted(value, depth + 1, into));
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
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let parsed = parsed(text.as_bytes());
        let mut expected = Parsed { bytes: text.len(), structure: parsed.structure, ..Parsed::default() };
        counted(&serde_json::from_str(&text).unwrap(), 0, &mut expected);
        prop_assert_eq!(parsed, expected);
    }

    #[test]
    fn memory_is_never_below_what_the_value_holds(value in values()) {
        let text = serde_json::to_string(&value).unwrap();
        let memory = parsed(text.as_bytes()).memory();
        prop_assert!(memory >= held(&value), "{} < {} of {}", memory, held(&value), text);
    }

    #[test]
    fn chunks_do_not_change_the_count(value in values(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20)) {
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
    fn texts_that_are_not_json_are_counted_up_to_their_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        // A parser allocates for an invalid text what it allocates for the elements before the
        // error.
        let mut text = br#"[{"a":0},{"a":[1,2]},"#.to_vec();
        let before = parsed(&text);
        text.extend_from_slice(&bytes);
        prop_assert!(parsed(&text).memory() >= before.memory());
    }
}

#[test]
fn values_have_the_size_that_costs_were_made_for() {
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
fn objects_of_every_size_are_covered() {
    for keys in 0..3_000 {
        let object: Map<String, Value> = (0..keys)
            .map(|key| (format!("{key:x}"), json!(0)))
            .collect();
        let value = Value::Object(object);
        let memory = parsed(value.to_string().as_bytes()).memory();
        assert!(
            memory >= held(&value),
            "{keys} keys: {memory} < {}",
            held(&value)
        );
    }
}

#[test]
fn small_objects_cost_a_node_each() {
    let text = format!("[{}{{}}]", r#"{"a":0},"#.repeat(1_000));
    let parsed = parsed(text.as_bytes());
    assert_eq!(
        (parsed.objects, parsed.arrays, parsed.commas),
        (1_001, 1, 1_000)
    );
    assert!(parsed.memory() > 700 * 1_000, "{}", parsed.memory());
}

#[test]
fn a_long_text_costs_little_more_than_its_bytes() {
    let text = format!(r#"{{"completion":"{}"}}"#, "x\\n".repeat(100_000));
    let memory = parsed(text.as_bytes()).memory();
    assert!(memory < text.len() + 1_000, "{memory}");
}

#[test]
fn closing_more_than_was_opened_is_harmless() {
    let mut scanner = Scanner::default();
    scanner.scan(b"]]]}}}{\"a\":1}");
    assert_eq!((scanner.parsed().objects, scanner.parsed().depth), (1, 1));
    scanner.scan("[".repeat(100_000).as_bytes());
    scanner.scan(b",,,");
    assert_eq!(scanner.parsed().depth, 100_000);
}
