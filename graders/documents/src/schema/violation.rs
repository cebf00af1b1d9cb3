//! Violations of schemas, and the options with which schemas are compiled.

use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Retrieve, ValidationOptions, options_for};
use serde_json::Value;

use super::node::Trees;

/// A violation of a schema by a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Location in the document, a JSON pointer.
    pub pointer: String,
    /// Location in the schema, a JSON pointer that ends with the keyword.
    pub keyword: String,
    /// What is wrong, without values of the document.
    pub reason: String,
}

/// How a schema is interpreted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The draft of a schema without `$schema`; 2020-12 by default.
    pub draft: Option<Draft>,
    /// Whether `format` is enforced. By default the draft decides: up to draft 7 it is enforced,
    /// from 2019-09 on it is an annotation.
    pub formats: Option<bool>,
}

/// The options with which schemas are compiled.
pub(super) fn options<'a>(
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
        options.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS))
    } else {
        options.with_pattern_options(PatternOptions::regex())
    }
}

/// Maximum number of steps of a pattern with look-around or back references for one text.
pub const MAX_BACKTRACKS: usize = 100_000;
