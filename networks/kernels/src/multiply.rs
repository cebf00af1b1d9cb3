//! Products of matrices that are embedded in larger rows, written in place. The only module of this
//! crate with `unsafe`.
#![expect(
    unsafe_code,
    reason = "`gemm` takes pointers and strides; they are checked against the slices first"
)]

use gemm::Parallelism;

use crate::Real;

/// Position of a matrix in a slice: element `(row, column)` has the index `offset + row *
/// row_stride + column * column_stride`.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Index of the first element.
    pub offset: usize,
    /// Distance from one row to the next.
    pub row_stride: usize,
    /// Distance from one column to the next.
    pub column_stride: usize,
}

impl View {
    /// Contiguous rows of `width` elements each.
    #[must_use]
    pub fn rows(width: usize) -> Self {
        Self {
            offset: 0,
            row_stride: width,
            column_stride: 1,
        }
    }

    /// The same view with its first element at `offset`.
    #[must_use]
    pub fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// The transposed matrix: rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Returns whether a matrix of this size fits in a slice of length `len`.
    fn fits(self, rows: usize, columns: usize, len: usize) -> bool {
        let last = |count: usize, stride: usize| {
            count.checked_sub(1).and_then(|at| at.checked_mul(stride))
        };
        let end = last(rows, self.row_stride)
            .zip(last(columns, self.column_stride))
            .and_then(|(row, column)| row.checked_add(column)?.checked_add(self.offset));
        end.is_some_and(|end| end < len)
    }
}

/// How a product is scaled, stored and distributed over threads.
#[derive(Debug, Clone, Copy)]
pub struct Product<T> {
    /// Factor applied to the product.
    pub scale: T,
    /// Adds the product to the output instead of replacing the output.
    pub add: bool,
    /// Maximum number of threads.
    pub threads: usize,
}

impl<T: Real> Product<T> {
    /// The unscaled product, stored over the output and computed on the calling thread.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            scale: T::ONE,
            add: false,
            threads: 1,
        }
    }

    /// Scales the product.
    #[must_use]
    pub fn with_scale(self, scale: T) -> Self {
        Self { scale, ..self }
    }

    /// Adds the product to the output.
    #[must_use]
    pub fn accumulate(self) -> Self {
        Self { add: true, ..self }
    }

    /// Uses up to `threads` threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }
}

/// Computes `left * right` into `out`, where `left` is `m x k` and `right` is `k x n`.
///
/// Each element is summed over `k` in an order that depends only on `m`, `n` and `k`.
///
/// # Panics
/// If a matrix does not fit in its slice.
pub fn multiply<T: Real>(
    (m, n, k): (usize, usize, usize),
    product: Product<T>,
    (left, left_view): (&[T], View),
    (right, right_view): (&[T], View),
    (out, out_view): (&mut [T], View),
) {
    if m == 0 || n == 0 || k == 0 {
        return;
    }
    assert!(
        left_view.fits(m, k, left.len()),
        "the left matrix exceeds its slice"
    );
    assert!(
        right_view.fits(k, n, right.len()),
        "the right matrix exceeds its slice"
    );
    assert!(
        out_view.fits(m, n, out.len()),
        "the product exceeds its slice"
    );
    let stride = |stride: usize| isize::try_from(stride).unwrap_or(isize::MAX);
    let parallelism = if product.threads > 1 {
        Parallelism::Rayon(product.threads)
    } else {
        Parallelism::None
    };
    // SAFETY: all three matrices fit in their slices, as asserted above. `out` is borrowed mutably,
    // so it does not overlap the others. `Real` is implemented only for `f32` and `f64`, which
    // `gemm` supports.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr().add(out_view.offset),
            stride(out_view.column_stride),
            stride(out_view.row_stride),
            product.add,
            left.as_ptr().add(left_view.offset),
            stride(left_view.column_stride),
            stride(left_view.row_stride),
            right.as_ptr().add(right_view.offset),
            stride(right_view.column_stride),
            stride(right_view.row_stride),
            if product.add { T::ONE } else { T::ZERO },
            product.scale,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_product_into_the_output_view() {
        // [1 2; 3 4] * [5 6; 7 8] = [19 22; 43 50], written into the middle of wider rows.
        let (left, right) = ([1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let mut out = [1.0f32; 8];
        let view = View::rows(4).at(1);
        multiply(
            (2, 2, 2),
            Product::plain(),
            (&left, View::rows(2)),
            (&right, View::rows(2)),
            (&mut out, view),
        );
        assert_eq!(out, [1.0, 19.0, 22.0, 1.0, 1.0, 43.0, 50.0, 1.0]);
        let product = Product::plain().with_scale(2.0).accumulate();
        multiply(
            (2, 2, 2),
            product,
            (&left, View::rows(2)),
            (&right, View::rows(2).transposed()),
            (&mut out, view),
        );
        // 2 * [1 2; 3 4] * [5 7; 6 8] = [34 46; 78 106].
        assert_eq!(out, [1.0, 53.0, 68.0, 1.0, 1.0, 121.0, 156.0, 1.0]);
    }

    #[test]
    #[should_panic(expected = "exceeds its slice")]
    fn panics_if_the_output_is_too_small() {
        let view = View::rows(2);
        multiply(
            (2, 2, 2),
            Product::plain(),
            (&[0.0f64; 4], view),
            (&[0.0; 4], view),
            (&mut [0.0; 3], view),
        );
    }
}
