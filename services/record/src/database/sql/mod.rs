//! Executes statements on either database, with one form of connections, values and rows.
//!
//! A statement has parameters like `$1`, or `?` if it has hundreds: SQLite looks up the name of
//! each `$1` in time that grows with their number. Hints like `indexed by` are for SQLite. For
//! PostgreSQL, `?` and hints are replaced; see [`postgres::translate`](super::postgres::translate).

mod builder;
pub(crate) mod bulk;
mod column;
mod connection;
mod query;
mod transaction;
mod value;

pub(crate) use builder::QueryBuilder;
pub(crate) use column::{Cell, Column, Row};
pub(crate) use connection::{Connection, Handle, Pool};
pub(crate) use query::{query, query_scalar};
pub(crate) use value::Value;
