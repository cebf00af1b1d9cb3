//! Products of matrices that lie inside larger rows, written where they are needed. The one room of
//! this crate with `unsafe`.
#![expect(
    unsafe_code,
    reason = "the library takes pointers and strides; they are checked against the slices first"
)]

use gemm::Parallelism;

use crate::Real;

/// A matrix inside a slice: element `(row, column)` lies at `offset + row * row_stride + column *
/// column_stride`.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Where its first element lies.
    pub offset: usize,
    /// From a row to the next.
    pub row_stride: usize,
    /// From a column to the next.
    pub column_stride: usize,
}

impl View {
    /// Rows one behind the other, each of `width` elements.
    #[must_use]
    pub fn rows(width: usize) -> Self {
        Self {
            offset: 0,
            row_stride: width,
            column_stride: 1,
        }
    }

    /// The same, starting at `offset`.
    #[must_use]
    pub fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// Rows for columns.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Whether a matrix of this size lies inside a slice of `len`.
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

/// What becomes of a product.
#[derive(Debug, Clone, Copy)]
pub struct Product<T> {
    /// It is multiplied with this.
    pub scale: T,
    /// It is added to what is there, instead of replacing it.
    pub add: bool,
    /// How many threads may work on it.
    pub threads: usize,
}

impl<T: Real> Product<T> {
    /// The product itself, on this thread.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            scale: T::ONE,
            add: false,
            threads: 1,
        }
    }

    /// Times this.
    #[must_use]
    pub fn times(self, scale: T) -> Self {
        Self { scale, ..self }
    }

    /// Added to what is there.
    #[must_use]
    pub fn added(self) -> Self {
        Self { add: true, ..self }
    }

    /// On so many threads.
    #[must_use]
    pub fn on(self, threads: usize) -> Self {
        Self { threads, ..self }
    }
}

/// `left * right` into `out`, for `left` of `m x k` and `right` of `k x n`.
///
/// Each element is summed over `k` in an order that depends on `m`, `n` and `k` alone.
///
/// # Panics
/// When a matrix does not lie inside its slice, which is a slip of the caller's.
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
        "the left matrix leaves its slice"
    );
    assert!(
        right_view.fits(k, n, right.len()),
        "the right matrix leaves its slice"
    );
    assert!(
        out_view.fits(m, n, out.len()),
        "the product leaves its slice"
    );
    let stride = |stride: usize| isize::try_from(stride).unwrap_or(isize::MAX);
    let parallelism = if product.threads > 1 {
        Parallelism::Rayon(product.threads)
    } else {
        Parallelism::None
    };
    // SAFETY: all three matrices lie inside their slices, as asserted, and `out` is borrowed
    // mutably, so it is neither of the others. `Real` is implemented for `f32` and `f64` only,
    // which the library knows.
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
    fn a_product_lands_where_it_should() {
        // [1 2; 3 4] * [5 6; 7 8] = [19 22; 43 50], into the middle of wider rows.
        let (left, right) = ([1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let mut out = [1.0f32; 8];
        let place = View::rows(4).at(1);
        multiply(
            (2, 2, 2),
            Product::plain(),
            (&left, View::rows(2)),
            (&right, View::rows(2)),
            (&mut out, place),
        );
        assert_eq!(out, [1.0, 19.0, 22.0, 1.0, 1.0, 43.0, 50.0, 1.0]);
        let product = Product::plain().times(2.0).added();
        multiply(
            (2, 2, 2),
            product,
            (&left, View::rows(2)),
            (&right, View::rows(2).transposed()),
            (&mut out, place),
        );
        // 2 * [1 2; 3 4] * [5 7; 6 8] = [34 46; 78 106].
        assert_eq!(out, [1.0, 53.0, 68.0, 1.0, 1.0, 121.0, 156.0, 1.0]);
    }

    #[test]
    #[should_panic(expected = "leaves its slice")]
    fn nothing_is_written_outside() {
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
