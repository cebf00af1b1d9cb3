//! Compares two results as multisets of rows, up to rounding, the order of ties, and the order of
//! columns if the task allows it. Results of SQLite and PostgreSQL are compared alike.

mod columns;
mod labels;

use std::collections::HashMap;

use assay_worker::query::Rows;

use crate::task::Columns;
use columns::Search;
use labels::label_results;

/// The rows of a gold on one database.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GoldResult {
    pub(crate) rows: Rows,
    /// The number of each row's tie, from 0; `None` if order does not matter.
    pub(crate) ties: Option<Vec<u32>>,
}

/// How results are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    pub(crate) columns: Columns,
    /// Relative difference below which two numbers are equal, unless both are integers.
    pub(crate) tolerance: f64,
}

/// How two results differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The results have different numbers of columns: of the gold, of the found result.
    Width(usize, usize),
    /// The results have different numbers of rows: of the gold, of the found result.
    Height(usize, usize),
    /// The results have different rows: the index of the first row of the gold that the found
    /// result lacks, and the reverse.
    Rows { missing: usize, extra: usize },
    /// The results have the same rows in different orders, from this row on.
    Order { from: usize },
    /// No choice of columns makes them equal.
    Columns,
    /// No choice of columns was found before the search reached its limit.
    ColumnsUnknown,
}

/// Maximum number of columns of a result if extra columns are allowed, for a gold with `width`
/// columns: a query that selects everything is not an answer.
fn max_width(width: usize) -> usize {
    2 * width + 8
}

/// Compares a result with the result of a gold.
pub(crate) fn compare(gold: &GoldResult, found: &Rows, rule: Rule) -> Result<(), Difference> {
    compare_all(&[(gold, found)], rule)
}

/// Compares the results of a statement on several databases with those of the gold. One choice of
/// columns must fit all databases.
pub(crate) fn compare_all(parts: &[(&GoldResult, &Rows)], rule: Rule) -> Result<(), Difference> {
    for (gold, found) in parts {
        let (width, found_width) = (gold.rows.width(), found.width());
        let width_fits = match rule.columns {
            Columns::Strict | Columns::Permute => width == found_width,
            Columns::Superset => (width..=max_width(width)).contains(&found_width),
        };
        if !width_fits {
            return Err(Difference::Width(width, found_width));
        }
    }
    // Most correct predictions return the gold's rows in the same order.
    if parts.iter().all(|(gold, found)| gold.rows == **found) {
        return Ok(());
    }
    if let Some((gold, found)) = parts
        .iter()
        .find(|(gold, found)| gold.rows.len() != found.len())
    {
        return Err(Difference::Height(gold.rows.len(), found.len()));
    }
    let widths = |(gold, found): &(&GoldResult, &Rows)| (gold.rows.width(), found.width());
    if parts
        .windows(2)
        .any(|pair| widths(&pair[0]) != widths(&pair[1]))
    {
        return Err(Difference::Columns);
    }
    let golds = parts.iter().map(|(gold, _)| &gold.rows);
    let (labels, gold_labels, found_labels) =
        label_results(golds, parts.iter().map(|(_, found)| *found), rule.tolerance);
    let ties = ties_of(parts);
    let mut search = Search::new(&gold_labels, &found_labels, labels);
    match rule.columns {
        Columns::Strict => match search.strict(&ties) {
            Some(()) => Ok(()),
            None => {
                let has_order =
                    parts.len() > 1 || parts.iter().any(|(gold, _)| gold.ties.is_some());
                Err(difference(
                    &mut search,
                    has_order.then_some(ties.as_slice()),
                ))
            }
        },
        Columns::Permute | Columns::Superset => match search.any(&ties) {
            Some(true) => Ok(()),
            Some(false) => Err(Difference::Columns),
            None => Err(Difference::ColumnsUnknown),
        },
    }
}

