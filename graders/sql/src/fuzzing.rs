//! Entry points of the fuzz target for statements. Not part of the API.

use std::ops::Range;

use assay_worker::query::{Column, End, Rows, Table, TableRows, Value};

use crate::partial::{Names, Parts};
use crate::statement::{self, tokens};
use crate::task::Dialect;
use crate::variants::{self, GenerationOptions};

/// Properties that the grader reads from the text of a statement.
#[derive(Debug, PartialEq)]
pub struct Read {
    /// Spans of its tokens.
    pub tokens: Vec<Range<usize>>,
    /// Its first token in lower case.
    pub first: Option<String>,
    /// Whether it calls a random function.
    pub is_random: bool,
    /// The statement with its ties in two other orders, if they may be split.
    pub shuffled: Option<[String; 2]>,
    /// Variants of the statement with a rank column.
    pub ranked: Vec<String>,
    /// The same variants without a limit.
    pub unlimited: Vec<String>,
    /// The given columns that are the keys of its order, by index.
    pub keys: Option<Vec<usize>>,
}

fn dialect(is_postgres: bool) -> Dialect {
    if is_postgres {
        Dialect::Postgres
    } else {
        Dialect::Sqlite
    }
}

/// Reads a statement whose result has these columns.
#[must_use]
pub fn read(sql: &str, columns: &[String], is_postgres: bool) -> Read {
    let dialect = dialect(is_postgres);
    let ordering = statement::ordering(sql, dialect);
    let keys = ordering
        .as_ref()
        .and_then(|ordering| ordering.key_columns(columns));
    let (ranked, unlimited) = ordering
        .map(|ordering| (ordering.ranked, ordering.unlimited))
        .unwrap_or_default();
    Read {
        tokens: tokens(sql, dialect)
            .into_iter()
            .map(|token| token.span)
            .collect(),
        first: statement::first_word(sql, dialect),
        is_random: statement::is_random(sql, dialect),
        shuffled: statement::shuffled(sql, dialect),
        ranked,
        unlimited,
        keys,
    }
}

/// The statement of a completion, and its span.
#[must_use]
pub fn extract(text: &str) -> Option<(String, Range<usize>)> {
    crate::extract::extract(text).map(|found| (found.text, found.span))
}

/// The shares of its parts that a prediction has in common with the gold.
#[must_use]
pub fn parts(sql: &str, gold: &str, is_postgres: bool) -> [f64; 4] {
    let golds = [gold.to_owned()];
    let Parts {
        syntax,
        executes,
        schema,
        tokens,
    } = Parts::of(
        sql,
        &End::Rows,
        &golds,
        &Names::of(&[table()]),
        dialect(is_postgres),
    );
    [syntax, executes, schema, tokens]
}

/// Generates rows for a gold.
#[must_use]
pub fn rows(gold: &str, seed: u64) -> Vec<TableRows> {
    let constants = variants::constants_of([gold], Dialect::Sqlite);
    let options = GenerationOptions {
        spread: 30,
        flat: seed % 4 == 3,
        loose: seed % 4 == 1,
        distinct: seed % 4 == 2,
    };
    variants::generate(&[table()], &constants, seed, options)
}

/// A table with a column of each type.
fn table() -> Table {
    let column = |(name, declared): (&str, &str)| Column {
        name: name.to_owned(),
        declared: declared.to_owned(),
        not_null: false,
        has_null: false,
        is_distinct: false,
    };
    let mut sample = Rows::new(4);
    for at in 0..8u8 {
        let (name, day) = ([b'a' + at], format!("2024-02-2{at}"));
        let integer = Value::Integer(at.into());
        sample.push([
            integer,
            Value::Text(&name),
            Value::Real(f64::from(at) / 4.0),
            Value::Text(day.as_bytes()),
        ]);
    }
    Table {
        name: "t".to_owned(),
        columns: [("a", "int"), ("b", "text"), ("c", "real"), ("d", "date")]
            .map(column)
            .into(),
        keys: vec![vec![0]],
        has_primary_key: true,
        foreign_keys: Vec::new(),
        count: 8,
        sample,
    }
}
