//! Weights packed once and reused for many products.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

/// Rows of a tile. With two registers of columns per row, the sums and the operands fit in sixteen
/// registers.
const ROWS: usize = 6;

/// Largest number of inputs multiplied before moving to the next panel, so that the rows and the
/// panel stay in the first-level cache.
const DEPTH: usize = 384;

/// A weight of shape `[out, in]`, stored in panels. A panel contains two registers of neighbouring
/// outputs, input after input, which is the order in which a product reads them.
///
/// A general product packs the weight each time. When the same weights are multiplied many times
/// with few rows, as in token-by-token generation, packing is a large part of the work.
#[derive(Debug)]
pub struct PackedWeights {
    inputs: usize,
    outputs: usize,
    /// Inputs per block.
    depth: usize,
    /// Outputs per panel.
    width: usize,
    /// Ordered by block, panel, input and output. The last panel is padded with zeros.
    numbers: Vec<f32>,
}

impl PackedWeights {
    /// Tile height. A thread should process a multiple of this number of rows.
    pub const ROWS: usize = ROWS;

    /// Packs a weight whose rows contain `inputs` numbers each.
    ///
    /// # Panics
    /// If the length of `weight` is not a multiple of `inputs`.
    #[must_use]
    pub fn new(weight: &[f32], inputs: usize) -> Self {
        let outputs = weight.len().checked_div(inputs).unwrap_or(0);
        assert!(
            weight.len() == outputs * inputs,
            "{} numbers are not a multiple of {inputs}",
            weight.len()
        );
        let width = Arch::new().dispatch(Width);
        // Blocks of equal size, instead of a short one at the end.
        let depth = inputs.div_ceil(inputs.div_ceil(DEPTH).max(1)).max(1);
        let mut numbers = vec![0.0; outputs.next_multiple_of(width) * inputs];
        let mut rest = numbers.as_mut_slice();
        for block in blocks(inputs, depth) {
            let (panels, others) = rest.split_at_mut(outputs.next_multiple_of(width) * block.len());
            for (at, panel) in panels.chunks_exact_mut(block.len() * width).enumerate() {
                for (column, output) in (at * width..outputs.min((at + 1) * width)).enumerate() {
                    let row = &weight[output * inputs..][block.clone()];
                    panel[column..]
                        .iter_mut()
                        .step_by(width)
                        .zip(row)
                        .for_each(|(to, from)| *to = *from);
                }
            }
            rest = others;
        }
        Self {
            inputs,
            outputs,
            depth,
            width,
            numbers,
        }
    }

    /// Length of an input row.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Length of an output row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Multiplies rows of [`inputs`](Self::inputs) numbers with the transpose of the weight, into
    /// rows of [`outputs`](Self::outputs) numbers.
    ///
    /// Each output is summed over the inputs in order and does not depend on the other rows.
    ///
    /// # Panics
    /// If `rows` is not a multiple of `inputs`, or `product` has a different number of rows.
    pub fn multiply(&self, rows: &[f32], product: &mut [f32]) {
        if self.inputs == 0 || self.outputs == 0 {
            return product.fill(0.0);
        }
        let count = rows.len() / self.inputs;
        assert!(
            rows.len() == count * self.inputs,
            "the last row is incomplete"
        );
        assert!(
            product.len() == count * self.outputs,
            "the product has a different number of rows"
        );
        Arch::new().dispatch(Multiply {
            weights: self,
            rows,
            product,
        });
    }
}

/// Ranges of inputs, one per block.
fn blocks(inputs: usize, depth: usize) -> impl Iterator<Item = Range<usize>> {
    (0..inputs)
        .step_by(depth)
        .map(move |start| start..inputs.min(start + depth))
}

/// Determines how many numbers two registers contain.
struct Width;

impl WithSimd for Width {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        2 * S::F32_LANES
    }
}

struct Multiply<'a> {
    weights: &'a PackedWeights,
    rows: &'a [f32],
    product: &'a mut [f32],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            weights:
                PackedWeights {
                    inputs,
                    outputs,
                    depth,
                    width,
                    numbers,
                },
            rows,
            product,
        } = self;
        let mut rest = numbers.as_slice();
        for block in blocks(*inputs, *depth) {
            let (panels, others) = rest.split_at(outputs.next_multiple_of(*width) * block.len());
            for (at, panel) in panels.chunks_exact(block.len() * width).enumerate() {
                let (panel, _) = S::as_simd_f32s(panel);
                let columns = at * width..(*outputs).min((at + 1) * width);
                let tile = Tile {
                    simd,
                    block: block.clone(),
                    panel,
                    columns,
                };
                let (mut tiles, mut products) = (
                    rows.chunks_exact(ROWS * inputs),
                    product.chunks_exact_mut(ROWS * outputs),
                );
                for (rows, product) in tiles.by_ref().zip(products.by_ref()) {
                    tile.multiply::<ROWS>(rows, product);
                }
                let (rows, product) = (tiles.remainder(), products.into_remainder());
                match rows.len() / inputs {
                    1 => tile.multiply::<1>(rows, product),
                    2 => tile.multiply::<2>(rows, product),
                    3 => tile.multiply::<3>(rows, product),
                    4 => tile.multiply::<4>(rows, product),
                    5 => tile.multiply::<5>(rows, product),
                    _ => {}
                }
            }
            rest = others;
        }
    }
}

