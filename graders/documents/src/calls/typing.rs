//! Converts the texts of untyped forms to values, by the JSON Schema of a tool's arguments.
//!
//! References, `allOf`, `anyOf`, `oneOf`, `patternProperties` and `additionalProperties` are
//! followed. A text may be several values, as `5` is for a string or a number.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::python;
use crate::json::Json;
use crate::schema::{Dialect, Schema};

/// Maximum number of parts of a schema that are visited, which bounds repeated references.
const MAX_VISITS: usize = 10_000;

/// Maximum depth of a part of a schema.
const MAX_DEPTH: usize = 64;

/// Maximum number of patterns for names of arguments.
const MAX_PATTERNS: usize = 64;

/// The types that the arguments of a tool may have.
#[derive(Debug, Default)]
pub struct ArgumentTypes {
    named: BTreeMap<String, Types>,
    patterns: Vec<(Schema, Types)>,
    others: Types,
}

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Types(u8);

impl Types {
    const NULL: Self = Self(1);
    const BOOLEAN: Self = Self(2);
    const NUMBER: Self = Self(4);
    const STRING: Self = Self(8);
    const ARRAY: Self = Self(16);
    const OBJECT: Self = Self(32);
    const ALL: Self = Self(63);
    const NONE: Self = Self(0);

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn allows(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The type with this name in JSON Schema, or in the definitions of BFCL for functions in
    /// Python, Java and JavaScript.
    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" | "Boolean" => Self::BOOLEAN,
            "number" | "integer" | "float" | "double" | "long" | "short" | "byte" => Self::NUMBER,
            "string" | "String" | "char" => Self::STRING,
            "array" | "tuple" | "Array" | "ArrayList" | "Set" | "Queue" | "Stack" => Self::ARRAY,
            "object" | "dict" | "HashMap" | "Hashtable" => Self::OBJECT,
            _ => Self::ALL,
        }
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn of_json(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(_) => Self::NUMBER,
            Json::Text(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    fn any_of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let types = values.into_iter().map(Self::of_value);
        types.fold(Self::NONE, Self::or)
    }
}

impl Default for Types {
    fn default() -> Self {
        Self::ALL
    }
}

impl ArgumentTypes {
    /// The types in a JSON Schema of the object of all arguments.
    #[must_use]
    pub fn of(schema: &Value) -> Self {
        let mut types = Self::default();
        Reader::new(schema).arguments(schema, 0, &mut types);
        types
    }

    /// The values that the text of an argument can be, the preferred one first: a string if the
    /// schema allows it, except that `null` is null if that is allowed. If the schema allows every
    /// type, the value of the JSON precedes the string. A text that fits no type is a string.
    #[must_use]
    pub fn readings(&self, argument: &str, text: &str) -> Vec<Json> {
        let types = self.of_argument(argument);
        let trimmed = text.trim();
        let string = || Json::Text(text.to_owned());
        if types.allows(Types::NULL) && matches!(trimmed, "null" | "None") {
            let strings = types.allows(Types::STRING).then(string);
            return std::iter::once(Json::Null).chain(strings).collect();
        }
        if types == Types::STRING {
            return vec![string()];
        }
        let literal = Json::read(trimmed).ok().or_else(|| match types {
            Types::ALL => None,
            _ => python::literal(trimmed),
        });
        let is_string = |value: &Json| value.text().is_some() && types != Types::ALL;
        let fits = |value: &Json| types.allows(Types::of_json(value)) && !is_string(value);
        match literal.filter(fits) {
            None => vec![string()],
            Some(value) if types == Types::ALL => vec![value, string()],
            Some(value) if types.allows(Types::STRING) => vec![string(), value],
            Some(value) => vec![value],
        }
    }

