//! Products with weights, in which a row's result does not depend on the rest of the batch.
//!
//! On a CPU, `gemm` sums an element of a product over the inner dimension in blocks. It chooses the
//! blocks by the inner dimension only, with three exceptions: a single row, products of at most 256
//! elements, and products of at most 64 x 64. Padding with zero rows avoids all three, and is cheap
//! because it is only done for small products.
//!
//! On a GPU, the library chooses a kernel by the number of rows. Products are therefore computed in
//! tiles of [`ProductRows`], with the last tile padded, unless that is off.

use std::ops::Range;

use assay_weights::{LoadError, Weights};
use candle_core::{Result, Tensor};

use crate::ProductRows;

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

    /// Number of columns of the result.
    pub(crate) fn outputs(&self) -> Result<usize> {
        self.weight.dim(0)
    }

    /// Maps `[rows, in]` to `[rows, out]`. On a GPU, products have `tile` rows.
    pub(crate) fn forward(&self, x: &Tensor, tile: ProductRows) -> Result<Tensor> {
        product(x, &self.weight, self.bias.as_ref(), tile)
    }

    /// Like [`Linear::forward`], but returns parts with these numbers of columns. On a GPU, each
    /// part is a product of its own, because the copy of a part takes longer than its product.
    pub(crate) fn parts<const N: usize>(
        &self,
        x: &Tensor,
        sizes: [usize; N],
        tile: ProductRows,
    ) -> Result<[Tensor; N]> {
        let mut end = 0;
        let ranges = sizes.map(|size| {
            end += size;
            end - size..end
        });
        let whole = x.device().is_cpu().then(|| self.forward(x, tile));
        let whole = whole.transpose()?;
        let part = |range: Range<usize>| match &whole {
            Some(whole) => whole.narrow(1, range.start, range.len())?.contiguous(),
            None => {
                let of = |weight: &Tensor| weight.narrow(0, range.start, range.len());
                let bias = self.bias.as_ref().map(of).transpose()?;
                product(x, &of(&self.weight)?, bias.as_ref(), tile)
            }
        };
        let parts = ranges.into_iter().map(part).collect::<Result<Vec<_>>>()?;
        <[Tensor; N]>::try_from(parts)
            .map_err(|parts| candle_core::Error::msg(format!("{} of {N} parts", parts.len())))
    }
}

/// The product of `x`, `[rows, in]`, and the transpose of `weight`, `[out, in]`, plus the bias.
fn product(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    tile: ProductRows,
) -> Result<Tensor> {
    let rows = x.dim(0)?;
    let (out, inner) = weight.dims2()?;
    let product = if x.device().is_cpu() {
        padded(x, min_rows(out, inner))?.matmul(&weight.t()?)?
    } else {
        match tile.get() {
            Some(tile) => tiled(x, weight, tile)?,
            None => x.matmul(&weight.t()?)?,
        }
    };
    let product = product.narrow(0, 0, rows)?;
    match bias {
        Some(bias) => product.broadcast_add(bias),
        None => product.contiguous(),
    }
}

/// A product in tiles of `tile` rows. The last tile is padded, so the result may have more rows.
#[cfg(feature = "cuda")]
fn tiled(x: &Tensor, weight: &Tensor, tile: usize) -> Result<Tensor> {
    x.contiguous()?.apply_op2_no_bwd(
        &weight.contiguous()?,
        &super::product::TiledProduct { tile },
    )
}

/// A product in tiles of `tile` rows, which needs CUDA.
#[cfg(not(feature = "cuda"))]
fn tiled(_: &Tensor, _: &Tensor, _: usize) -> Result<Tensor> {
    candle_core::bail!("this binary was built without CUDA")
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

    fn tensor(name: &str, [rows, columns]: [usize; 2]) -> Tensor {
        let values = synthetic::values(name, &[rows, columns]);
        Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap()
    }

    #[test]
    fn parts_are_the_columns_of_the_whole() {
        let linear = Linear {
            weight: tensor("w", [70, 40]),
            bias: Some(tensor("b", [1, 70]).flatten_all().unwrap()),
        };
        let x = tensor("x", [9, 40]);
        let whole = linear.forward(&x, ProductRows::OFF).unwrap();
        let parts = linear.parts(&x, [30, 8, 32], ProductRows::OFF).unwrap();
        let numbers = |x: &Tensor| x.to_vec2::<f32>().unwrap();
        let joined = Tensor::cat(&parts, 1).unwrap();
        assert!(parts.iter().all(Tensor::is_contiguous));
        assert_eq!(numbers(&joined), numbers(&whole));
    }

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
                weight: tensor("w", [out, inner]),
                bias: None,
            };
            let rows = 301;
            let x = tensor("x", [rows, inner]);
            let bits = |x: &Tensor| -> Vec<Vec<u32>> {
                let rows = linear.forward(x, ProductRows::OFF).unwrap();
                let rows = rows.to_vec2::<f32>().unwrap();
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
