//! Equality of trees, and the leaves by which different trees are compared.

use std::collections::HashMap;

use assay_base::pointer::escaped;

use super::number;
use super::tree::Json;

/// Number of members from which keys are looked up in a map instead of compared one by one.
const MIN_MEMBERS_FOR_MAP: usize = 16;

/// Whether two trees are equal. The order of keys does not matter, and numbers are compared by
/// value (up to `tolerance`, see [`number::close`]). Values of different types are never equal: 1
/// is neither `"1"` nor `true`.
#[must_use]
pub fn same(a: &Json, b: &Json, tolerance: f64) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Bool(a), Json::Bool(b)) => a == b,
        (Json::Number(a), Json::Number(b)) => number::close(a, b, tolerance),
        (Json::Text(a), Json::Text(b)) => a == b,
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, tolerance))
        }
        (Json::Object(a), Json::Object(b)) => same_members(a, b, &|a, b| same(a, b, tolerance)),
        _ => false,
    }
}

/// Whether two objects have the same keys, with the `same` values.
pub fn same_members(
    a: &[(String, Json)],
    b: &[(String, Json)],
    same: &dyn Fn(&Json, &Json) -> bool,
) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.iter().zip(b).all(|((a, _), (b, _))| a == b) {
        return a.iter().zip(b).all(|((_, a), (_, b))| same(a, b));
    }
    if a.len() < MIN_MEMBERS_FOR_MAP {
        return a
            .iter()
            .all(|(key, a)| b.iter().any(|(name, b)| name == key && same(a, b)));
    }
    let index: HashMap<&str, &Json> = b.iter().map(|(key, value)| (key.as_str(), value)).collect();
    a.iter()
        .all(|(key, a)| index.get(key.as_str()).is_some_and(|b| same(a, b)))
}

/// A leaf of a tree, with its location.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf<'a> {
    /// Location as a JSON pointer.
    pub pointer: String,
    /// A scalar, or an empty array or object.
    pub value: &'a Json,
}

/// The leaves of a tree in order, at most `max_leaves`.
#[must_use]
pub fn leaves(tree: &Json, max_leaves: usize) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    gather(tree, &mut String::new(), max_leaves, &mut found);
    found
}

fn gather<'a>(tree: &'a Json, pointer: &mut String, max_leaves: usize, found: &mut Vec<Leaf<'a>>) {
    if found.len() == max_leaves {
        return;
    }
    let length = pointer.len();
    match tree {
        Json::Array(elements) if !elements.is_empty() => {
            for (at, element) in elements.iter().enumerate() {
                pointer.push_str(&format!("/{at}"));
                gather(element, pointer, max_leaves, found);
                pointer.truncate(length);
            }
        }
        Json::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                pointer.push('/');
                pointer.push_str(&escaped(key));
                gather(value, pointer, max_leaves, found);
                pointer.truncate(length);
            }
        }
        value => found.push(Leaf {
            pointer: pointer.clone(),
            value,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(a: &str, b: &str) -> bool {
        let (a, b) = (Json::read(a).unwrap(), Json::read(b).unwrap());
        let equal = same(&a, &b, 0.0);
        assert_eq!(equal, same(&b, &a, 0.0));
        equal
    }

    #[test]
    fn ignores_order_of_keys_but_not_of_elements() {
        assert!(equal(r#"{"a":1,"b":[1,2]}"#, r#"{"b":[1.0,2],"a":1}"#));
        assert!(!equal("[1,2]", "[2,1]"));
        assert!(!equal(r#"{"a":1}"#, r#"{"a":1,"b":null}"#));
    }

    #[test]
    fn distinguishes_types() {
        for (a, b) in [
            ("1", "\"1\""),
            ("true", "1"),
            ("null", "false"),
            ("[]", "{}"),
            ("\"a\"", "\"A\""),
        ] {
            assert!(!equal(a, b), "{a} {b}");
        }
    }

    #[test]
    fn compares_large_objects_by_key() {
        let members = |keys: &mut dyn Iterator<Item = u32>| {
            format!(
                "{{{}}}",
                keys.map(|key| format!("\"{key}\":{key}"))
                    .collect::<Vec<_>>()
                    .join(",")
            )
        };
        assert!(equal(&members(&mut (0..50)), &members(&mut (0..50).rev())));
        assert!(!equal(&members(&mut (0..50)), &members(&mut (1..51).rev())));
    }

    #[test]
    fn lists_leaves_with_pointers() {
        let tree = Json::read(r#"{"a":[1,{"b/c":[]}],"d":null}"#).unwrap();
        let pointers: Vec<_> = leaves(&tree, 10)
            .into_iter()
            .map(|leaf| leaf.pointer)
            .collect();
        assert_eq!(pointers, ["/a/0", "/a/1/b~1c", "/d"]);
        assert_eq!(leaves(&tree, 2).len(), 2);
    }
}