    fn of_argument(&self, name: &str) -> Types {
        if let Some(types) = self.named.get(name) {
            return *types;
        }
        let name = Json::Text(name.to_owned());
        let matching = self
            .patterns
            .iter()
            .filter(|(pattern, _)| pattern.holds(&name));
        let mut matching = matching.map(|(_, types)| *types).peekable();
        match matching.peek() {
            Some(_) => matching.fold(Types::ALL, Types::and),
            None => self.others,
        }
    }
}

/// Reads the parts of a schema.
struct Reader<'a> {
    root: &'a Value,
    visits: usize,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Value) -> Self {
        Self { root, visits: 0 }
    }

    /// Whether another part at this depth may be visited.
    fn may_visit(&mut self, depth: usize) -> bool {
        self.visits += 1;
        depth <= MAX_DEPTH && self.visits <= MAX_VISITS
    }

    /// Restricts `types` to those of the arguments in an object with this schema.
    fn arguments(&mut self, schema: &'a Value, depth: usize, types: &mut ArgumentTypes) {
        if !self.may_visit(depth) {
            return;
        }
        for (name, schema) in members(schema, "properties") {
            let found = self.types(schema, depth + 1);
            let known = types.named.entry(name.clone()).or_default();
            *known = known.and(found);
        }
        for (pattern, schema) in members(schema, "patternProperties") {
            let pattern = Schema::compile(json!({ "pattern": pattern }), Dialect::default());
            if let Ok(pattern) = pattern
                && types.patterns.len() < MAX_PATTERNS
            {
                types
                    .patterns
                    .push((pattern, self.types(schema, depth + 1)));
            }
        }
        if let Some(schema) = schema.get("additionalProperties") {
            types.others = types.others.and(self.types(schema, depth + 1));
        }
        for target in self.targets(schema).chain(elements(schema, "allOf")) {
            self.arguments(target, depth + 1, types);
        }
        let branches: Vec<&Value> = ["then", "else"]
            .into_iter()
            .filter_map(|key| schema.get(key))
            .collect();
        let groups = ["anyOf", "oneOf"]
            .into_iter()
            .map(|key| elements(schema, key).collect());
        for group in groups.chain([branches]) {
            self.alternatives(&group, depth + 1, types);
        }
    }

    /// Restricts `types` to those that one of several schemas allows.
    fn alternatives(&mut self, schemas: &[&'a Value], depth: usize, types: &mut ArgumentTypes) {
        let mut union: BTreeMap<String, Types> = BTreeMap::new();
        for schema in schemas {
            let mut found = ArgumentTypes::default();
            self.arguments(schema, depth, &mut found);
            for (name, types) in found.named {
                let known = union.entry(name).or_insert(Types::NONE);
                *known = known.or(types);
            }
        }
        for (name, found) in union {
            let known = types.named.entry(name).or_default();
            *known = known.and(found);
        }
    }

    /// The types that a schema allows.
    fn types(&mut self, schema: &'a Value, depth: usize) -> Types {
        if !self.may_visit(depth) {
            return Types::ALL;
        }
        let mut types = match &schema["type"] {
            Value::String(name) => Types::named(name),
            Value::Array(names) => {
                let names = names.iter().filter_map(Value::as_str).map(Types::named);
                names.fold(Types::NONE, Types::or)
            }
            _ => Types::ALL,
        };
        if let Some(values) = schema["enum"].as_array() {
            types = types.and(Types::any_of(values));
        }
        if let Some(value) = schema.get("const") {
            types = types.and(Types::of_value(value));
        }
        for target in self.targets(schema).chain(elements(schema, "allOf")) {
            types = types.and(self.types(target, depth + 1));
        }
        for key in ["anyOf", "oneOf"] {
            let mut schemas = elements(schema, key).peekable();
            if schemas.peek().is_some() {
                let union = schemas.fold(Types::NONE, |union, schema| {
                    union.or(self.types(schema, depth + 1))
                });
                types = types.and(union);
            }
        }
        // OpenAPI's notation.
        if schema["nullable"] == Value::Bool(true) {
            types = types.or(Types::NULL);
        }
        types
    }

    /// The targets of the references of a schema: JSON pointers and anchors in the same document.
    fn targets(&self, schema: &Value) -> impl Iterator<Item = &'a Value> + use<'a> {
        let root = self.root;
        let references = ["$ref", "$dynamicRef", "$recursiveRef"];
        let references = references.map(|key| schema[key].as_str());
        let targets = references.map(|reference| {
            let fragment = reference?.strip_prefix('#')?;
            match fragment.strip_prefix('/') {
                None if fragment.is_empty() => Some(root),
                Some(_) => root.pointer(&decoded(fragment)),
                None => anchored(root, fragment),
            }
        });
        targets.into_iter().flatten()
    }
}

fn members<'a>(
    schema: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    schema[key].as_object().into_iter().flatten()
}

fn elements<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    schema[key].as_array().into_iter().flatten()
}

/// The definition with this anchor.
fn anchored<'a>(root: &'a Value, anchor: &str) -> Option<&'a Value> {
    let mut definitions = ["$defs", "definitions"]
        .into_iter()
        .flat_map(|key| members(root, key));
    let is_target = |schema: &Value| {
        ["$anchor", "$dynamicAnchor"]
            .iter()
            .any(|key| schema[key] == anchor)
    };
    let found = definitions.find(|(_, schema)| is_target(schema));
    found.map(|(_, schema)| schema)
}

