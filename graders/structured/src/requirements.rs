//! The requirements of a schema at a location in a document, as far as internal references and
//! branches (`allOf`, `anyOf`, `oneOf`, `then`, `else`) determine them. They are used to type
//! untyped text, to choose one of several documents and to find required keys, not to validate.

use assay_documents::Json;
use serde_json::Value;

/// Maximum number of schemas that are collected for one location.
const MAX_SCHEMAS: usize = 64;

/// Maximum length of a chain of references and branches.
const MAX_STEPS: usize = 16;

/// The schemas that apply wherever `schema` does: the schema, its reference targets and branches.
pub(crate) fn applicable_schemas<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    gather(root, schema, &["allOf", "anyOf", "oneOf", "then", "else"])
}

/// The schemas that every valid value satisfies: [`applicable_schemas`] without the branches of
/// which only some apply.
pub(crate) fn mandatory_schemas<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    gather(root, schema, &["allOf"])
}

fn gather<'s>(root: &'s Value, schema: &'s Value, branches: &[&str]) -> Vec<&'s Value> {
    let mut found: Vec<&Value> = Vec::new();
    let mut pending = vec![(schema, 0)];
    while let Some((schema, steps)) = pending.pop() {
        if steps > MAX_STEPS
            || found.len() == MAX_SCHEMAS
            || found.iter().any(|known| std::ptr::eq(*known, schema))
        {
            continue;
        }
        found.push(schema);
        pending.extend(reference_target(root, schema).map(|target| (target, steps + 1)));
        let branch_schemas = branches.iter().filter_map(|key| schema.get(key));
        let branch_schemas = branch_schemas.flat_map(|branch| match branch {
            Value::Array(branches) => branches.as_slice(),
            branch => std::slice::from_ref(branch),
        });
        pending.extend(branch_schemas.map(|branch| (branch, steps + 1)));
    }
    found
}

/// The target of the schema's reference within `root`.
fn reference_target<'s>(root: &'s Value, schema: &Value) -> Option<&'s Value> {
    let references = ["$ref", "$dynamicRef", "$recursiveRef"].iter();
    let reference = references.filter_map(|key| schema.get(key)).next()?;
    let pointer = reference.as_str()?.strip_prefix('#')?;
    let is_plain = pointer.is_empty() || pointer.starts_with('/') && !pointer.contains('%');
    is_plain.then(|| root.pointer(pointer)).flatten()
}

/// A set of types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TypeSet(u8);

impl TypeSet {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const NUMBER: Self = Self(4);
    pub(crate) const TEXT: Self = Self(8);
    pub(crate) const ARRAY: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);

    /// Every type of scalars other than strings.
    pub(crate) const SCALAR: Self = Self(1 | 2 | 4);

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The type of a value of a document.
    pub(crate) fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(_) => Self::NUMBER,
            Json::Text(_) => Self::TEXT,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    /// The types that one schema allows by `type`, `const` or `enum`; empty if it has none of these
    /// keywords.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        if let Some(types) = schema.get("type") {
            let names = types
                .as_array()
                .map_or(std::slice::from_ref(types), Vec::as_slice);
            return names
                .iter()
                .filter_map(Value::as_str)
                .map(Self::of_name)
                .fold(Self::default(), Self::union);
        }
        if let Some(value) = schema.get("const") {
            return Self::of_value(value);
        }
        let values = schema
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        values
            .map(Self::of_value)
            .fold(Self::default(), Self::union)
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

/// What a task requires of the whole document. It decides which of several documents is used.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Empty if every type is allowed.
    types: TypeSet,
    keys: Vec<String>,
}

impl Wanted {
    /// The requirements of a schema or, without a schema, the type of the expected value.
    pub(crate) fn new(schema: Option<&Value>, expected: Option<&Json>) -> Self {
        let Some(root) = schema else {
            let types = expected.map(TypeSet::of).unwrap_or_default();
            return Self {
                types,
                keys: Vec::new(),
            };
        };
        let schemas = applicable_schemas(root, root);
        let types = schemas.iter().map(|schema| TypeSet::of_schema(schema));
        Self {
            types: types.fold(TypeSet::default(), TypeSet::union),
            keys: required_names(&mandatory_schemas(root, root))
                .into_iter()
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Whether a document has an allowed type and, if it is an object, the required keys.
    pub(crate) fn fits(&self, document: &Json) -> bool {
        let has_type = self.types.is_empty() || self.types.contains(TypeSet::of(document));
        let is_object = matches!(document, Json::Object(_));
        let has_keys = || self.keys.iter().all(|key| document.get(key).is_some());
        has_type && (!is_object || has_keys())
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of_key = |key: &String| size_of::<String>() + key.len();
        self.keys.iter().map(of_key).sum()
    }
}

/// The keys that schemas require, sorted.
fn required_names<'s>(schemas: &[&'s Value]) -> Vec<&'s str> {
    let required = schemas
        .iter()
        .filter_map(|schema| schema.get("required")?.as_array())
        .flatten();
    let mut names: Vec<&str> = required.filter_map(Value::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A location that every valid document has, as a path of keys.
pub(crate) type RequiredPath = Vec<String>;

/// Maximum number of required paths.
const MAX_REQUIRED: usize = 1_000;

/// Maximum length of a required path.
const MAX_DEPTH: usize = 32;

/// The keys that a schema requires at its top level, and those that its required properties
/// require.
pub(crate) fn required_paths(root: &Value) -> Vec<RequiredPath> {
    let mut found = Vec::new();
    collect_required(root, root, &mut Vec::new(), &mut found);
    found
}

fn collect_required(
    root: &Value,
    schema: &Value,
    path: &mut RequiredPath,
    found: &mut Vec<RequiredPath>,
) {
    let schemas = mandatory_schemas(root, schema);
    for name in required_names(&schemas) {
        if found.len() == MAX_REQUIRED || path.len() == MAX_DEPTH {
            return;
        }
        path.push(name.to_owned());
        found.push(path.clone());
        for schema in schemas
            .iter()
            .filter_map(|schema| schema.get("properties")?.get(name))
        {
            collect_required(root, schema, path, found);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_required_paths_through_references() {
        let schema = json!({
            "required": ["a"], "allOf": [{"required": ["b"]}], "anyOf": [{"required": ["never"]}],
            "properties": {"a": {"$ref": "#/$defs/inner"}, "c": {"required": ["d"]}},
            "$defs": {"inner": {"required": ["x", "y"], "properties": {"x": {"required": ["z"]}}}}
        });
        let found: Vec<String> = required_paths(&schema)
            .iter()
            .map(|path| path.join("."))
            .collect();
        assert_eq!(found, ["a", "a.x", "a.x.z", "a.y", "b"]);
    }

    #[test]
    fn recursive_schemas_terminate() {
        let schema =
            json!({"required": ["a", "b"], "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}});
        assert_eq!(required_paths(&schema).len(), MAX_REQUIRED);
        assert_eq!(applicable_schemas(&schema, &json!({"$ref": "#"})).len(), 2);
        assert!(required_paths(&json!(true)).is_empty());
    }
}
