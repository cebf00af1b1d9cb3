//! Ties of ordered rows: runs of rows that may come in any order among themselves.

use std::collections::HashMap;

use assay_worker::query::Rows;

/// Numbers the rows so that no two tie.
pub(crate) fn without_ties(rows: &Rows) -> Vec<u32> {
    (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect()
}

/// Numbers runs of equal keys, from 0.
pub(crate) fn numbered<K: PartialEq>(keys: impl Iterator<Item = K>) -> Vec<u32> {
    let mut last: Option<K> = None;
    let mut number = 0;
    keys.map(|key| {
        if last.as_ref().is_some_and(|last| *last != key) {
            number += 1;
        }
        last = Some(key);
        number
    })
    .collect()
}

/// Merges ties so that `other`, another valid order of the rows, has the same rows in each tie. The
/// rows of a tie that the other order reverses are not equal before its end. If the rows differ,
/// the last tie contains the difference.
pub(crate) fn merged(ties: &[u32], rows: &Rows, other: &Rows) -> Vec<u32> {
    // How often a row occurs more often in the first rows of one order than in those of the other.
    let mut surplus: HashMap<String, i64> = HashMap::new();
    let mut unequal = 0usize;
    let mut number = 0;
    let mut numbers = Vec::with_capacity(ties.len());
    for (at, (row, other)) in rows.rows().zip(other.rows()).enumerate() {
        if at > 0 && ties[at] != ties[at - 1] && unequal == 0 {
            number += 1;
        }
        numbers.push(number);
        if row == other {
            continue;
        }
        for (row, change) in [(row, 1), (other, -1)] {
            let count = surplus.entry(format!("{row:?}")).or_default();
            unequal -= usize::from(*count != 0);
            *count += change;
            unequal += usize::from(*count != 0);
        }
    }
    let at = numbers.len();
    if at > 0 && at < ties.len() && ties[at] != ties[at - 1] && unequal == 0 {
        number += 1;
    }
    numbers.resize(ties.len(), number);
    numbers
}

#[cfg(test)]
mod tests {
    use assay_worker::query::Value;

    use super::*;

    fn rows(values: &[i64]) -> Rows {
        let mut rows = Rows::new(1);
        values
            .iter()
            .for_each(|value| rows.push([Value::Integer(*value)]));
        rows
    }

    #[test]
    fn merges_rows_that_another_order_swaps() {
        let of = |one: &[i64], other: &[i64]| {
            let one = rows(one);
            merged(&without_ties(&one), &one, &rows(other))
        };
        assert_eq!(of(&[1, 2, 3, 4], &[1, 3, 2, 4]), [0, 1, 1, 2]);
        assert_eq!(of(&[1, 2, 3, 4], &[1, 2, 3, 4]), [0, 1, 2, 3]);
        assert_eq!(of(&[5, 6, 7, 8], &[7, 6, 5, 8]), [0, 0, 0, 1]);
        assert_eq!(of(&[1, 2, 3], &[1, 9, 3]), [0, 1, 1]);
        assert_eq!(of(&[1, 2, 3], &[1]), [0, 1, 1]);
    }
}
