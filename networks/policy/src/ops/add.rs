//! Sums of matrices, and of rows with a bias.

use candle_core::{Result, Tensor};

use super::numbers::{Number, is_fused};
use super::passes::add_to;
use super::tape::{Back, Pass, Tape};

/// `x + scale * y`, for two matrices of one shape.
pub(crate) fn add(x: &Tensor, y: &Tensor, scale: f64, tape: &mut Tape) -> Result<Tensor> {
    if is_fused(x) {
        return tape.run(
            Add {
                scale,
                width: x.dim(1)?,
            },
            &[x, y],
        );
    }
    x + (y * scale)?
}

/// `x` of `[rows, width]` with `bias` of `[width]` added to each row.
pub(crate) fn add_bias(x: &Tensor, bias: &Tensor, tape: &mut Tape) -> Result<Tensor> {
    if is_fused(x) {
        return tape.run(AddBias, &[x, bias]);
    }
    x.broadcast_add(bias)
}

struct Add {
    scale: f64,
    width: usize,
}

impl<T: Number> Pass<T> for Add {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let mut out = inputs[0].to_vec();
        add_to(&mut out, inputs[1], T::narrow(self.scale));
        Ok((out, self.width))
    }

    fn backward(
        &self,
        _: &[&[T]],
        _: &[T],
        gradient: Vec<T>,
        back: &mut Back<'_, T>,
    ) -> Result<()> {
        if back.wants(1) {
            add_to(back.sum(1), &gradient, T::narrow(self.scale));
        }
        back.give(0, gradient);
        Ok(())
    }
}

struct AddBias;

impl<T: Number> Pass<T> for AddBias {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let (mut out, bias) = (inputs[0].to_vec(), inputs[1]);
        for row in out.chunks_exact_mut(bias.len()) {
            row.iter_mut()
                .zip(bias)
                .for_each(|(out, bias)| *out += *bias);
        }
        Ok((out, bias.len()))
    }

    fn backward(
        &self,
        inputs: &[&[T]],
        _: &[T],
        gradient: Vec<T>,
        back: &mut Back<'_, T>,
    ) -> Result<()> {
        if back.wants(1) {
            let sum = back.sum(1);
            for row in gradient.chunks_exact(inputs[1].len()) {
                sum.iter_mut().zip(row).for_each(|(sum, one)| *sum += *one);
            }
        }
        back.give(0, gradient);
        Ok(())
    }
}
