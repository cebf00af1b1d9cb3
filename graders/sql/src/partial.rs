//! Partial scores of a wrong answer: whether it parses and runs, which tables and columns it names,
//! and which tokens it shares with the gold, as in Reasoning-SQL (2025) and Think2SQL (2025).

use std::collections::{BTreeSet, HashSet};

use assay_worker::query::{End, Table};

use crate::statement::{TokenKind, tokens};
use crate::task::{Dialect, Partial};

/// Names of the tables and columns of a database, in lower case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    tables: HashSet<String>,
    columns: HashSet<String>,
}

impl Names {
    pub(crate) fn of(tables: &[Table]) -> Self {
        let columns = tables.iter().flat_map(|table| &table.columns);
        Self {
            tables: tables
                .iter()
                .map(|table| table.name.to_lowercase())
                .collect(),
            columns: columns.map(|column| column.name.to_lowercase()).collect(),
        }
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.tables
            .iter()
            .chain(&self.columns)
            .map(|name| 2 * size_of::<String>() + name.len())
            .sum()
    }
}

/// The score of each part of a prediction, in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parts {
    pub(crate) syntax: f64,
    pub(crate) executes: f64,
    pub(crate) schema: f64,
    pub(crate) tokens: f64,
}

impl Parts {
    /// Scores a statement that ended with `end`, each part against the most similar gold.
    pub(crate) fn of(
        sql: &str,
        end: &End,
        golds: &[String],
        known: &Names,
        dialect: Dialect,
    ) -> Self {
        let parses = !matches!(
            end,
            End::Nothing | End::Several | End::NotAQuery | End::Denied(_) | End::Syntax(_)
        );
        let executes = matches!(end, End::Rows);
        if matches!(end, End::Several | End::NotAQuery | End::Denied(_)) {
            return Self {
                syntax: 0.0,
                executes: 0.0,
                schema: 0.0,
                tokens: 0.0,
            };
        }
        let most = |of: &dyn Fn(&str) -> f64| golds.iter().map(|gold| of(gold)).fold(0.0, f64::max);
        let names = names(sql, known, dialect);
        let pairs = pairs(sql, dialect);
        Self {
            syntax: f64::from(u8::from(parses)),
            executes: f64::from(u8::from(executes)),
            schema: most(&|gold| jaccard(&names, &self::names(gold, known, dialect))),
            tokens: most(&|gold| jaccard(&pairs, &self::pairs(gold, dialect))),
        }
    }

    /// The weighted sum of the parts.
    pub(crate) fn score(self, weights: Partial) -> f64 {
        self.syntax * weights.syntax
            + self.executes * weights.executes
            + self.schema * weights.schema
            + self.tokens * weights.tokens
    }
}

/// The Jaccard index of two sets; 0 for two empty sets.
fn jaccard<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> f64 {
    let both = a.intersection(b).count();
    let either = a.len() + b.len() - both;
    if either == 0 {
        0.0
    } else {
        both as f64 / either as f64
    }
}

/// The tables (`true`) and columns (`false`) of the database that a statement names.
fn names(sql: &str, known: &Names, dialect: Dialect) -> BTreeSet<(bool, String)> {
    let mut found = BTreeSet::new();
    for token in tokens(sql, dialect)
        .iter()
        .filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted))
    {
        let name = token.content();
        if known.tables.contains(&name) {
            found.insert((true, name));
        } else if known.columns.contains(&name) {
            found.insert((false, name));
        }
    }
    found
}

/// Pairs of adjacent tokens; the start and the end of the statement count as tokens.
fn pairs(sql: &str, dialect: Dialect) -> BTreeSet<(String, String)> {
    let tokens = tokens(sql, dialect);
    let mut contents: Vec<String> = tokens
        .iter()
        .map(super::statement::Token::content)
        .collect();
    while contents.last().is_some_and(|content| content == ";") {
        contents.pop();
    }
    if contents.is_empty() {
        return BTreeSet::new();
    }
    let before = std::iter::once(String::new()).chain(contents.clone());
    let after = contents.into_iter().chain(std::iter::once(String::new()));
    before.zip(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_pairs_of_adjacent_tokens() {
        let share =
            |a: &str, b: &str| jaccard(&pairs(a, Dialect::Sqlite), &pairs(b, Dialect::Sqlite));
        assert_eq!(share("SELECT a FROM t;", "select a -- x\nfrom t"), 1.0);
        assert_eq!(share("select a from t", "select b from t"), 3.0 / 7.0);
        assert_eq!(share("", ""), 0.0);
    }

    #[test]
    fn denied_statements_score_zero() {
        let golds = ["select a from t".to_owned()];
        let of = |end: &End| {
            Parts::of(
                "select a from t",
                end,
                &golds,
                &Names::default(),
                Dialect::Sqlite,
            )
        };
        assert_eq!(of(&End::Denied("writing".to_owned())).tokens, 0.0);
        let parts = of(&End::OutOfSteps);
        assert_eq!(
            (parts.syntax, parts.executes, parts.tokens),
            (1.0, 0.0, 1.0)
        );
    }
}
