//! Compiled schemas that several tasks share. Compiling takes far longer than validating a small
//! document, and many tasks of a batch have the same schema.
//!
//! A schema lives as long as one of the tasks that use it, so this uses little memory of its own.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use assay_core::Hash;

use super::{Dialect, Schema};
use crate::json::Json;

/// Compiled schemas in use, by the text of the schema and its dialect.
static IN_USE: LazyLock<Mutex<InUse>> = LazyLock::new(Mutex::default);

/// Number of entries up to which those of dropped schemas are kept.
const MIN_ENTRIES: usize = 1_024;

#[derive(Default)]
struct InUse {
    schemas: HashMap<Hash, Weak<Schema>>,
    /// Number of entries at which those of dropped schemas are removed.
    limit: usize,
}

impl InUse {
    /// Adds a schema, or returns an equal one that another thread has added meanwhile.
    fn add(&mut self, key: Hash, schema: Arc<Schema>) -> Arc<Schema> {
        if let Some(added) = self.get(key) {
            return added;
        }
        if self.schemas.len() >= self.limit.max(MIN_ENTRIES) {
            self.schemas.retain(|_, schema| schema.strong_count() > 0);
            self.limit = 2 * self.schemas.len();
        }
        self.schemas.insert(key, Arc::downgrade(&schema));
        schema
    }

    fn get(&self, key: Hash) -> Option<Arc<Schema>> {
        self.schemas.get(&key)?.upgrade()
    }
}

impl Schema {
    /// Compiles a schema, unless an equal one is in use.
    ///
    /// # Errors
    /// As [`Schema::compile`].
    pub fn shared(source: &Json, dialect: Dialect) -> Result<Arc<Self>, String> {
        let text = source.to_string();
        let options = format!("{dialect:?}");
        let key = Hash::of_parts(&[text.as_bytes(), options.as_bytes()]);
        let in_use = || IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = in_use().get(key) {
            return Ok(schema);
        }
        // Not under the lock, since a large schema takes long.
        let schema = Arc::new(Self::compile(source.to_value(), dialect)?);
        Ok(in_use().add(key, schema))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(text: &str, formats: Option<bool>) -> Arc<Schema> {
        let dialect = Dialect {
            formats,
            ..Dialect::default()
        };
        Schema::shared(&Json::read(text).unwrap(), dialect).unwrap()
    }

    #[test]
    fn shares_equal_schemas_in_use() {
        let text = r#"{"title":"shares_equal_schemas_in_use","format":"date"}"#;
        let first = shared(text, None);
        assert!(Arc::ptr_eq(&first, &shared(text, None)));
        let strict = shared(text, Some(true));
        assert!(!Arc::ptr_eq(&first, &strict));
        let document = Json::Text("May".to_owned());
        assert!(first.holds(&document) && !strict.holds(&document));
    }

    #[test]
    fn forgets_schemas_that_are_not_used() {
        let mut in_use = InUse::default();
        let kept = shared(r#"{"title":"kept"}"#, None);
        for at in 0..4 * MIN_ENTRIES {
            let key = Hash::of(&at.to_le_bytes());
            let schema = match at {
                0 => Arc::clone(&kept),
                _ => Arc::new(Schema::clone(&kept)),
            };
            in_use.add(key, schema);
        }
        assert!(in_use.schemas.len() <= MIN_ENTRIES);
        assert!(in_use.get(Hash::of(&0_usize.to_le_bytes())).is_some());
    }
}
