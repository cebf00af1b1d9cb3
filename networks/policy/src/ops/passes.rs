//! Passes over all numbers of a matrix, cut into pieces for the workers.
//!
//! The size of a piece depends on the matrix alone, so sums over pieces do not depend on the number
//! of workers.

use assay_kernels::wide;
use rayon::prelude::*;

use super::numbers::Number;

/// Numbers one worker takes at a time: below, waking another costs more than it does.
pub(crate) const PIECE: usize = 1 << 15;

/// Rows of this width one worker takes at a time.
pub(crate) fn rows_of(width: usize) -> usize {
    (PIECE / width.max(1)).max(1)
}

/// `sum += scale * numbers`.
pub(crate) fn add_to<T: Number>(sum: &mut [T], numbers: &[T], scale: T) {
    sum.par_chunks_mut(PIECE)
        .zip(numbers.par_chunks(PIECE))
        .for_each(|(sum, numbers)| {
            wide(
                #[inline(always)]
                || {
                    sum.iter_mut()
                        .zip(numbers)
                        .for_each(|(sum, number)| *sum += scale * *number)
                },
            );
        });
}

/// Runs work on a worker of the pool, where each of its loops finds the others without a change of
/// threads.
pub(crate) fn on_workers<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::scope(|_| work())
}
