//! Statements and completions as text: what the grader `sql` reads from them before anything is
//! run.
//!
//! The last bit of the first byte selects the dialect, the others are a seed. A NUL separates the
//! prediction from the gold.
//!
//! Properties: reading is deterministic; spans are parts of the text; tokens are in order and do
//! not overlap; a rewritten statement contains all of the original; shares are between 0 and 1;
//! generated rows are complete.

use assay_sql::fuzzing::{Read, extract, parts, read, rows};

/// Reads a prediction and a gold.
pub fn run(bytes: &[u8]) {
    let Some((flags, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let is_postgres = flags & 1 == 1;
    let (prediction, gold) = text.split_once('\0').unwrap_or((text, text));
    if let Some((statement, span)) = extract(prediction) {
        assert!(
            prediction.get(span.clone()).is_some(),
            "{span:?} is not a part of {prediction:?}"
        );
        assert!(!statement.trim().is_empty());
        assert_eq!(
            extract(prediction),
            Some((statement.clone(), span)),
            "deterministic"
        );
        check(&statement, is_postgres);
    }
    check(gold, is_postgres);
    for (one, other) in [(prediction, gold), (gold, gold)] {
        let shares = parts(one, other, is_postgres);
        assert!(
            shares.iter().all(|share| (0.0..=1.0).contains(share)),
            "{shares:?}"
        );
    }
    let seed = u64::from(flags >> 1);
    let tables = rows(gold, seed);
    assert_eq!(tables, rows(gold, seed), "deterministic");
    for table in &tables {
        assert!(
            table
                .rows
                .rows()
                .all(|row| row.len() == table.columns.len())
        );
    }
}

fn check(sql: &str, is_postgres: bool) {
    let columns = ["a", "b"].map(str::to_owned);
    let found = read(sql, &columns, is_postgres);
    assert_eq!(found, read(sql, &columns, is_postgres), "deterministic");
    let Read {
        tokens,
        first,
        shuffled,
        ranked,
        unlimited,
        keys,
        ..
    } = found;
    assert!(
        tokens
            .iter()
            .all(|span| sql.get(span.clone()).is_some_and(|token| !token.is_empty())),
        "{tokens:?}"
    );
    assert!(
        tokens.windows(2).all(|pair| pair[0].end <= pair[1].start),
        "{tokens:?}"
    );
    assert_eq!(
        first,
        tokens.first().map(|span| sql[span.clone()].to_lowercase())
    );
    for statement in shuffled.iter().flatten().chain(&ranked) {
        assert!(
            is_inside(sql, statement),
            "{statement:?} does not contain all of {sql:?}"
        );
    }
    assert!(
        unlimited
            .iter()
            .chain(&ranked)
            .all(|statement| statement.contains("dense_rank() over (order by "))
    );
    assert!(
        keys.iter().flatten().all(|key| *key < columns.len()),
        "{keys:?}"
    );
}

/// Whether `outer` contains the characters of `inner` in order, without blanks.
fn is_inside(inner: &str, outer: &str) -> bool {
    let mut outer = outer.chars();
    inner
        .chars()
        .filter(|c| !c.is_whitespace())
        .all(|c| outer.any(|other| other == c))
}
