//! JSON Schema over [`Json`] trees, by the `jsonschema` crate: drafts 4, 6, 7, 2019-09 and 2020-12.
//! Fetches nothing.
//!
//! Patterns run on a linear engine; those with look-around or back references on one that gives up
//! after [`BACKTRACKS`] steps, and then the text does not match.

mod node;
mod place;
mod visits;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

pub use jsonschema::Draft;
use jsonschema::{
    PatternOptions, Retrieve, ValidationError, ValidationOptions, Validator, options_for,
};
use serde_json::Value;

use crate::json::Json;
use node::Trees;
use place::{Parts, is_plain};

/// Steps a pattern with look-around or back references may take for one text.
pub const BACKTRACKS: usize = 100_000;

/// How a schema is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The draft of a schema that names none; 2020-12 unless given.
    pub draft: Option<Draft>,
    /// Whether `format` is held; by default as the draft says: up to 7 it is, from 2019-09 on it
    /// only tells.
    pub formats: Option<bool>,
}

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct Schema {
    whole: Validator<Trees>,
    source: Arc<Value>,
    dialect: Dialect,
    backtracking: bool,
    /// Its parts, compiled when a document first breaks it; none are needed where it is plain.
    parts: Option<Arc<OnceLock<Parts>>>,
}

/// One way in which a document breaks its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Place in the document, a JSON pointer.
    pub place: String,
    /// Place in the schema, a JSON pointer that ends in the keyword.
    pub keyword: String,
    /// What is wrong, without the document's values.
    pub reason: String,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it is none: what its meta-schema says, a reference that leads nowhere in it, a pattern
    /// that is none.
    pub fn compile(source: Value, dialect: Dialect) -> Result<Self, String> {
        let compile = |backtracking: bool| {
            let whole = options(&source, dialect, backtracking).build(&source)?;
            Ok((whole, backtracking))
        };
        let (whole, backtracking) =
            compile(false)
                .or_else(|_| compile(true))
                .map_err(|error: ValidationError<'_>| {
                    let place = error.instance_path().as_str();
                    format!(
                        "{error}{}",
                        if place.is_empty() {
                            String::new()
                        } else {
                            format!(" (at `{place}` in the schema)")
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
        })
    }

    /// The schemas of the properties it names at its top, by name, or those its top refers to
    /// within itself. None where it names none.
    #[must_use]
    pub fn properties(&self) -> BTreeMap<String, Self> {
        let Some((top, place)) = self.top() else {
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
            let escaped = name.replace('~', "~0").replace('/', "~1");
            let whole = parts
                .get(&format!("#{place}/properties/{escaped}"))?
                .clone();
            let parts = (!is_plain(source)).then(Arc::default);
            Some((
                name.clone(),
                Self {
                    whole,
                    source: Arc::new(source.clone()),
                    parts,
                    ..self.clone()
                },
            ))
        };
        named.iter().filter_map(part).collect()
    }

    /// Where the reference at its top leads, with its place.
    fn top(&self) -> Option<(&Value, String)> {
        /// Most references that follow each other.
        const MAX_STEPS: usize = 16;
        let (mut top, mut place) = (&*self.source, String::new());
        for _ in 0..MAX_STEPS {
            let Some(next) = top.get("$ref").and_then(Value::as_str) else {
                return Some((top, place));
            };
            place = next.strip_prefix('#')?.to_owned();
            top = self.source.pointer(&place)?;
        }
        None
    }

    /// The schema itself.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Whether a document holds it; one for which that takes too many steps does not.
    #[must_use]
    pub fn holds(&self, document: &Json) -> bool {
        visits::within(visits::allowed(document), || self.whole.is_valid(document))
            .unwrap_or_default()
    }

    /// A way in which a document breaks it, at the innermost place that can be told.
    #[must_use]
    pub fn violation(&self, document: &Json) -> Option<Violation> {
        let too_costly = Violation {
            place: String::new(),
            keyword: String::new(),
            reason: "validation takes more steps than are allowed for a document of its size"
                .to_owned(),
        };
        visits::within(visits::allowed(document), || {
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
            place: error.instance_path().as_str().to_owned(),
            keyword: error.schema_path().as_str().to_owned(),
            reason: short(&error.masked().to_string()),
        })
    }

    /// Bytes it keeps, roughly: what is compiled is some times larger than its source.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let times = if self.parts.is_some() { 64 } else { 8 };
        4_096 + times * Json::from(&*self.source).bytes()
    }
}

