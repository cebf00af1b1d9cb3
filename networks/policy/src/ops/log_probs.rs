//! Log-probabilities of chosen tokens and the entropy they were chosen under, without a table of probabilities being kept.

use std::sync::Arc;

use assay_kernels::{largest, sum};
use candle_core::{CpuStorage, CustomOp1, D, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::norm::x_type;
use super::numbers::{Held, Number, by_type, is_fused, slice, tensor};

/// Rows one thread takes at a time.
const ROWS: usize = 16;

/// For `logits` of `[rows, vocabulary]`: the natural logarithm of the probability of each row's token, and the entropy of the row
/// in nats, as `[rows, 2]`. Probabilities are the softmax of `logits / temperature`.
pub(crate) fn log_probs(logits: &Tensor, tokens: &Arc<[u32]>, temperature: f64) -> Result<Tensor> {
    let (rows, vocabulary) = logits.dims2()?;
    if rows != tokens.len() || tokens.iter().any(|token| *token as usize >= vocabulary) {
        candle_core::bail!("{rows} rows over {vocabulary} tokens do not fit the {} tokens chosen", tokens.len());
    }
    if is_fused(logits) {
        return logits.contiguous()?.apply_op1(LogProbs { tokens: Arc::clone(tokens), scale: 1.0 / temperature });
    }
    let all = candle_nn::ops::log_softmax(&(logits / temperature)?, D::Minus1)?;
    let chosen = all.gather(&Tensor::from_slice(tokens, (rows, 1), logits.device())?, 1)?;
    let entropy = (all.exp()? * &all)?.sum_keepdim(1)?.neg()?;
    Tensor::cat(&[chosen, entropy], 1)
}

struct LogProbs {
    tokens: Arc<[u32]>,
    /// One over the temperature.
    scale: f64,
}

/// Writes `exp(l - most)` of the scaled logits `l` of a row; says the logarithm of the sum of `exp(l)`, and `1 / sum(exp(l - most))`.
fn shares<T: Number>(logits: &[T], scale: T, out: &mut [T]) -> (T, T) {
    let most = largest(logits) * scale;
    out.iter_mut().zip(logits).for_each(|(out, l)| *out = *l * scale - most);
    T::exponentials(out);
    let total = sum(out);
    (most + T::narrow(total.widen().ln()), T::ONE / total)
}

impl LogProbs {
    fn forward<T: Number>(&self, logits: &[T], vocabulary: usize) -> Vec<T> {
        let scale = T::narrow(self.scale);
        let mut out = vec![T::ZERO; 2 * self.tokens.len()];
        let chunks = out.par_chunks_mut(2 * ROWS).zip(logits.par_chunks(ROWS * vocabulary));
        chunks.zip(self.tokens.par_chunks(ROWS)).for_each_init(
            || vec![T::ZERO; vocabulary],
            |buffer, ((out, logits), tokens)| {
                let rows = out.chunks_exact_mut(2).zip(logits.chunks_exact(vocabulary)).zip(tokens);
                for ((out, logits), token) in rows {
                    let (total, share) = shares(logits, scale, buffer);
                    out[0] = logits[*token as usize] * scale - total;
                    // H = log Z - sum(p l).
                    out[1] = total - assay_kernels::dot(buffer, logits) * share * scale;
                }
            },
        );
        out
    }

    /// With `p` the probabilities, `H` the entropy and `t` the token: `d log p_t / d l_i = [i = t] - p_i` and
    /// `d H / d l_i = - p_i (log p_i + H)`, both times the scale.
    fn backward<T: Number>(&self, logits: &[T], found: &[T], grad: &[T], vocabulary: usize) -> Vec<T> {
        let scale = T::narrow(self.scale);
        let mut out = vec![T::ZERO; logits.len()];
        let chunks = out.par_chunks_mut(ROWS * vocabulary).zip(logits.par_chunks(ROWS * vocabulary));
        let sides = found.par_chunks(2 * ROWS).zip(grad.par_chunks(2 * ROWS)).zip(self.tokens.par_chunks(ROWS));
        chunks.zip(sides).for_each(|((out, logits), ((found, grad), tokens))| {
            let rows = out.chunks_exact_mut(vocabulary).zip(logits.chunks_exact(vocabulary)).zip(tokens);
            let sides = found.chunks_exact(2).zip(grad.chunks_exact(2));
            for (((out, logits), token), (found, grad)) in rows.zip(sides) {
                let (total, share) = shares(logits, scale, out);
                let (of_log, of_entropy) = (grad[0] * scale, grad[1] * scale);
                for (out, l) in out.iter_mut().zip(logits) {
                    let p = *out * share;
                    *out = -p * (of_log + of_entropy * (*l * scale - total + found[1]));
                }
                out[*token as usize] += of_log;
            }
        });
        out
    }
}

impl CustomOp1 for LogProbs {
    fn name(&self) -> &'static str {
        "log-probs"
    }

    fn cpu_fwd(&self, logits: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, vocabulary) = layout.shape().dims2()?;
        by_type!(x_type(logits), T => {
            let out = self.forward::<T>(slice(logits, layout)?, vocabulary);
            Ok((<T as candle_core::WithDType>::to_cpu_storage_owned(out), Shape::from((rows, 2))))
        })
    }

    fn bwd(&self, logits: &Tensor, found: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (_, vocabulary) = logits.dims2()?;
        let grad = grad.contiguous()?;
        by_type!(logits.dtype(), T => {
            let (ls, fs, gs) = (Held::new(logits), Held::new(found), Held::new(&grad));
            Ok(Some(tensor(self.backward::<T>(ls.slice()?, fs.slice()?, gs.slice()?, vocabulary), logits)?))
        })
    }
}
