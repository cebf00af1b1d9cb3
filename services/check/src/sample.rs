//! So many rows of a dataset, drawn at random and kept in their order.

use assay_core::Random;

use crate::row::Read;

/// `count` of the rows, each set of so many as likely as any other (algorithm R, Vitter 1985, doi
/// 10.1145/3147.3165), and how many there were. The same seed draws the same rows.
pub(crate) fn draw(rows: impl Iterator<Item = Read>, count: usize, seed: u64) -> (Vec<Read>, u64) {
    let mut random = Random::new(seed);
    let (mut kept, mut seen) = (Vec::new(), 0usize);
    for row in rows {
        seen += 1;
        if kept.len() < count {
            kept.push(row);
        } else {
            let at = random.below(seen);
            if at < count {
                kept[at] = row;
            }
        }
    }
    kept.sort_by_key(|row| row.place().number);
    (kept, seen as u64)
}