/// The tie of each row of the golds, concatenated over the databases. Rows of different databases
/// never tie.
fn ties_of(parts: &[(&GoldResult, &Rows)]) -> Vec<u32> {
    let mut ties: Vec<u32> =
        Vec::with_capacity(parts.iter().map(|(gold, _)| gold.rows.len()).sum());
    let mut next = 0;
    for (gold, _) in parts {
        match &gold.ties {
            Some(of_gold) => ties.extend(of_gold.iter().map(|tie| next + tie)),
            None => ties.extend(std::iter::repeat_n(next, gold.rows.len())),
        }
        next += 1 + gold
            .ties
            .iter()
            .flatten()
            .max()
            .copied()
            .unwrap_or_default();
    }
    ties
}

/// The difference between results with the same number of rows. `ties` are the ties of the gold if
/// order matters.
fn difference(search: &mut Search<'_>, ties: Option<&[u32]>) -> Difference {
    if let Some(ties) = ties
        && search.strict(&vec![0; ties.len()]).is_some()
    {
        return Difference::Order {
            from: search.first_misplaced_row(ties),
        };
    }
    let (gold_rows, found_rows) = search.row_classes();
    let first_without = |of: &[u32], among: &[u32]| {
        let mut left: HashMap<u32, i64> = HashMap::new();
        for row in among {
            *left.entry(*row).or_default() += 1;
        }
        of.iter().position(|row| {
            let left = left.entry(*row).or_default();
            *left -= 1;
            *left < 0
        })
    };
    let missing = first_without(&gold_rows, &found_rows).unwrap_or_default();
    let extra = first_without(&found_rows, &gold_rows).unwrap_or_default();
    Difference::Rows { missing, extra }
}

#[cfg(test)]
mod tests {
    use assay_worker::query::Value;
    use proptest::prelude::*;

    use super::*;

    const STRICT: Rule = Rule {
        columns: Columns::Strict,
        tolerance: 1e-9,
    };

