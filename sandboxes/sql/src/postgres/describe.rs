//! Describes a database: its tables, columns and keys. Rows are not read, because variants are not
//! generated for PostgreSQL.

use assay_worker::query::{Column, ForeignKey, Rows, Table};
use sqlx::{Error, PgConnection, query_as};

/// Tables and views, in the order of creation, with one row for each column.
const COLUMNS: &str =
    "select relation.oid::int8, relation.relname::text, attname::text, format_type(atttypid, atttypmod),
        attnotnull, attnum
    from pg_catalog.pg_class relation
    join pg_catalog.pg_namespace space on space.oid = relnamespace
    join pg_catalog.pg_attribute on attrelid = relation.oid and attnum > 0 and not attisdropped
    where relkind in ('r', 'p', 'v', 'm') and nspname !~ '^pg_' and nspname <> 'information_schema'
    order by relation.oid, attnum";

/// Keys of each table: primary keys first, then unique keys, then foreign keys.
const KEYS: &str =
    "select conrelid::int8, contype::text, conkey, coalesce(target.relname, '')::text,
        array(select attname::text from unnest(confkey) with ordinality as referred(number, ordinal)
            join pg_catalog.pg_attribute on attrelid = confrelid and attnum = number order by ordinal)
    from pg_catalog.pg_constraint left join pg_catalog.pg_class target on target.oid = confrelid
    where contype in ('p', 'u', 'f') and conrelid <> 0
    order by conrelid, position(contype::text in 'puf'), pg_constraint.oid";

/// A row of [`KEYS`]: the table, kind and columns of a key; the table and columns that it
/// references.
type Key = (i64, String, Vec<i16>, String, Vec<String>);

/// Describes the tables of the connected database.
pub(super) async fn describe(connection: &mut PgConnection) -> Result<Vec<Table>, Error> {
    let columns: Vec<(i64, String, String, String, bool, i16)> =
        query_as(COLUMNS).fetch_all(&mut *connection).await?;
    let keys: Vec<Key> = query_as(KEYS).fetch_all(&mut *connection).await?;
    let mut tables: Vec<(i64, Vec<i16>, Table)> = Vec::new();
    for (relation, name, column, declared, not_null, number) in columns {
        if tables.last().is_none_or(|(last, ..)| *last != relation) {
            tables.push((relation, Vec::new(), empty(name)));
        }
        let Some((_, numbers, table)) = tables.last_mut() else {
            continue;
        };
        numbers.push(number);
        table.columns.push(Column {
            name: column,
            declared,
            not_null,
            has_null: !not_null,
            is_distinct: false,
        });
    }
    for (relation, kind, key, target, references) in keys {
        let Some((_, numbers, table)) = tables.iter_mut().find(|(oid, ..)| *oid == relation) else {
            continue;
        };
        let columns: Vec<usize> = key
            .iter()
            .filter_map(|number| numbers.iter().position(|known| known == number))
            .collect();
        if kind == "f" {
            table.foreign_keys.push(ForeignKey {
                columns,
                table: target,
                references,
            });
        } else {
            table.has_primary_key |= kind == "p";
            table.keys.push(columns);
        }
    }
    Ok(tables.into_iter().map(|(.., table)| table).collect())
}

fn empty(name: String) -> Table {
    Table {
        name,
        columns: Vec::new(),
        keys: Vec::new(),
        has_primary_key: false,
        foreign_keys: Vec::new(),
        count: 0,
        sample: Rows::default(),
    }
}
