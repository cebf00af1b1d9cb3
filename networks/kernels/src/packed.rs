//! Weights laid out once for many products.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

/// Rows of a tile: with two registers of columns each, their sums and what is multiplied fit
/// sixteen registers.
const ROWS: usize = 6;

/// Numbers of a row and of a panel that are multiplied before the next panel, so that both stay in
/// the first cache.
const DEPTH: usize = 384;

/// A weight of `[out, in]` in panels: two registers of neighbouring outputs at a time, input after
/// input, which is the order a product reads them in.
///
/// A general product brings a weight into this order each time. Where the same weights meet few
/// rows many times, as they do when text is written token by token, that is a good part of its
/// work.
#[derive(Debug)]
pub struct PackedWeights {
    inputs: usize,
    outputs: usize,
    /// Inputs of a block.
    depth: usize,
    /// Outputs of a panel.
    width: usize,
    /// By block, by panel, by input, by output; the last panel is filled up with zeros.
    numbers: Vec<f32>,
}

impl PackedWeights {
    /// Rows of which a worker should have a multiple.
    pub const ROWS: usize = ROWS;

    /// Lays out a weight whose rows are as long as there are inputs.
    ///
    /// # Panics
    /// When the rows are not whole, which is a slip of the caller's.
    #[must_use]
    pub fn new(weight: &[f32], inputs: usize) -> Self {
        let outputs = weight.len().checked_div(inputs).unwrap_or(0);
        assert!(
            weight.len() == outputs * inputs,
            "{} numbers are no rows of {inputs}",
            weight.len()
        );
        let width = Arch::new().dispatch(Width);
        // Blocks of equal size instead of a short one at the end.
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

    /// Numbers of a row that is multiplied.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Numbers of a row of the product.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Rows of [`inputs`](Self::inputs) numbers times the transpose of the weight, into rows of
    /// [`outputs`](Self::outputs).
    ///
    /// Each number is summed over the inputs in their order, whatever rows lie beside it.
    ///
    /// # Panics
    /// When there are not as many rows of the product as rows, or they are not whole, which is a
    /// slip of the caller's.
    pub fn multiply(&self, rows: &[f32], product: &mut [f32]) {
        if self.inputs == 0 || self.outputs == 0 {
            return product.fill(0.0);
        }
        let count = rows.len() / self.inputs;
        assert!(
            rows.len() == count * self.inputs,
            "the last row is not whole"
        );
        assert!(
            product.len() == count * self.outputs,
            "the product has other rows"
        );
        Arch::new().dispatch(Multiply {
            panels: self,
            rows,
            product,
        });
    }
}

/// Inputs, block by block.
fn blocks(inputs: usize, depth: usize) -> impl Iterator<Item = Range<usize>> {
    (0..inputs)
        .step_by(depth)
        .map(move |start| start..inputs.min(start + depth))
}

/// Numbers of two registers.
struct Width;

impl WithSimd for Width {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        2 * S::F32_LANES
    }
}

struct Multiply<'a> {
    panels: &'a PackedWeights,
    rows: &'a [f32],
    product: &'a mut [f32],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            panels:
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

/// A block of a panel, and the columns of the product it belongs to.
struct Tile<'a, S: Simd> {
    simd: S,
    block: Range<usize>,
    panel: &'a [S::f32s],
    columns: Range<usize>,
}

impl<S: Simd> Tile<'_, S> {
    /// `COUNT` rows times the panel, added to what earlier blocks gave.
    #[inline(always)]
    fn multiply<const COUNT: usize>(&self, rows: &[f32], product: &mut [f32]) {
        let simd = self.simd;
        let (inputs, outputs) = (rows.len() / COUNT, product.len() / COUNT);
        let (len, first) = (self.block.len(), self.block.start == 0);
        let pairs = &self.panel.as_chunks::<2>().0[..len];
        let rows: [&[f32]; COUNT] =
            std::array::from_fn(|row| &rows[row * inputs + self.block.start..][..len]);
        let mut sums = [[simd.splat_f32s(0.0); 2]; COUNT];
        // All are `len` long, so nothing is checked in the loop.
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
            // The last panel has columns that the weight has not.
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
    fn panels_give_the_product() {
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
            let panels = PackedWeights::new(&weight, inputs);
            assert_eq!((panels.inputs(), panels.outputs()), (inputs, outputs));
            panels.multiply(&x, &mut found);
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
                    "{rows} x {inputs} x {outputs}: {found} for {expected}"
                );
            }
        }
    }

    #[test]
    fn a_row_does_not_depend_on_those_beside_it() {
        let (inputs, outputs) = (500, 37);
        let (x, panels) = (
            numbers(11 * inputs, 3),
            PackedWeights::new(&numbers(outputs * inputs, 4), inputs),
        );
        let mut together = vec![0.0; 11 * outputs];
        panels.multiply(&x, &mut together);
        let mut alone = vec![0.0; outputs];
        for (row, together) in x.chunks_exact(inputs).zip(together.chunks_exact(outputs)) {
            panels.multiply(row, &mut alone);
            assert_eq!(alone, together);
        }
    }

    #[test]
    fn nothing_times_nothing_is_nothing() {
        PackedWeights::new(&[], 4).multiply(&[1.0; 8], &mut []);
        let mut product = [1.0; 3];
        PackedWeights::new(&[], 0).multiply(&[], &mut product);
        assert_eq!(product, [0.0; 3]);
    }
}