    fn rows<const N: usize>(rows: &[[Value<'static>; N]]) -> Rows {
        let mut packed = Rows::new(N);
        rows.iter().for_each(|row| packed.push(*row));
        packed
    }

    fn multiset(rows: Rows) -> GoldResult {
        GoldResult { rows, ties: None }
    }

    fn one(value: Value<'static>) -> Rows {
        rows(&[[value]])
    }

    fn same(gold: Value<'static>, found: Value<'static>) -> bool {
        compare(&multiset(one(gold)), &one(found), STRICT).is_ok()
    }

    #[test]
    fn numbers_compare_by_value() {
        use Value::{Blob, Integer, Null, Real, Text};
        assert!(same(Integer(1), Real(1.0)));
        assert!(same(Real(-0.0), Integer(0)));
        assert!(same(Real(0.1 + 0.2), Real(0.3)));
        assert!(same(Integer(3), Real(2.999_999_999_999_999_6)));
        assert!(same(
            Real(1.234_567_890_123_456e17),
            Real(1.234_567_890_123_457e17)
        ));
        assert!(!same(
            Integer(9_007_199_254_740_993),
            Real(9_007_199_254_740_992.0)
        ));
        assert!(!same(Integer(i64::MAX), Integer(i64::MAX - 1)));
        assert!(!same(Integer(i64::MAX), Real(9_223_372_036_854_775_808.0)));
        assert!(!same(Real(1.0), Real(1.000_001)));
        assert!(!same(Integer(1), Text(b"1")));
        assert!(!same(Text(b"a"), Blob(b"a")));
        assert!(!same(Null, Text(b"NULL")) && !same(Null, Integer(0)) && same(Null, Null));
        assert!(same(Real(f64::NAN), Real(f64::NAN)) && !same(Real(f64::NAN), Null));
        assert!(
            same(Real(f64::INFINITY), Real(f64::INFINITY))
                && !same(Real(f64::INFINITY), Real(f64::MAX))
        );
        assert!(!same(Text(b"2024-01-01"), Text(b"2024-01-01 00:00:00")));
    }

    #[test]
    fn compares_rows_as_multisets() {
        use Value::Integer;
        let gold = multiset(rows(&[[Integer(1)], [Integer(2)], [Integer(2)]]));
        assert_eq!(
            compare(
                &gold,
                &rows(&[[Integer(2)], [Integer(1)], [Integer(2)]]),
                STRICT
            ),
            Ok(())
        );
        let found = rows(&[[Integer(1)], [Integer(1)], [Integer(2)]]);
        assert_eq!(
            compare(&gold, &found, STRICT),
            Err(Difference::Rows {
                missing: 2,
                extra: 1
            })
        );
        assert_eq!(
            compare(&gold, &rows(&[[Integer(1)]]), STRICT),
            Err(Difference::Height(3, 1))
        );
        assert_eq!(
            compare(&multiset(Rows::new(1)), &Rows::new(2), STRICT),
            Err(Difference::Width(1, 2))
        );
    }

    #[test]
    fn accepts_ties_in_any_order() {
        use Value::Integer;
        let gold = GoldResult {
            rows: rows(&[[Integer(1)], [Integer(2)], [Integer(3)]]),
            ties: Some(vec![0, 0, 1]),
        };
        assert_eq!(
            compare(
                &gold,
                &rows(&[[Integer(2)], [Integer(1)], [Integer(3)]]),
                STRICT
            ),
            Ok(())
        );
        let found = rows(&[[Integer(1)], [Integer(3)], [Integer(2)]]);
        assert_eq!(
            compare(&gold, &found, STRICT),
            Err(Difference::Order { from: 1 })
        );
    }

    #[test]
    fn accepts_rows_that_differ_by_rounding() {
        use Value::{Integer, Real};
        let gold = multiset(rows(&[
            [Real(1.0), Integer(5)],
            [Real(1.000_000_000_1), Integer(7)],
        ]));
        let found = rows(&[[Real(1.000_000_000_1), Integer(5)], [Real(1.0), Integer(7)]]);
        assert_eq!(compare(&gold, &found, STRICT), Ok(()));
    }

    #[test]
    fn distinguishes_twelve_symmetric_columns() {
        // Each column is a permutation of the numbers 0 to 12, so that no column can be told from
        // another on its own.
        let shifted = |order: &[i64]| {
            let mut packed = Rows::new(order.len());
            (0..13).for_each(|row| {
                packed.push(
                    order
                        .iter()
                        .map(|column| Value::Integer((row * (column + 1)) % 13)),
                );
            });
            packed
        };
        let permute = Rule {
            columns: Columns::Permute,
            ..STRICT
        };
        let gold = multiset(shifted(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
        let found = shifted(&[7, 3, 11, 0, 9, 5, 2, 10, 1, 8, 6, 4]);
        assert_eq!(compare(&gold, &found, permute), Ok(()));
        let other = shifted(&[7, 3, 11, 0, 9, 5, 2, 10, 1, 8, 6, 6]);
        assert_eq!(compare(&gold, &other, permute), Err(Difference::Columns));
        let mut identity = Rows::new(12);
        (0..12).for_each(|row| {
            identity.push((0..12).map(|column| Value::Integer(i64::from(row == column))));
        });
        let mut mirrored = Rows::new(12);
        (0..12).for_each(|row| {
            mirrored.push((0..12).map(|column| Value::Integer(i64::from(row + column == 11))));
        });
        assert_eq!(compare(&multiset(identity), &mirrored, permute), Ok(()));
    }

    #[test]
    fn equal_columns_do_not_slow_down_the_search() {
        let table = |last: i64| {
            let mut packed = Rows::new(30);
            for row in 0..20i64 {
                let cells = (0..30i64).map(|column| {
                    if column < 28 {
                        row % 2
                    } else {
                        (row * (column + last)) % 5
                    }
                });
                packed.push(cells.map(Value::Integer));
            }
            packed
        };
        let permute = Rule {
            columns: Columns::Permute,
            ..STRICT
        };
        assert_eq!(
            compare(&multiset(table(3)), &table(4), permute),
            Err(Difference::Columns)
        );
    }

    #[test]
    fn allows_extra_columns_if_the_task_does() {
        use Value::{Integer, Text};
        let gold = multiset(rows(&[[Text(b"a"), Integer(1)], [Text(b"b"), Integer(1)]]));
        let found = rows(&[
            [Integer(1), Integer(9), Text(b"b")],
            [Integer(1), Integer(8), Text(b"a")],
        ]);
        assert_eq!(
            compare(
                &gold,
                &found,
                Rule {
                    columns: Columns::Superset,
                    ..STRICT
                }
            ),
            Ok(())
        );
        assert!(
            compare(
                &gold,
                &found,
                Rule {
                    columns: Columns::Permute,
                    ..STRICT
                }
            )
            .is_err()
        );
    }

    #[test]
    fn one_column_mapping_must_fit_all_databases() {
        use Value::Integer;
        let gold = |value: i64| multiset(rows(&[[Integer(value)]]));
        let found = rows(&[[Integer(3), Integer(4), Integer(5)]]);
        let superset = Rule {
            columns: Columns::Superset,
            ..STRICT
        };
        let (three, four) = (gold(3), gold(4));
        assert_eq!(compare(&three, &found, superset), Ok(()));
        assert_eq!(compare(&four, &found, superset), Ok(()));
        assert_eq!(
            compare_all(&[(&three, &found), (&four, &found)], superset),
            Err(Difference::Columns)
        );
        let mut all_columns = Rows::new(11);
        all_columns.push((0..11).map(Integer));
        assert_eq!(
            compare(&three, &all_columns, superset),
            Err(Difference::Width(1, 11))
        );
    }

    #[test]
    fn requires_the_same_columns_on_all_databases() {
        use Value::Integer;
        let gold = multiset(rows(&[[Integer(1)]]));
        let (two, three) = (
            rows(&[[Integer(1), Integer(2)]]),
            rows(&[[Integer(1), Integer(2), Integer(3)]]),
        );
        let superset = Rule {
            columns: Columns::Superset,
            ..STRICT
        };
        assert_eq!(
            compare_all(&[(&gold, &three), (&gold, &two)], superset),
            Err(Difference::Columns)
        );
        assert_eq!(
            compare_all(&[(&gold, &two), (&gold, &two)], superset),
            Ok(())
        );
    }

    #[test]
    fn ties_do_not_span_databases() {
        use Value::Integer;
        let ordered = GoldResult {
            rows: rows(&[[Integer(1)], [Integer(2)], [Integer(2)]]),
            ties: Some(vec![0, 1, 1]),
        };
        let unordered = multiset(rows(&[[Integer(3)], [Integer(4)]]));
        let found = [
            rows(&[[Integer(4)], [Integer(3)]]),
            rows(&[[Integer(2)], [Integer(1)], [Integer(2)]]),
        ];
        let permute = Rule {
            columns: Columns::Permute,
            ..STRICT
        };
        let rest = [(&unordered, &found[0]), (&ordered, &ordered.rows)];
        assert_eq!(ties_of(&rest), [0, 0, 1, 2, 2]);
        assert_eq!(compare_all(&rest, permute), Ok(()));
        assert_eq!(
            compare_all(&[rest[0], (&ordered, &found[1])], permute),
            Err(Difference::Columns)
        );
    }

    #[test]
    fn rows_without_columns_are_compared_by_number() {
        let mut two = Rows::new(0);
        two.push([]);
        two.push([]);
        assert_eq!(compare(&multiset(two.clone()), &two, STRICT), Ok(()));
        assert_eq!(
            compare(&multiset(two), &Rows::new(0), STRICT),
            Err(Difference::Height(2, 0))
        );
    }

    proptest! {
        #[test]
        fn finds_any_order_of_rows_and_columns(
            cells in prop::collection::vec(prop::collection::vec(-2i64..3, 5), 0..12),
            order in Just(vec![0usize, 1, 2, 3, 4]).prop_shuffle(),
            keys in prop::collection::vec(any::<u32>(), 12),
        ) {
            let mut shuffled: Vec<usize> = (0..cells.len()).collect();
            shuffled.sort_by_key(|row| keys[*row]);
            let (mut gold, mut found) = (Rows::new(5), Rows::new(5));
            cells.iter().for_each(|row| gold.push(row.iter().map(|cell| Value::Integer(*cell))));
            for row in shuffled {
                found.push(order.iter().map(|column| Value::Integer(cells[row][*column])));
            }
            let permute = Rule { columns: Columns::Permute, ..STRICT };
            prop_assert_eq!(compare(&multiset(gold.clone()), &found, permute), Ok(()));
            if order.is_sorted() {
                prop_assert_eq!(compare(&multiset(gold), &found, STRICT), Ok(()));
            }
        }
    }
}
