//! Products with weights whose rows do not depend on the batch.
//!
//! On a CPU an element of a product is summed over the inner dimension in blocks. The library
//! chooses them by the inner dimension alone, but in three cases: a single row, products of at most
//! 256 elements, and products of at most 64 x 64 go other ways. All are avoided by adding empty
//! rows, which cost next to nothing where they are added.
//!
//! On a GPU the library chooses a kernel by the number of rows, so products are made in tiles of
//! [`TILE`] rows, the last one filled up: at most `TILE - 1` rows of a batch are wasted.

use assay_weights::{LoadError, Weights};
use candle_core::{Result, Tensor};

/// Rows of a product on a GPU.
pub(crate) const TILE: usize = 256;

/// Fewest rows of a product on a CPU whose elements are summed as in all larger ones.
fn least_rows(out: usize, inner: usize) -> usize {
    /// Elements of a product that is summed along vectors.
    const TINY: usize = 256;
    /// Rows and columns of a product with blocks of its own, and the inner dimension up to which
    /// they are the usual ones.
    const SMALL: (usize, usize) = (64, 512);
    let above_tiny = TINY / out.max(1) + 1;
    let above_small = if out <= SMALL.0 && inner > SMALL.1 {
        SMALL.0 + 1
    } else {
        2
    };
    above_tiny.max(above_small)
}

/// A weight, `[out, in]`, with its bias.
pub(crate) struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    /// Reads `NAME.weight` and, where there is one, `NAME.bias`.
    pub(crate) fn read(
        weights: &Weights,
        name: &str,
        [out, inner]: [usize; 2],
        bias: bool,
    ) -> std::result::Result<Self, LoadError> {
        Self::joined(weights, &[(name, out)], inner, bias)
    }

    /// Several weights over the same inputs as one: `[(name, out)]`.
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

    /// `[rows, in]` to `[rows, out]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let rows = x.dim(0)?;
        let (out, inner) = self.weight.dims2()?;
        let weight = self.weight.t()?;
        let product = if x.device().is_cpu() {
            padded(x, least_rows(out, inner))?.matmul(&weight)?
        } else {
            let filled = padded(x, rows.next_multiple_of(TILE))?;
            let tiles = (0..filled.dim(0)? / TILE)
                .map(|tile| filled.narrow(0, tile * TILE, TILE)?.matmul(&weight));
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

/// At least so many rows, empty ones behind.
fn padded(x: &Tensor, least: usize) -> Result<Tensor> {
    let rows = x.dim(0)?;
    if rows >= least {
        Ok(x.clone())
    } else {
        x.pad_with_zeros(0, 0, least - rows)
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use assay_weights::synthetic;

    /// Sizes around every border of the library, and usual ones.
    #[test]
    fn a_row_has_the_same_bits_in_any_number_of_rows() {
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
                    "{out} x {inner}, rows {start} and {count} in all"
                );
            }
        }
    }
}
