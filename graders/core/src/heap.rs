//! Responsible for saying how much heap memory values take, so that caches bounded in bytes hold their bound.
//!
//! The numbers are those of a 64-bit allocator such as glibc's: 8 bytes of header, sizes in steps of 16, at least 32. Values are
//! taken to have no spare capacity, as clones have none.

use serde_json::{Map, Value};

use crate::{Component, Evidence, Fault, Outcome};

/// Entries in a full node of a B-tree of the standard library.
const NODE_ENTRIES: usize = 11;

/// Entries in a node that was split while entries came in order: the least there are on average.
const SPLIT_ENTRIES: usize = 6;

/// Bytes that an allocation of `bytes` takes.
#[must_use]
pub fn allocation(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes.saturating_add(8).next_multiple_of(16).max(32) }
}

/// Bytes that the nodes of a B-tree of `entries` take, each of `entry` bytes; not what entries point to.
#[must_use]
pub fn tree(entries: usize, entry: usize) -> usize {
    // A node beside its entries: pointer to its parent, position in it, length.
    let leaf = allocation(NODE_ENTRIES * entry + 16);
    match entries {
        0 => 0,
        1..=NODE_ENTRIES => leaf,
        _ => {
            let inner = allocation(NODE_ENTRIES * entry + 16 + (NODE_ENTRIES + 1) * size_of::<usize>());
            let leaves = entries.div_ceil(SPLIT_ENTRIES + 1);
            leaves * leaf + leaves.div_ceil(SPLIT_ENTRIES) * inner
        }
    }
}

/// Bytes on the heap that a JSON value points to.
#[must_use]
pub fn json(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => allocation(text.len()),
        Value::Array(values) => allocation(size_of::<Value>() * values.len()) + values.iter().map(json).sum::<usize>(),
        Value::Object(fields) => object(fields),
    }
}

fn object(fields: &Map<String, Value>) -> usize {
    let entries = fields.iter().map(|(name, value)| allocation(name.len()) + json(value));
    tree(fields.len(), size_of::<(String, Value)>()) + entries.sum::<usize>()
}

/// Bytes on the heap that evidence points to.
#[must_use]
pub fn evidence(evidence: &Evidence) -> usize {
    object(evidence.as_map())
}

/// Bytes on the heap that an outcome points to.
#[must_use]
pub fn outcome(of: &Outcome) -> usize {
    let grade = match of {
        Outcome::Graded(grade) => grade,
        Outcome::Ungradable(Fault { message, .. }) | Outcome::Failed(Fault { message, .. }) => {
            return allocation(message.len());
        }
    };
    let component = |Component { name, grader, outcome: own }: &Component| {
        allocation(name.len()) + allocation(grader.len()) + outcome(own)
    };
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
    fn nested_values_count() {
        assert_eq!(super::json(&json!(1.5)), 0);
        assert_eq!(super::json(&json!("a")), 32);
        assert_eq!(super::json(&json!("x".repeat(100))), 112);
        let flat = super::json(&json!(["x".repeat(100)]));
        assert!(super::json(&json!([["x".repeat(100)]])) > flat);
        assert!(super::json(&json!({ "a": { "b": ["x".repeat(1_000)] } })) > 2_000);
    }
}
