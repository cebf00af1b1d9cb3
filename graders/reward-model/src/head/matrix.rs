//! A matrix with a bias. A row's result does not depend on the number of rows.

use assay_kernels::{Product, View, multiply};
use assay_weights::{LoadError, Weights};
use rayon::prelude::*;

/// Rows per product. Smaller blocks are padded with zero rows, so that every product has the same
/// size and the results are bit-identical.
const BLOCK: usize = 16;

/// Maximum number of outputs for which dot products in `f64` are used instead.
const MAX_DOT_OUTPUTS: usize = 16;

/// A matrix with `out` rows of `inner` numbers, and a bias per row.
pub(super) struct Matrix {
    weight: Vec<f32>,
    bias: Vec<f32>,
    inner: usize,
}

impl Matrix {
    /// Reads the matrix `[out, inner]` from the tensor `weight` and the bias, if any, from the
    /// tensor `bias`.
    pub(super) fn read(
        weights: &Weights,
        weight: &str,
        bias: Option<&str>,
        [out, inner]: [usize; 2],
    ) -> Result<Self, LoadError> {
        let bias = match bias {
            Some(bias) => weights.values(bias, &[out])?,
            None => vec![0.0; out],
        };
        Ok(Self {
            weight: weights.values(weight, &[out, inner])?,
            bias,
            inner,
        })
    }

    /// Selects rows of another matrix. `None` if an index exceeds it.
    pub(super) fn of_rows(weight: &[f32], inner: usize, rows: &[u32]) -> Option<Self> {
        let row = |row: &u32| {
            let start = usize::try_from(*row).ok()?.checked_mul(inner)?;
            weight.get(start..start.checked_add(inner)?)
        };
        let rows: Vec<&[f32]> = rows.iter().map(row).collect::<Option<_>>()?;
        Some(Self {
            bias: vec![0.0; rows.len()],
            weight: rows.concat(),
            inner,
        })
    }

    pub(super) fn apply(&self, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
        if self.bias.len() <= MAX_DOT_OUTPUTS {
            return rows.par_iter().map(|row| self.dot_products(row)).collect();
        }
        rows.par_chunks(BLOCK)
            .flat_map_iter(|rows| self.block(rows))
            .collect()
    }

    fn dot_products(&self, row: &[f32]) -> Vec<f32> {
        // Results are f32.
        let dot = |weight: &[f32]| {
            row.iter()
                .zip(weight)
                .map(|(x, w)| f64::from(*x) * f64::from(*w))
                .sum::<f64>()
        };
        let sums = self.weight.chunks_exact(self.inner).zip(&self.bias);
        sums.map(|(weight, bias)| (dot(weight) + f64::from(*bias)) as f32)
            .collect()
    }

    fn block(&self, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let (inner, out) = (self.inner, self.bias.len());
        let mut block = rows.concat();
        block.resize(BLOCK * inner, 0.0);
        let mut product = vec![0f32; BLOCK * out];
        let contiguous = |columns: usize| View {
            offset: 0,
            row_stride: columns,
            column_stride: 1,
        };
        let transposed = View {
            offset: 0,
            row_stride: 1,
            column_stride: inner,
        };
        multiply(
            (BLOCK, out, inner),
            Product::plain(),
            (&block, contiguous(inner)),
            (&self.weight, transposed),
            (&mut product, contiguous(out)),
        );
        let add = |row: &[f32]| {
            row.iter()
                .zip(&self.bias)
                .map(|(x, bias)| x + bias)
                .collect()
        };
        product
            .chunks_exact(out)
            .take(rows.len())
            .map(add)
            .collect()
    }
}
