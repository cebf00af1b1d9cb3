//! Finds which columns of two results correspond. Each chosen pair of columns refines a partition
//! of the rows into classes. A choice is abandoned when a class has different numbers of rows in
//! the two results, which rules out almost every wrong choice immediately.

use std::collections::{BTreeSet, HashMap};

use super::labels::LabelTable;

/// Maximum number of cells that a search reads, far more than any table needs that is not designed
/// to be hard.
const MAX_CELLS: usize = 100_000_000;

/// A search over the columns of two labelled results.
pub(super) struct Search<'a> {
    gold: &'a LabelTable,
    found: &'a LabelTable,
    /// Number of labels.
    labels: usize,
    cells_read: usize,
}

/// The class of each row of the gold and of the found result.
type Classes = (Vec<u32>, Vec<u32>);

impl<'a> Search<'a> {
    pub(super) fn new(gold: &'a LabelTable, found: &'a LabelTable, labels: usize) -> Self {
        Self {
            gold,
            found,
            labels,
            cells_read: 0,
        }
    }

    /// Returns `Some` if the results are equal with their columns in the given order. `initial` is
    /// the initial class of each row.
    pub(super) fn strict(&mut self, initial: &[u32]) -> Option<()> {
        let mut classes = (initial.to_vec(), initial.to_vec());
        for column in 0..self.gold.width {
            classes = self.refined(&classes, column, column)?;
        }
        Some(())
    }

    /// Whether some choice of columns makes the results equal; `None` if the search reached its
    /// limit.
    pub(super) fn any(&mut self, initial: &[u32]) -> Option<bool> {
        let classes = (initial.to_vec(), initial.to_vec());
        // Columns with the fewest partners first.
        let mut order = Vec::with_capacity(self.gold.width);
        for column in 0..self.gold.width {
            let mut partners = BTreeSet::new();
            for other in 0..self.found.width {
                if self.cells_read > MAX_CELLS {
                    return None;
                }
                if self.refined(&classes, column, other).is_some() {
                    partners.insert(other);
                }
            }
            if partners.is_empty() {
                return Some(false);
            }
            order.push((column, partners));
        }
        order.sort_by_key(|(column, partners)| (partners.len(), *column));
        self.choose(&order, &classes, &mut vec![false; self.found.width])
    }

    fn choose(
        &mut self,
        order: &[(usize, BTreeSet<usize>)],
        classes: &Classes,
        used: &mut [bool],
    ) -> Option<bool> {
        let Some(((column, partners), rest)) = order.split_first() else {
            return Some(true);
        };
        let mut tried: Vec<usize> = Vec::new();
        for partner in partners {
            // A column that is equal to one that failed fails as well.
            if used[*partner] || tried.iter().any(|before| self.is_equal(*before, *partner)) {
                continue;
            }
            if self.cells_read > MAX_CELLS {
                return None;
            }
            tried.push(*partner);
            let Some(refined) = self.refined(classes, *column, *partner) else {
                continue;
            };
            used[*partner] = true;
            let chosen = self.choose(rest, &refined, used);
            used[*partner] = false;
            if chosen != Some(false) {
                return chosen;
            }
        }
        Some(false)
    }

    /// Whether two columns of the found result are equal, row by row.
    fn is_equal(&mut self, a: usize, b: usize) -> bool {
        self.cells_read += self.found.height;
        let LabelTable { width, cells, .. } = self.found;
        cells.chunks_exact(*width).all(|row| row[a] == row[b])
    }

    /// Refines the classes by a column of each result; `None` if a class then has different numbers
    /// of rows.
    fn refined(&mut self, classes: &Classes, column: usize, other: usize) -> Option<Classes> {
        self.cells_read += 2 * self.gold.height;
        let mut known: HashMap<(u32, u32), (u32, i64)> =
            HashMap::with_capacity(self.labels.min(self.gold.height));
        let mut classify =
            |of: &LabelTable, rows: &[u32], column: usize, step: i64| -> Option<Vec<u32>> {
                let mut refined = Vec::with_capacity(rows.len());
                for (row, class) in rows.iter().enumerate() {
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    let (class, count) = known
                        .entry((*class, of.cells[row * of.width + column]))
                        .or_insert((next, 0));
                    *count += step;
                    // The found result has more such rows than the gold.
                    if *count < 0 {
                        return None;
                    }
                    refined.push(*class);
                }
                Some(refined)
            };
        let gold = classify(self.gold, &classes.0, column, 1)?;
        let found = classify(self.found, &classes.1, other, -1)?;
        Some((gold, found))
    }

    /// The class of each row by all its cells, with the columns in the given order.
    pub(super) fn row_classes(&self) -> Classes {
        let mut known: HashMap<&[u32], u32> = HashMap::new();
        let mut classes = |of: &'a LabelTable| -> Vec<u32> {
            let rows = of.cells.chunks_exact(of.width.max(1));
            rows.map(|row| {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known.entry(row).or_insert(next)
            })
            .collect()
        };
        (classes(self.gold), classes(self.found))
    }

    /// The index of the first row of the found result that the gold has in another tie.
    pub(super) fn first_misplaced_row(&self, ties: &[u32]) -> usize {
        let (gold, found) = self.row_classes();
        let mut left: HashMap<(u32, u32), i64> = HashMap::new();
        for (class, tie) in gold.iter().zip(ties) {
            *left.entry((*class, *tie)).or_default() += 1;
        }
        let misplaced = found.iter().zip(ties).position(|(class, tie)| {
            let left = left.entry((*class, *tie)).or_default();
            *left -= 1;
            *left < 0
        });
        misplaced.unwrap_or_default()
    }
}
