//! Finds which columns of two results correspond. Rows are put into classes, column by column; a
//! choice of columns is continued only while both results have the same number of rows in each
//! class, so that almost every wrong choice ends at once.

use std::collections::{BTreeSet, HashMap};

use super::labels::{Labels, Sheet};

/// Most cells that a search reads: far more than any table not designed to be hard needs.
const MOST_CELLS: usize = 100_000_000;

/// Two labelled results.
pub(super) struct Search<'a> {
    gold: &'a Sheet,
    found: &'a Sheet,
    labels: usize,
    looked: usize,
}

/// The class of each row: of the gold, of the other.
type Classes = (Vec<u32>, Vec<u32>);

impl<'a> Search<'a> {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "labels are made for one search"
    )]
    pub(super) fn new(gold: &'a Sheet, found: &'a Sheet, labels: Labels) -> Self {
        Self {
            gold,
            found,
            labels: labels.0,
            looked: 0,
        }
    }

    /// Whether the results are equal with columns in their given order. `begin` is the class of
    /// each row, by its index.
    pub(super) fn strict(&mut self, begin: &[u32]) -> Option<()> {
        let mut classes = (begin.to_vec(), begin.to_vec());
        for column in 0..self.gold.width {
            classes = self.refined(&classes, column, column)?;
        }
        Some(())
    }

    /// Whether some choice of columns makes the results equal; `None` if the search exceeded its
    /// limit.
    pub(super) fn any(&mut self, begin: &[u32]) -> Option<bool> {
        let classes = (begin.to_vec(), begin.to_vec());
        // Columns with the fewest partners first.
        let mut order = Vec::with_capacity(self.gold.width);
        for column in 0..self.gold.width {
            let mut partners = BTreeSet::new();
            for other in 0..self.found.width {
                if self.looked > MOST_CELLS {
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
            if self.looked > MOST_CELLS {
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

    /// Whether two columns of the other result are equal, row by row.
    fn is_equal(&mut self, a: usize, b: usize) -> bool {
        self.looked += self.found.height;
        let Sheet { width, cells, .. } = self.found;
        cells.chunks_exact(*width).all(|row| row[a] == row[b])
    }

    /// Classes refined by a column of each; `None` if they then have different numbers of
    /// rows.
    fn refined(&mut self, classes: &Classes, column: usize, other: usize) -> Option<Classes> {
        self.looked += 2 * self.gold.height;
        let mut known: HashMap<(u32, u32), (u32, i64)> =
            HashMap::with_capacity(self.labels.min(self.gold.height));
        let mut place = |of: &Sheet, rows: &[u32], column: usize, step: i64| -> Option<Vec<u32>> {
            let mut refined = Vec::with_capacity(rows.len());
            for (row, class) in rows.iter().enumerate() {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                let (class, count) = known
                    .entry((*class, of.cells[row * of.width + column]))
                    .or_insert((next, 0));
                *count += step;
                // More than the gold has.
                if *count < 0 {
                    return None;
                }
                refined.push(*class);
            }
            Some(refined)
        };
        let gold = place(self.gold, &classes.0, column, 1)?;
        let found = place(self.found, &classes.1, other, -1)?;
        Some((gold, found))
    }

    /// The class of each row by all its cells, columns in their given order.
    pub(super) fn whole_rows(&self) -> Classes {
        let mut known: HashMap<&[u32], u32> = HashMap::new();
        let mut classes = |of: &'a Sheet| -> Vec<u32> {
            let rows = of.cells.chunks_exact(of.width.max(1));
            rows.map(|row| {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known.entry(row).or_insert(next)
            })
            .collect()
        };
        (classes(self.gold), classes(self.found))
    }

    /// The first row of the other result that the gold has in another tie.
    pub(super) fn first_out_of_place(&self, ties: &[u32]) -> usize {
        let (gold, found) = self.whole_rows();
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
