//! Rows chosen out of a matrix: embeddings of tokens, states that say something of a scored token.

use candle_core::{Result, Tensor};

use super::numbers::{Held, Number, is_fused};
use super::tape::{Back, Pass, Tape};

/// The rows of `x` that `ids` name, one below the other.
pub(crate) fn rows(x: &Tensor, ids: &Tensor, tape: &mut Tape) -> Result<Tensor> {
    if is_fused(x) {
        return tape.run(
            Rows {
                ids: ids.clone(),
                width: x.dim(1)?,
            },
            &[x],
        );
    }
    x.index_select(ids, 0)
}

struct Rows {
    ids: Tensor,
    width: usize,
}

impl<T: Number> Pass<T> for Rows {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let held = Held::new(&self.ids);
        let ids = held.slice::<u32>()?;
        let mut out = Vec::with_capacity(ids.len() * self.width);
        for id in ids {
            let start = *id as usize * self.width;
            let Some(row) = inputs[0].get(start..start + self.width) else {
                candle_core::bail!(
                    "there is no row {id} among {}",
                    inputs[0].len() / self.width
                )
            };
            out.extend_from_slice(row);
        }
        Ok((out, self.width))
    }

    fn backward(
        &self,
        _: &[&[T]],
        _: &[T],
        gradient: Vec<T>,
        back: &mut Back<'_, T>,
    ) -> Result<()> {
        let held = Held::new(&self.ids);
        let sum = back.sum(0);
        for (id, row) in held
            .slice::<u32>()?
            .iter()
            .zip(gradient.chunks_exact(self.width))
        {
            let sum = &mut sum[*id as usize * self.width..][..self.width];
            sum.iter_mut().zip(row).for_each(|(sum, one)| *sum += *one);
        }
        Ok(())
    }
}
