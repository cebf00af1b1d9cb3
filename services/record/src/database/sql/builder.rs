//! Statements that are composed.

use std::fmt::{Display, Write as _};

use sqlx::AssertSqlSafe;

use super::query::{self, Query};
use super::value::Value;

/// A statement to which texts and parameters are appended.
#[derive(Debug, Default)]
pub(crate) struct QueryBuilder {
    sql: String,
    values: Vec<Value>,
}

impl QueryBuilder {
    pub(crate) fn new(sql: impl Into<String>) -> Self {
        Self {
            sql: sql.into(),
            values: Vec::new(),
        }
    }

    /// Appends a text, which must not come from a request.
    pub(crate) fn push(&mut self, text: impl Display) -> &mut Self {
        // Writing to a `String` cannot fail.
        let _ = write!(self.sql, "{text}");
        self
    }

    /// Appends a parameter with this value.
    pub(crate) fn push_bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.sql.push('?');
        self.values.push(value.into());
        self
    }

    /// Appends parameters with these values, separated by commas.
    pub(crate) fn push_list<V: Into<Value>>(
        &mut self,
        values: impl IntoIterator<Item = V>,
    ) -> &mut Self {
        for (at, value) in values.into_iter().enumerate() {
            if at > 0 {
                self.sql.push_str(", ");
            }
            self.push_bind(value);
        }
        self
    }

    pub(crate) fn build(self) -> Query {
        query::query(AssertSqlSafe(self.sql)).with(self.values)
    }

    #[cfg(test)]
    pub(crate) fn into_string(self) -> String {
        self.sql
    }
}