/// A block of a panel, with the columns of the product that it contributes to.
struct Tile<'a, S: Simd> {
    simd: S,
    block: Range<usize>,
    panel: &'a [S::f32s],
    columns: Range<usize>,
}

impl<S: Simd> Tile<'_, S> {
    /// Multiplies `COUNT` rows with the panel and adds the results to those of earlier blocks.
    #[inline(always)]
    fn multiply<const COUNT: usize>(&self, rows: &[f32], product: &mut [f32]) {
        let simd = self.simd;
        let (inputs, outputs) = (rows.len() / COUNT, product.len() / COUNT);
        let (len, first) = (self.block.len(), self.block.start == 0);
        let pairs = &self.panel.as_chunks::<2>().0[..len];
        let rows: [&[f32]; COUNT] =
            std::array::from_fn(|row| &rows[row * inputs + self.block.start..][..len]);
        let mut sums = [[simd.splat_f32s(0.0); 2]; COUNT];
        // All slices have the length `len`, so the compiler drops the bounds checks in the loop.
        for at in 0..len {
            let [one, other] = pairs[at];
            for (sums, row) in sums.iter_mut().zip(rows) {
                let number = simd.splat_f32s(row[at]);
                sums[0] = simd.mul_add_e_f32s(number, one, sums[0]);
                sums[1] = simd.mul_add_e_f32s(number, other, sums[1]);
            }
        }
        for (product, sums) in product.chunks_exact_mut(outputs).zip(sums) {
            let columns = &mut product[self.columns.clone()];
            let (whole, _) = S::as_mut_simd_f32s(columns);
            if let [left, right] = whole {
                *left = if first {
                    sums[0]
                } else {
                    simd.add_f32s(*left, sums[0])
                };
                *right = if first {
                    sums[1]
                } else {
                    simd.add_f32s(*right, sums[1])
                };
                continue;
            }
            // The last panel can have padding columns, which are not stored.
            let (left, right) = columns.split_at_mut(columns.len().min(S::F32_LANES));
            for (columns, sum) in [left, right].into_iter().zip(sums) {
                let sum = if first {
                    sum
                } else {
                    simd.add_f32s(simd.partial_load_f32s(columns), sum)
                };
                simd.partial_store_f32s(columns, sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Product, View, multiply};

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(u16::try_from(state >> 16).unwrap()) / 65_536.0 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn agrees_with_the_general_product() {
        for (rows, inputs, outputs) in [
            (1, 1, 1),
            (6, 8, 16),
            (7, 5, 17),
            (13, 400, 40),
            (23, 1_000, 3),
            (0, 4, 4),
        ] {
            let (x, weight) = (numbers(rows * inputs, 1), numbers(outputs * inputs, 2));
            let (mut found, mut expected) =
                (vec![f32::NAN; rows * outputs], vec![0.0; rows * outputs]);
            let packed = PackedWeights::new(&weight, inputs);
            assert_eq!((packed.inputs(), packed.outputs()), (inputs, outputs));
            packed.multiply(&x, &mut found);
            let (left, right) = (
                (&x[..], View::rows(inputs)),
                (&weight[..], View::rows(inputs).transposed()),
            );
            multiply(
                (rows, outputs, inputs),
                Product::plain(),
                left,
                right,
                (&mut expected, View::rows(outputs)),
            );
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() < 1e-4,
                    "{rows} x {inputs} x {outputs}: {found}, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn row_result_does_not_depend_on_other_rows() {
        let (inputs, outputs) = (500, 37);
        let (x, packed) = (
            numbers(11 * inputs, 3),
            PackedWeights::new(&numbers(outputs * inputs, 4), inputs),
        );
        let mut together = vec![0.0; 11 * outputs];
        packed.multiply(&x, &mut together);
        let mut alone = vec![0.0; outputs];
        for (row, together) in x.chunks_exact(inputs).zip(together.chunks_exact(outputs)) {
            packed.multiply(row, &mut alone);
            assert_eq!(alone, together);
        }
    }

    #[test]
    fn handles_empty_weights_and_outputs() {
        PackedWeights::new(&[], 4).multiply(&[1.0; 8], &mut []);
        let mut product = [1.0; 3];
        PackedWeights::new(&[], 0).multiply(&[], &mut product);
        assert_eq!(product, [0.0; 3]);
    }
}
