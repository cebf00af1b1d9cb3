//! A random sample of the rows of a dataset, in their order.

use assay_base::Random;

use crate::row::SourceRow;

/// Draws `count` of the rows uniformly (algorithm R, Vitter 1985, doi 10.1145/3147.3165). Also
/// returns the total number of rows. The same seed draws the same rows.
pub(crate) fn draw(
    rows: impl Iterator<Item = SourceRow>,
    count: usize,
    seed: u64,
) -> (Vec<SourceRow>, u64) {
    let mut random = Random::new(seed);
    let (mut sample, mut seen) = (Vec::new(), 0usize);
    for row in rows {
        seen += 1;
        if sample.len() < count {
            sample.push(row);
        } else {
            let at = random.below(seen);
            if at < count {
                sample[at] = row;
            }
        }
    }
    sample.sort_by_key(|row| row.location().number);
    (sample, seen as u64)
}
