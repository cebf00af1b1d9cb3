//! Log-probabilities of tokens and entropies of their distributions, without storing the
//! probabilities of all tokens.

use std::sync::Arc;

use assay_kernels::{dot, largest, sum, wide};
use candle_core::{D, Result, Tensor};
use rayon::prelude::*;

use super::fused::{Number, is_fused};
use super::parallel::rows_per_chunk;
use super::tape::{Backward, FusedOp, Tape};

/// For `logits` of shape `[rows, vocabulary]`, returns `[rows, 2]`: the log-probability of the
/// token of each row, and the entropy of the row in nats. Probabilities are the softmax of
/// `logits / temperature`.
pub(crate) fn log_probs(
    logits: &Tensor,
    tokens: &Arc<[u32]>,
    temperature: f64,
    tape: &mut Tape,
) -> Result<Tensor> {
    let (rows, vocabulary) = logits.dims2()?;
    if rows != tokens.len() || tokens.iter().any(|token| *token as usize >= vocabulary) {
        candle_core::bail!(
            "logits of {rows} rows and {vocabulary} tokens do not match the {} given tokens",
            tokens.len()
        );
    }
    if is_fused(logits) {
        return tape.run(
            LogProbs {
                tokens: Arc::clone(tokens),
                scale: 1.0 / temperature,
                vocabulary,
            },
            &[logits],
        );
    }
    let all = candle_nn::ops::log_softmax(&(logits / temperature)?, D::Minus1)?;
    let chosen = all.gather(&Tensor::from_slice(tokens, (rows, 1), logits.device())?, 1)?;
    let entropy = (all.exp()? * &all)?.sum_keepdim(1)?.neg()?;
    Tensor::cat(&[chosen, entropy], 1)
}

struct LogProbs {
    tokens: Arc<[u32]>,
    /// 1 / temperature.
    scale: f64,
    vocabulary: usize,
}

/// Writes `exp(l - max(l))` of the scaled logits `l` of a row to `out`. Returns `log(sum(exp(l)))`
/// and `1 / sum(exp(l - max(l)))`.
#[inline(always)]
fn exponentials<T: Number>(logits: &[T], scale: T, out: &mut [T]) -> (T, T) {
    let most = largest(logits) * scale;
    out.iter_mut()
        .zip(logits)
        .for_each(|(out, l)| *out = (*l * scale - most).exponential());
    let total = sum(out);
    (most + T::narrow(total.widen().ln()), T::ONE / total)
}

/// The log-probability of a token and the entropy of its row, `H = log Z - sum(p l)`. `buffer` has
/// the length of the row.
#[inline(always)]
fn scored<T: Number>(logits: &[T], token: u32, scale: T, buffer: &mut [T]) -> [T; 2] {
    let (log_total, inverse_total) = exponentials(logits, scale, buffer);
    [
        logits[token as usize] * scale - log_total,
        log_total - dot(buffer, logits) * inverse_total * scale,
    ]
}

/// The gradient by the logits `l`. With probabilities `p`, entropy `H` and token `t`: `d log p_t /
/// d l_i = [i = t] - p_i` and `d H / d l_i = - p_i (log p_i + H)`, both times the scale. `output`
/// has the log-probability and the entropy, `gradient` their gradients.
#[inline(always)]
fn differentiated<T: Number>(
    logits: &[T],
    token: u32,
    scale: T,
    [output, gradient]: [&[T]; 2],
    out: &mut [T],
) {
    let (log_total, inverse_total) = exponentials(logits, scale, out);
    let (by_log_prob, by_entropy) = (gradient[0] * scale, gradient[1] * scale);
    for (out, l) in out.iter_mut().zip(logits) {
        let p = *out * inverse_total;
        *out = -p * (by_log_prob + by_entropy * (*l * scale - log_total + output[1]));
    }
    out[token as usize] += by_log_prob;
}

impl<T: Number> FusedOp<T> for LogProbs {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let (width, rows, scale) = (
            self.vocabulary,
            rows_per_chunk(self.vocabulary),
            T::narrow(self.scale),
        );
        let mut out = vec![T::ZERO; 2 * self.tokens.len()];
        let pieces = out
            .par_chunks_mut(2 * rows)
            .zip(inputs[0].par_chunks(rows * width));
        pieces.zip(self.tokens.par_chunks(rows)).for_each_init(
            || vec![T::ZERO; width],
            |buffer, ((out, logits), tokens)| {
                wide(
                    #[inline(always)]
                    || {
                        let rows = out
                            .chunks_exact_mut(2)
                            .zip(logits.chunks_exact(width))
                            .zip(tokens);
                        for ((out, logits), token) in rows {
                            out.copy_from_slice(&scored(logits, *token, scale, buffer));
                        }
                    },
                );
            },
        );
        Ok((out, 2))
    }

    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()> {
        let (width, rows, scale) = (
            self.vocabulary,
            rows_per_chunk(self.vocabulary),
            T::narrow(self.scale),
        );
        let mut dlogits = vec![T::ZERO; backward.inputs[0].len()];
        let pieces = dlogits
            .par_chunks_mut(rows * width)
            .zip(backward.inputs[0].par_chunks(rows * width));
        let sides = backward
            .out
            .par_chunks(2 * rows)
            .zip(gradient.par_chunks(2 * rows))
            .zip(self.tokens.par_chunks(rows));
        pieces
            .zip(sides)
            .for_each(|((out, logits), ((output, gradient), tokens))| {
                wide(
                    #[inline(always)]
                    || {
                        let rows = out
                            .chunks_exact_mut(width)
                            .zip(logits.chunks_exact(width))
                            .zip(tokens);
                        let sides = output.chunks_exact(2).zip(gradient.chunks_exact(2));
                        for (((out, logits), token), (output, gradient)) in rows.zip(sides) {
                            differentiated(logits, *token, scale, [output, gradient], out);
                        }
                    },
                );
            });
        backward.add(0, dlogits);
        Ok(())
    }
}
