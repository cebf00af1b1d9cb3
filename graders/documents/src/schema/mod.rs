//! JSON Schema for [`Json`] trees, by the `jsonschema` crate: drafts 4, 6, 7, 2019-09 and 2020-12.
//! Never fetches remote schemas.
//!
//! Patterns run on an engine with linear time. Patterns with look-around or back references run on
//! a backtracking engine that stops after [`MAX_BACKTRACKS`] steps; the text then does not match.

mod locate;
mod node;
mod pattern_memory;
mod shared;
mod violation;
mod visit_limit;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use assay_base::pointer;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use crate::json::Json;
use locate::{Parts, is_plain};
use node::Trees;
use violation::options;

pub use jsonschema::Draft;
pub use pattern_memory::of_schema as pattern_bytes;
pub use violation::{Dialect, MAX_BACKTRACKS, Violation};

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct Schema {
    whole: Validator<Trees>,
    source: Arc<Value>,
    dialect: Dialect,
    backtracking: bool,
    /// Its parts, compiled when a document first violates it; `None` if the schema is plain.
    parts: Option<Arc<OnceLock<Parts>>>,
    /// Estimated memory of its compiled patterns.
    pattern_bytes: usize,
}

/// Maximum memory of the compiled patterns of a schema, in bytes: a pattern of a few characters
/// takes thousands of times as much as its text.
pub const MAX_PATTERN_BYTES: usize = 160 << 20;

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why the schema is invalid: it violates its meta-schema, a reference has no target in it, a
    /// pattern is invalid, or its patterns need too much memory.
    pub fn compile(source: Value, dialect: Dialect) -> Result<Self, String> {
        let pattern_bytes = pattern_memory::of_schema(&source);
        if pattern_bytes > MAX_PATTERN_BYTES {
            return Err(format!(
                "its patterns need about {} MiB when compiled, more than {}; use fewer or shorter \
                 ones",
                pattern_bytes.div_ceil(1 << 20),
                MAX_PATTERN_BYTES >> 20
            ));
        }
        let compile = |backtracking: bool| {
            let whole = options(&source, dialect, backtracking).build(&source)?;
            Ok((whole, backtracking))
        };
        let (whole, backtracking) =
            compile(false)
                .or_else(|_| compile(true))
                .map_err(|error: ValidationError<'_>| {
                    let pointer = error.instance_path().as_str();
                    format!(
                        "{error}{}",
                        if pointer.is_empty() {
                            String::new()
                        } else {
                            format!(" (at `{pointer}` in the schema)")
                        }
                    )
                })?;
        let parts = (!is_plain(&source)).then(Arc::default);
        Ok(Self {
            whole,
            source: Arc::new(source),
            dialect,
            backtracking,
            parts,
            pattern_bytes,
        })
    }

    /// The schemas of its top-level properties by name, after references at the top. Empty if it
    /// has no properties.
    #[must_use]
    pub fn properties(&self) -> BTreeMap<String, Self> {
        let Some((top, pointer)) = self.top() else {
            return BTreeMap::new();
        };
        let Some(named) = top.get("properties").and_then(Value::as_object) else {
            return BTreeMap::new();
        };
        let Ok(parts) =
            options(&self.source, self.dialect, self.backtracking).build_map(&self.source)
        else {
            return BTreeMap::new();
        };
        let part = |(name, source): (&String, &Value)| {
            let properties = format!("#{pointer}/properties");
            let whole = parts.get(&pointer::member(&properties, name))?.clone();
            let parts = (!is_plain(source)).then(Arc::default);
            Some((
                name.clone(),
                Self {
                    whole,
                    pattern_bytes: pattern_memory::of_schema(source),
                    source: Arc::new(source.clone()),
                    parts,
                    ..self.clone()
                },
            ))
        };
        named.iter().filter_map(part).collect()
    }

    /// The target of the reference at its top, with its pointer.
    fn top(&self) -> Option<(&Value, String)> {
        /// Maximum length of a chain of references.
        const MAX_STEPS: usize = 16;
        let (mut top, mut pointer) = (&*self.source, String::new());
        for _ in 0..MAX_STEPS {
            let Some(next) = top.get("$ref").and_then(Value::as_str) else {
                return Some((top, pointer));
            };
            pointer = next.strip_prefix('#')?.to_owned();
            top = self.source.pointer(&pointer)?;
        }
        None
    }

    /// The schema itself.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Whether a document is valid. False if validation takes too many steps.
    #[must_use]
    pub fn holds(&self, document: &Json) -> bool {
        visit_limit::with_limit(visit_limit::limit_for(document), || {
            self.whole.is_valid(document)
        })
        .unwrap_or_default()
    }

    /// A violation of the schema by a document, at the innermost location that can be determined;
    /// `None` if the document is valid.
    #[must_use]
    pub fn violation(&self, document: &Json) -> Option<Violation> {
        let too_costly = Violation {
            pointer: String::new(),
            keyword: String::new(),
            reason: "validation exceeds the step limit for a document of this size".to_owned(),
        };
        visit_limit::with_limit(visit_limit::limit_for(document), || {
            self.violation_unbounded(document)
        })
        .unwrap_or(Some(too_costly))
    }

    fn violation_unbounded(&self, document: &Json) -> Option<Violation> {
        if self.whole.is_valid(document) {
            return None;
        }
        if let Some(parts) = &self.parts {
            let draft = self.whole.draft();
            let parts = parts
                .get_or_init(|| Parts::new(&self.source, self.dialect, self.backtracking, draft));
            return Some(parts.violation(&self.source, document));
        }
        let error = self.whole.validate(document).err()?;
        Some(Violation {
            pointer: error.instance_path().as_str().to_owned(),
            keyword: error.schema_path().as_str().to_owned(),
            reason: short(&error.masked().to_string()),
        })
    }

    /// Approximate memory in bytes. A compiled schema is several times larger than its source.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // Each part contains those below it.
        let (of_source, of_patterns) = if self.parts.is_some() {
            (64, 4)
        } else {
            (8, 1)
        };
        let source = Json::from(&*self.source).bytes();
        4_096 + of_source * source + of_patterns * self.pattern_bytes
    }
}

