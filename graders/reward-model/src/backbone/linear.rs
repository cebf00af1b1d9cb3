//! Products with weights, in which a row's result does not depend on the rest of the batch.
//!
//! On a CPU, `gemm` sums an element of a product over the inner dimension in blocks. It chooses the
//! blocks by the inner dimension only, with three exceptions: a single row, products of at most 256
//! elements, and products of at most 64 x 64. Padding with zero rows avoids all three, and is cheap
//! because it is only done for small products.
//!
//! On a GPU, the library chooses a kernel by the number of rows. Products are therefore computed in
//! tiles of [`TILE`] rows, with the last tile padded: at most `TILE - 1` rows per batch are wasted.

use assay_weights::{LoadError, Weights};
use candle_core::{Result, Tensor};

/// Number of rows of a product on a GPU.
pub(crate) const TILE: usize = 256;

/// Minimum number of rows on a CPU from which elements are summed in the same order as in all
/// larger products.
fn min_rows(out: usize, inner: usize) -> usize {
    /// Maximum number of elements of a product for which the library uses vector products.
    const TINY: usize = 256;
    /// Maximum number of rows and columns of a product with special blocks, and the inner dimension
    /// up to which these equal the usual ones.
    const SMALL: (usize, usize) = (64, 512);
    let above_tiny = TINY / out.max(1) + 1;
    let above_small = if out <= SMALL.0 && inner > SMALL.1 {
        SMALL.0 + 1
    } else {
        2
    };
    above_tiny.max(above_small)
}

/// A weight of shape `[out, in]` with an optional bias.
pub(crate) struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    /// Reads `NAME.weight` and, if `bias` is set, `NAME.bias`.
    pub(crate) fn read(
        weights: &Weights,
        name: &str,
        [out, inner]: [usize; 2],
        bias: bool,
    ) -> std::result::Result<Self, LoadError> {
        Self::joined(weights, &[(name, out)], inner, bias)
    }

    /// Concatenates several weights over the same inputs. Each part is `(name, out)`.
    pub(crate) fn joined(
        weights: &Weights,
        parts: &[(&str, usize)],
        inner: usize,
        bias: bool,
    ) -> std::result::Result<Self, LoadError> {
        let read = |suffix: &str, inner: Option<usize>| -> std::result::Result<Tensor, LoadError> {
            let parts = parts.iter().map(|(name, out)| {
                let shape: Vec<usize> = std::iter::once(*out).chain(inner).collect();
                weights.tensor(&format!("{name}.{suffix}"), &shape)
            });
            let parts = parts.collect::<std::result::Result<Vec<_>, _>>()?;
            match <[Tensor; 1]>::try_from(parts) {
                Ok([only]) => Ok(only),
                Err(parts) => Ok(Tensor::cat(&parts, 0)?),
            }
        };
        let weight = read("weight", Some(inner))?;
        let bias = bias.then(|| read("bias", None)).transpose()?;
        Ok(Self { weight, bias })
    }

    /// Maps `[rows, in]` to `[rows, out]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let rows = x.dim(0)?;
        let (out, inner) = self.weight.dims2()?;
        let weight = self.weight.t()?;
        let product = if x.device().is_cpu() {
            padded(x, min_rows(out, inner))?.matmul(&weight)?
        } else {
            let padded_rows = padded(x, rows.next_multiple_of(TILE))?;
            let tiles = (0..padded_rows.dim(0)? / TILE)
                .map(|tile| padded_rows.narrow(0, tile * TILE, TILE)?.matmul(&weight));
            let tiles = tiles.collect::<Result<Vec<_>>>()?;
            if tiles.len() == 1 {
                tiles[0].clone()
            } else {
                Tensor::cat(&tiles, 0)?
            }
        };
        let product = product.narrow(0, 0, rows)?;
        match &self.bias {
            Some(bias) => product.broadcast_add(bias),
            None => product.contiguous(),
        }
    }
}

/// Pads with zero rows at the end up to `min_rows` rows.
fn padded(x: &Tensor, min_rows: usize) -> Result<Tensor> {
    let rows = x.dim(0)?;
    if rows >= min_rows {
        Ok(x.clone())
    } else {
        x.pad_with_zeros(0, 0, min_rows - rows)
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use assay_weights::synthetic;

    /// Sizes around every threshold of the library, and typical ones.
    #[test]
    fn row_results_are_bit_identical_for_any_number_of_rows() {
        for (out, inner) in [
            (1, 40),
            (8, 513),
            (16, 16),
            (48, 48),
            (64, 512),
            (64, 600),
            (65, 600),
            (144, 48),
            (200, 1_100),
        ] {
            let linear = Linear {
                weight: Tensor::from_vec(
                    synthetic::values("w", &[out, inner]),
                    (out, inner),
                    &Device::Cpu,
                )
                .unwrap(),
                bias: None,
            };
            let rows = 301;
            let x = Tensor::from_vec(
                synthetic::values("x", &[rows, inner]),
                (rows, inner),
                &Device::Cpu,
            )
            .unwrap();
            let bits = |x: &Tensor| -> Vec<Vec<u32>> {
                let rows = linear.forward(x).unwrap().to_vec2::<f32>().unwrap();
                rows.into_iter()
                    .map(|row| row.into_iter().map(f32::to_bits).collect())
                    .collect()
            };
            let whole = bits(&x);
            for (start, count) in [
                (0, 1),
                (300, 1),
                (7, 2),
                (5, 3),
                (9, 8),
                (1, 16),
                (33, 31),
                (3, 64),
                (0, 65),
                (2, 255),
            ] {
                let part = bits(&x.narrow(0, start, count).unwrap());
                assert_eq!(
                    part,
                    whole[start..start + count],
                    "{out} x {inner}, {count} rows from row {start}"
                );
            }
        }
    }
}
