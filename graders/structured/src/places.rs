//! What a schema requires at a place in a document, as far as internal references, `allOf`, `anyOf`
//! and `oneOf` determine it. Does not validate: the results are used to type untyped text, and to
//! find required keys.

use serde_json::Value;

/// Most schemas that are collected for one place.
const MAX_GATHERED: usize = 64;

/// Most references that are followed for one place.
const MAX_STEPS: usize = 16;

/// The schemas that apply where `schema` does: itself, what it refers to, its branches.
pub(crate) fn gathered<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    gather(root, schema, &["allOf", "anyOf", "oneOf"])
}

/// The schemas that always apply: without the branches of `anyOf` and `oneOf`.
pub(crate) fn binding<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    gather(root, schema, &["allOf"])
}

fn gather<'s>(root: &'s Value, schema: &'s Value, branches: &[&str]) -> Vec<&'s Value> {
    let mut found: Vec<&Value> = Vec::new();
    let mut open = vec![(schema, 0)];
    while let Some((schema, steps)) = open.pop() {
        if steps > MAX_STEPS
            || found.len() == MAX_GATHERED
            || found.iter().any(|known| std::ptr::eq(*known, schema))
        {
            continue;
        }
        found.push(schema);
        open.extend(referred(root, schema).map(|target| (target, steps + 1)));
        let inside = branches
            .iter()
            .filter_map(|key| schema.get(key)?.as_array())
            .flatten();
        open.extend(inside.map(|branch| (branch, steps + 1)));
    }
    found
}

/// The target of a reference within the document.
fn referred<'s>(root: &'s Value, schema: &Value) -> Option<&'s Value> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    let is_plain = pointer.is_empty() || pointer.starts_with('/') && !pointer.contains('%');
    is_plain.then(|| root.pointer(pointer)).flatten()
}

/// The kinds of value a place may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const NUMBER: Self = Self(4);
    pub(crate) const TEXT: Self = Self(8);
    pub(crate) const ARRAY: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);

    pub(crate) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The kinds that one schema allows by `type`, `const` or `enum`; empty if it has none of
    /// these.
    pub(crate) fn named(schema: &Value) -> Self {
        if let Some(kind) = schema.get("type") {
            let names = kind
                .as_array()
                .map_or(std::slice::from_ref(kind), Vec::as_slice);
            return names
                .iter()
                .filter_map(Value::as_str)
                .map(Self::of_name)
                .fold(Self::default(), Self::and);
        }
        if let Some(value) = schema.get("const") {
            return Self::of_value(value);
        }
        let values = schema
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        values.map(Self::of_value).fold(Self::default(), Self::and)
    }

    fn of_name(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "number" | "integer" => Self::NUMBER,
            "string" => Self::TEXT,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::default(),
        }
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::TEXT,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }
}

/// A place that every valid document has, as a path of keys.
pub(crate) type Required = Vec<String>;

/// Most required places that are searched.
const MAX_REQUIRED: usize = 1_000;

/// Depth of the search.
const MAX_DEPTH: usize = 32;

/// The keys that a schema requires at its top level, and those that its required properties
/// require.
pub(crate) fn required(root: &Value) -> Vec<Required> {
    let mut found = Vec::new();
    require(root, root, &mut Vec::new(), &mut found);
    found
}

fn require(root: &Value, schema: &Value, path: &mut Required, found: &mut Vec<Required>) {
    let schemas = binding(root, schema);
    let mut names: Vec<&str> = Vec::new();
    for schema in &schemas {
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        names.extend(required.filter_map(Value::as_str));
    }
    names.sort_unstable();
    names.dedup();
    for name in names {
        if found.len() == MAX_REQUIRED || path.len() == MAX_DEPTH {
            return;
        }
        path.push(name.to_owned());
        found.push(path.clone());
        for schema in schemas
            .iter()
            .filter_map(|schema| schema.get("properties")?.get(name))
        {
            require(root, schema, path, found);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_required_places_through_references() {
        let schema = json!({
            "required": ["a"], "allOf": [{"required": ["b"]}], "anyOf": [{"required": ["never"]}],
            "properties": {"a": {"$ref": "#/$defs/inner"}, "c": {"required": ["d"]}},
            "$defs": {"inner": {"required": ["x", "y"], "properties": {"x": {"required": ["z"]}}}}
        });
        let found: Vec<String> = required(&schema)
            .iter()
            .map(|path| path.join("."))
            .collect();
        assert_eq!(found, ["a", "a.x", "a.x.z", "a.y", "b"]);
    }

    #[test]
    fn recursive_schemas_terminate() {
        let schema =
            json!({"required": ["a", "b"], "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}});
        assert_eq!(required(&schema).len(), MAX_REQUIRED);
        assert_eq!(gathered(&schema, &json!({"$ref": "#"})).len(), 2);
        assert!(required(&json!(true)).is_empty());
    }
}
