//! Selection of rows of a matrix: embeddings of tokens, hidden states of scored tokens.

use candle_core::{Result, Tensor};

use super::fused::{Number, ReadGuard};
use super::tape::{Backward, FusedOp, Tape};

/// The rows of `x` with the indices `ids`.
pub(crate) fn rows(x: &Tensor, ids: &Tensor, tape: &mut Tape) -> Result<Tensor> {
    if tape.fuses(x) {
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

impl<T: Number> FusedOp<T> for Rows {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let guard = ReadGuard::new(&self.ids);
        let ids = guard.slice::<u32>()?;
        let mut out = Vec::with_capacity(ids.len() * self.width);
        for id in ids {
            let start = *id as usize * self.width;
            let Some(row) = inputs[0].get(start..start + self.width) else {
                let rows = inputs[0].len() / self.width;
                candle_core::bail!("row {id} is out of range for {rows} rows")
            };
            out.extend_from_slice(row);
        }
        Ok((out, self.width))
    }

    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        let guard = ReadGuard::new(&self.ids);
        let ids = guard.slice::<u32>()?;
        backward.accumulate(0, |sum| {
            for (id, row) in ids.iter().zip(gradient.chunks_exact(self.width)) {
                let sum = &mut sum[*id as usize * self.width..][..self.width];
                sum.iter_mut().zip(row).for_each(|(sum, one)| *sum += *one);
            }
        })
    }
}
