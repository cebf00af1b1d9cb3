//! Estimates the heap memory of values, so that caches can enforce limits in bytes.
//!
//! The numbers are those of a 64-bit allocator such as glibc: a header of 8 bytes, sizes in steps
//! of 16, at least 32 bytes. Values are assumed to have no spare capacity, as is the case for
//! clones.

use serde_json::{Map, Value};

use crate::{Component, Evidence, Fault, Outcome};

/// Entries in a full node of the standard library's B-tree.
const NODE_ENTRIES: usize = 11;

/// Entries in a node that was split during insertion in key order. This is the lowest average.
const SPLIT_ENTRIES: usize = 6;

/// The heap memory of an allocation of `bytes`.
#[must_use]
pub fn allocation(bytes: usize) -> usize {
    if bytes == 0 {
        0
    } else {
        bytes.saturating_add(8).next_multiple_of(16).max(32)
    }
}

/// The heap memory of the nodes of a B-tree with `entries` entries of `entry` bytes each, without
/// the heap memory of the entries.
#[must_use]
pub fn tree(entries: usize, entry: usize) -> usize {
    // The rest of a node: pointer to its parent, position in the parent, length.
    let leaf = allocation(NODE_ENTRIES * entry + 16);
    match entries {
        0 => 0,
        1..=NODE_ENTRIES => leaf,
        _ => {
            let inner =
                allocation(NODE_ENTRIES * entry + 16 + (NODE_ENTRIES + 1) * size_of::<usize>());
            let leaves = entries.div_ceil(SPLIT_ENTRIES + 1);
            leaves * leaf + leaves.div_ceil(SPLIT_ENTRIES) * inner
        }
    }
}

/// The heap memory of a JSON value.
#[must_use]
pub fn json(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => allocation(text.len()),
        Value::Array(values) => {
            allocation(size_of::<Value>() * values.len()) + values.iter().map(json).sum::<usize>()
        }
        Value::Object(fields) => object(fields),
    }
}

fn object(fields: &Map<String, Value>) -> usize {
    let entries = fields
        .iter()
        .map(|(name, value)| allocation(name.len()) + json(value));
    tree(fields.len(), size_of::<(String, Value)>()) + entries.sum::<usize>()
}

/// The heap memory of evidence.
#[must_use]
pub fn evidence(evidence: &Evidence) -> usize {
    allocation(evidence.capacity())
}

/// The heap memory of an outcome.
#[must_use]
pub fn outcome(value: &Outcome) -> usize {
    let grade = match value {
        Outcome::Graded(grade) => grade,
        Outcome::Ungradable(Fault { message, .. }) | Outcome::Failed(Fault { message, .. }) => {
            return allocation(message.len());
        }
    };
    let component =
        |component: &Component| allocation(component.name.len()) + outcome(&component.outcome);
    evidence(&grade.evidence)
        + tree(grade.measures.len(), size_of::<(&str, crate::Measure)>())
        + allocation(size_of::<Component>() * grade.components.len())
        + grade.components.iter().map(component).sum::<usize>()
        + allocation(size_of::<crate::Step>() * grade.steps.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn counts_nested_values() {
        assert_eq!(super::json(&json!(1.5)), 0);
        assert_eq!(super::json(&json!("a")), 32);
        assert_eq!(super::json(&json!("x".repeat(100))), 112);
        let flat = super::json(&json!(["x".repeat(100)]));
        assert!(super::json(&json!([["x".repeat(100)]])) > flat);
        assert!(super::json(&json!({ "a": { "b": ["x".repeat(1_000)] } })) > 2_000);
    }
}
