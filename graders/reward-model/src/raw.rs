//! The one room with `unsafe`: multiplying matrices in place.
#![expect(unsafe_code, reason = "products are written where attention needs them")]

use gemm::Parallelism;

/// A matrix inside a slice: element `(row, column)` lies at `offset + row * row_stride + column * column_stride`.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(crate) offset: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

impl View {
    /// Whether a matrix of this size lies inside a slice of `len`.
    fn fits(self, rows: usize, columns: usize, len: usize) -> bool {
        let last = |count: usize, stride: usize| count.checked_sub(1).and_then(|at| at.checked_mul(stride));
        let end = last(rows, self.row_stride)
            .zip(last(columns, self.column_stride))
            .and_then(|(row, column)| row.checked_add(column)?.checked_add(self.offset));
        end.is_some_and(|end| end < len)
    }
}

/// `out = scale * left * right`, on this thread, for `left` of `m x k` and `right` of `k x n`.
///
/// Each element is summed over `k` in an order that depends on `m`, `n` and `k` alone.
///
/// # Panics
/// When a matrix does not lie inside its slice, which is a slip of ours.
pub(crate) fn multiply(
    (m, n, k): (usize, usize, usize),
    scale: f32,
    (left, left_view): (&[f32], View),
    (right, right_view): (&[f32], View),
    (out, out_view): (&mut [f32], View),
) {
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    assert!(left_view.fits(m, k, left.len()), "the left matrix leaves its slice");
    assert!(right_view.fits(k, n, right.len()), "the right matrix leaves its slice");
    assert!(out_view.fits(m, n, out.len()), "the product leaves its slice");
    let stride = |stride: usize| isize::try_from(stride).unwrap_or(isize::MAX);
    // SAFETY: all three matrices lie inside their slices, as asserted, and `out` is borrowed mutably, so it is neither of the others.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr().add(out_view.offset),
            stride(out_view.column_stride),
            stride(out_view.row_stride),
            false,
            left.as_ptr().add(left_view.offset),
            stride(left_view.column_stride),
            stride(left_view.row_stride),
            right.as_ptr().add(right_view.offset),
            stride(right_view.column_stride),
            stride(right_view.row_stride),
            0.0,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
