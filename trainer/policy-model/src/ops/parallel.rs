//! Parallel loops over the numbers of a matrix.
//!
//! The size of a chunk depends only on the matrix, so sums over chunks do not depend on the number
//! of threads.

use assay_kernels::wide;
use rayon::prelude::*;

use super::fused::Number;

/// Numbers per chunk; below, waking a thread costs more than it saves.
pub(crate) const CHUNK: usize = 1 << 15;

/// Rows of this width per chunk.
pub(crate) fn rows_per_chunk(width: usize) -> usize {
    (CHUNK / width.max(1)).max(1)
}

/// `sum += scale * numbers`.
pub(crate) fn add_to<T: Number>(sum: &mut [T], numbers: &[T], scale: T) {
    sum.par_chunks_mut(CHUNK)
        .zip(numbers.par_chunks(CHUNK))
        .for_each(|(sum, numbers)| {
            wide(
                #[inline(always)]
                || {
                    sum.iter_mut()
                        .zip(numbers)
                        .for_each(|(sum, number)| *sum += scale * *number);
                },
            );
        });
}

/// Runs `work` on a thread of the pool, so that its parallel loops need no further switch of
/// threads.
pub(crate) fn on_thread_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::scope(|_| work())
}