/// Truncates a reason: some list every name of a document.
fn short(reason: &str) -> String {
    const MAX_LENGTH: usize = 300;
    match reason.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(source: Value) -> Schema {
        Schema::compile(source, Dialect::default()).unwrap()
    }

    fn read(text: &str) -> Json {
        Json::read(text).unwrap()
    }

    #[test]
    fn compares_numbers_beyond_doubles_exactly() {
        let whole = schema(json!({"type": "integer", "maximum": 10}));
        assert!(!whole.holds(&read("1e400")));
        assert!(whole.holds(&read("-1e400")));
        assert!(schema(json!({"multipleOf": 3})).holds(&read("1000000000000000000000000000002")));
        assert!(!schema(json!({"multipleOf": 3})).holds(&read("1000000000000000000000000000001")));
        assert!(
            schema(json!({"uniqueItems": true}))
                .holds(&read("[1e400,1e401,9007199254740993,9007199254740992]"))
        );
        assert!(
            !schema(json!({"const": 9_007_199_254_740_993_u64})).holds(&read("9007199254740992"))
        );
        assert!(schema(json!({"const": 5})).holds(&read("5.0")));
        assert!(!schema(json!({"type": "integer"})).holds(&read("5.00000000000000000000001")));
    }

    #[test]
    fn locates_violations() {
        let schema =
            schema(json!({"properties": {"a": {"type": "array", "items": {"type": "string"}}}}));
        let violation = schema.violation(&read(r#"{"a":["x",1]}"#)).unwrap();
        assert_eq!(
            (violation.pointer.as_str(), violation.keyword.as_str()),
            ("/a/1", "/properties/a/items/type")
        );
        assert_eq!(violation.reason, "value is not of type \"string\"");
        assert_eq!(schema.violation(&read(r#"{"a":["x"]}"#)), None);
    }

    #[test]
    fn rejects_invalid_schemas() {
        for source in [
            json!({"type": "dict"}),
            json!({"pattern": "("}),
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!(3),
        ] {
            assert!(
                Schema::compile(source.clone(), Dialect::default()).is_err(),
                "{source}"
            );
        }
    }

    #[test]
    fn bounds_the_memory_of_patterns() {
        let names = |count: usize| {
            let names = (0..count).map(|at| (format!("x{at}"), json!({})));
            json!({ "patternProperties": serde_json::Map::from_iter(names) })
        };
        assert!(schema(names(1_000)).bytes() > 1_000 * (7 << 10));
        let error = Schema::compile(names(30_000), Dialect::default()).unwrap_err();
        assert!(error.starts_with("its patterns need about 2"), "{error}");
        assert!(
            error.contains(" MiB when compiled, more than 160; "),
            "{error}"
        );
    }

    #[test]
    fn bounds_time_of_patterns() {
        let text = Json::Text("a".repeat(5_000));
        assert!(!schema(json!({"pattern": "^(a+)+$!"})).holds(&text));
        assert!(!schema(json!({"pattern": "^(?=a)(a|a)+\\1b$"})).holds(&text));
        assert!(schema(json!({"pattern": "^(?!b)a+$"})).holds(&text));
    }

    #[test]
    fn counts_reading_a_text_as_a_step() {
        let pattern = schema(json!({"pattern": "b"}));
        let text = Json::Text("abc".to_owned());
        let validate =
            |steps: u64| visit_limit::with_limit(steps, || pattern.whole.is_valid(&text));
        assert_eq!(validate(0), None);
        assert_eq!(validate(10), Some(true));
    }

    #[test]
    fn accepts_cyclic_schemas() {
        let tree = schema(
            json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
                "additionalProperties": false}),
        );
        let deep = |end: &str| format!("{}{end}{}", "{\"left\":".repeat(250), "}".repeat(250));
        assert!(tree.holds(&read(&deep("{}"))));
        assert!(!tree.holds(&read(&deep("{\"x\":1}"))));
        assert!(schema(json!({"$ref": "#"})).holds(&Json::Null));
    }

    #[test]
    fn returns_schemas_of_properties() {
        let source = json!({
            "$ref": "#/$defs/a~b",
            "$defs": {
                "a~b": {"properties": {"n/m": {"$ref": "#/$defs/whole"},
                    "t": {"type": "string"}}, "required": ["t"]},
                "whole": {"type": "integer"}
            }
        });
        // A reference writes `~` as `~0`.
        let source =
            serde_json::from_str(&source.to_string().replace("#/$defs/a~b", "#/$defs/a~0b"))
                .unwrap();
        let parts = schema(source).properties();
        assert_eq!(parts.keys().collect::<Vec<_>>(), ["n/m", "t"]);
        assert!(parts["n/m"].holds(&read("1")) && !parts["n/m"].holds(&read("1.5")));
        assert!(parts["t"].holds(&read("\"x\"")));
        assert!(schema(json!({"$ref": "#"})).properties().is_empty());
        assert!(schema(json!(true)).properties().is_empty());
    }

    #[test]
    fn enforces_formats_by_draft_and_option() {
        let source = json!({"format": "date"});
        let is_valid = |draft, formats| {
            Schema::compile(source.clone(), Dialect { draft, formats })
                .unwrap()
                .holds(&read("\"31 May\""))
        };
        assert!(is_valid(None, None));
        assert!(!is_valid(Some(Draft::Draft7), None));
        assert!(!is_valid(None, Some(true)));
        assert!(is_valid(Some(Draft::Draft7), Some(false)));
    }

    #[test]
    fn bounds_time_of_self_branching_schemas() {
        let branches = schema(json!({
            "$ref": "#/$defs/a",
            "$defs": {"a": {"anyOf": [
                {"type": "integer"},
                {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/a"},
                    {"$ref": "#/$defs/a"}]}},
            ]}},
        }));
        let deep = read(&format!("{}\"x\"{}", "[".repeat(60), "]".repeat(60)));
        assert!(!branches.holds(&deep));
        assert!(branches.violation(&deep).is_some());
        assert!(branches.holds(&read("[[[1]]]")));
    }
}
