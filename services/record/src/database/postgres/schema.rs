//! Which schema the database has. Other programs may use other schemas of it.

/// Whether the database has no tables.
pub(crate) const IS_EMPTY: &str = "select not exists (select 1 from information_schema.tables \
     where table_schema = current_schema())";

/// Whether it has a table of this name.
pub(crate) const HAS_TABLE: &str = "select exists (select 1 from information_schema.tables \
     where table_schema = current_schema() and table_name = $1)";

/// Whether the table has a column of this name.
pub(crate) const HAS_COLUMN: &str = "select exists (select 1 from information_schema.columns \
     where table_schema = current_schema() and table_name = $1 and column_name = $2)";