fn options<'a>(
    source: &Value,
    dialect: Dialect,
    backtracking: bool,
) -> ValidationOptions<'a, Arc<dyn Retrieve>, Trees> {
    let mut options = options_for::<Trees>().offline();
    if let Some(draft) = dialect.draft.filter(|_| source.get("$schema").is_none()) {
        options = options.with_draft(draft);
    }
    if let Some(formats) = dialect.formats {
        options = options.should_validate_formats(formats);
    }
    if backtracking {
        options.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS))
    } else {
        options.with_pattern_options(PatternOptions::regex())
    }
}

/// A reason that a person reads: some list every name of a document.
fn short(reason: &str) -> String {
    const LONGEST: usize = 300;
    match reason.char_indices().nth(LONGEST) {
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
    fn numbers_beyond_doubles_keep_their_value() {
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
    fn a_violation_has_its_places() {
        let schema =
            schema(json!({"properties": {"a": {"type": "array", "items": {"type": "string"}}}}));
        let violation = schema.violation(&read(r#"{"a":["x",1]}"#)).unwrap();
        assert_eq!(
            (violation.place.as_str(), violation.keyword.as_str()),
            ("/a/1", "/properties/a/items/type")
        );
        assert_eq!(violation.reason, "value is not of type \"string\"");
        assert_eq!(schema.violation(&read(r#"{"a":["x"]}"#)), None);
    }

    #[test]
    fn what_is_no_schema_is_refused() {
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
    fn a_pattern_cannot_hang() {
        let text = Json::Text("a".repeat(5_000));
        assert!(!schema(json!({"pattern": "^(a+)+$!"})).holds(&text));
        assert!(!schema(json!({"pattern": "^(?=a)(a|a)+\\1b$"})).holds(&text));
        assert!(schema(json!({"pattern": "^(?!b)a+$"})).holds(&text));
    }

    #[test]
    fn a_schema_may_refer_to_itself() {
        let tree = schema(
            json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "additionalProperties": false}),
        );
        let deep = |end: &str| format!("{}{end}{}", "{\"left\":".repeat(250), "}".repeat(250));
        assert!(tree.holds(&read(&deep("{}"))));
        assert!(!tree.holds(&read(&deep("{\"x\":1}"))));
        assert!(schema(json!({"$ref": "#"})).holds(&Json::Null));
    }

    #[test]
    fn properties_have_schemas_of_their_own() {
        let source = json!({
            "$ref": "#/$defs/a~b",
            "$defs": {
                "a~b": {"properties": {"n/m": {"$ref": "#/$defs/whole"}, "t": {"type": "string"}}, "required": ["t"]},
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
    fn formats_are_held_as_asked() {
        let source = json!({"format": "date"});
        let holds = |draft, formats| {
            Schema::compile(source.clone(), Dialect { draft, formats })
                .unwrap()
                .holds(&read("\"31 May\""))
        };
        assert!(holds(None, None));
        assert!(!holds(Some(Draft::Draft7), None));
        assert!(!holds(None, Some(true)));
        assert!(holds(Some(Draft::Draft7), Some(false)));
    }

    #[test]
    fn a_schema_that_branches_into_itself_ends() {
        let branches = schema(json!({
            "$ref": "#/$defs/a",
            "$defs": {"a": {"anyOf": [
                {"type": "integer"},
                {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}},
            ]}},
        }));
        let deep = read(&format!("{}\"x\"{}", "[".repeat(60), "]".repeat(60)));
        assert!(!branches.holds(&deep));
        assert!(branches.violation(&deep).is_some());
        assert!(branches.holds(&read("[[[1]]]")));
    }
}