/// A fragment of a URI without its percent encoding.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match byte.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                &after[2..]
            }
            None => {
                bytes.push(*first);
                after
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str, schema: &Value) -> String {
        let schema = json!({
            "properties": { "a": schema },
            "$defs": {
                "text": { "type": "string" },
                "count": { "type": "integer" },
                "words": { "enum": ["1", "2"] },
                "anchored": { "$anchor": "here", "type": "string" },
                "loop": { "$ref": "#/$defs/loop" },
                "a b": { "type": "boolean" },
            },
        });
        written(&ArgumentTypes::of(&schema), "a", text)
    }

    fn written(types: &ArgumentTypes, name: &str, text: &str) -> String {
        let values = types.readings(name, text).into_iter();
        values
            .map(|value| value.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn converts_texts_by_schema() {
        for (text, schema, values) in [
            ("5", json!({"type": "integer"}), "5"),
            ("5", json!({"type": "string"}), "\"5\""),
            ("five", json!({"type": "integer"}), "\"five\""),
            ("True", json!({"type": "boolean"}), "true"),
            ("null", json!({"type": ["string", "null"]}), "null \"null\""),
            ("['a', 1]", json!({"type": "array"}), "[\"a\",1]"),
            (
                "5",
                json!({"anyOf": [{"type": "null"}, {"type": "number"}]}),
                "5",
            ),
            ("b", json!({"enum": ["a", "b"]}), "\"b\""),
            (" x\n", json!({"type": "string"}), "\" x\\n\""),
            ("5", json!({"type": ["string", "integer"]}), "\"5\" 5"),
            (
                "[1]",
                json!({"anyOf": [{"type": "string"}, {"type": "array"}]}),
                "\"[1]\" [1]",
            ),
            ("[1]", json!({"type": ["string", "integer"]}), "\"[1]\""),
            ("5", json!({}), "5 \"5\""),
            ("5", json!(true), "5 \"5\""),
            ("7", json!({"$ref": "#/$defs/text"}), "\"7\""),
            (
                "7",
                json!({"$ref": "#/$defs/text", "default": "x"}),
                "\"7\"",
            ),
            ("7", json!({"allOf": [{"$ref": "#/$defs/count"}]}), "7"),
            ("1", json!({"allOf": [{"$ref": "#/$defs/words"}]}), "\"1\""),
            (
                "1",
                json!({"anyOf": [{"$ref": "#/$defs/words"}, {"type": "null"}]}),
                "\"1\"",
            ),
            ("1", json!({"$ref": "#here"}), "\"1\""),
            ("1", json!({"$ref": "#/$defs/loop"}), "1 \"1\""),
            ("true", json!({"$ref": "#/$defs/a%20b"}), "true"),
            ("7", json!({"$ref": "https://example.com/x"}), "7 \"7\""),
            ("null", json!({"type": "integer", "nullable": true}), "null"),
            ("{'x': 1}", json!({"type": "dict"}), "{\"x\":1}"),
            ("1.5", json!({"type": "float"}), "1.5"),
            ("(1, 2)", json!({"type": "tuple"}), "[1,2]"),
        ] {
            assert_eq!(readings(text, &schema), values, "{text} {schema}");
        }
    }

    #[test]
    fn follows_the_schema_of_the_arguments() {
        let text = json!({"type": "string"});
        let of = |schema: Value| written(&ArgumentTypes::of(&schema), "a", "7");
        for schema in [
            json!({"additionalProperties": text}),
            json!({"properties": {"b": true}, "additionalProperties": text}),
            json!({"patternProperties": {"^a": text}, "additionalProperties": {"type": "integer"}}),
            json!({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"a": text}}}}),
            json!({"allOf": [{"properties": {"a": text}}]}),
            json!({"anyOf": [{"properties": {"a": text}}, {"properties": {"b": true}}]}),
            json!({"if": true, "then": {"properties": {"a": text}}}),
        ] {
            assert_eq!(of(schema.clone()), "\"7\"", "{schema}");
        }
        let either = json!({"oneOf": [
            {"properties": {"a": text}}, {"properties": {"a": {"type": "integer"}}}]});
        assert_eq!(of(either), "\"7\" 7");
        assert_eq!(of(json!({"properties": {"b": text}})), "7 \"7\"");
        assert_eq!(of(json!(true)), "7 \"7\"");
    }
}
