//! Log-probabilities of chosen tokens and the entropy they were chosen under, without a table of
//! probabilities being kept.

use std::sync::Arc;

use assay_kernels::{dot, largest, sum, wide};
use candle_core::{D, Result, Tensor};
use rayon::prelude::*;

use super::numbers::{Number, is_fused};
use super::passes::rows_of;
use super::tape::{Back, Pass, Tape};

/// For `logits` of `[rows, vocabulary]`: the natural logarithm of the probability of each row's
/// token, and the entropy of the row in nats, as `[rows, 2]`. Probabilities are the softmax of
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
            "{rows} rows over {vocabulary} tokens do not fit the {} tokens chosen",
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
    /// One over the temperature.
    scale: f64,
    vocabulary: usize,
}

/// Writes `exp(l - most)` of the scaled logits `l` of a row; says the logarithm of the sum of
/// `exp(l)`, and `1 / sum(exp(l - most))`.
#[inline(always)]
fn shares<T: Number>(logits: &[T], scale: T, out: &mut [T]) -> (T, T) {
    let most = largest(logits) * scale;
    out.iter_mut()
        .zip(logits)
        .for_each(|(out, l)| *out = (*l * scale - most).exponential());
    let total = sum(out);
    (most + T::narrow(total.widen().ln()), T::ONE / total)
}

/// The log-probability of a token and the entropy of its row, `H = log Z - sum(p l)`. `buffer` is
/// as long as the row.
#[inline(always)]
fn scored<T: Number>(logits: &[T], token: u32, scale: T, buffer: &mut [T]) -> [T; 2] {
    let (total, share) = shares(logits, scale, buffer);
    [
        logits[token as usize] * scale - total,
        total - dot(buffer, logits) * share * scale,
    ]
}

/// With `p` the probabilities, `H` the entropy and `t` the token: `d log p_t / d l_i = [i = t] -
/// p_i` and `d H / d l_i = - p_i (log p_i + H)`, both times the scale. `found` and `gradient` have
/// the log-probability and the entropy.
#[inline(always)]
fn differentiated<T: Number>(
    logits: &[T],
    token: u32,
    scale: T,
    [found, gradient]: [&[T]; 2],
    out: &mut [T],
) {
    let (total, share) = shares(logits, scale, out);
    let (of_log, of_entropy) = (gradient[0] * scale, gradient[1] * scale);
    for (out, l) in out.iter_mut().zip(logits) {
        let p = *out * share;
        *out = -p * (of_log + of_entropy * (*l * scale - total + found[1]));
    }
    out[token as usize] += of_log;
}

impl<T: Number> Pass<T> for LogProbs {
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)> {
        let (width, rows, scale) = (
            self.vocabulary,
            rows_of(self.vocabulary),
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

    fn backward(
        &self,
        inputs: &[&[T]],
        found: &[T],
        gradient: Vec<T>,
        back: &mut Back<'_, T>,
    ) -> Result<()> {
        let (width, rows, scale) = (
            self.vocabulary,
            rows_of(self.vocabulary),
            T::narrow(self.scale),
        );
        let mut dlogits = vec![T::ZERO; inputs[0].len()];
        let pieces = dlogits
            .par_chunks_mut(rows * width)
            .zip(inputs[0].par_chunks(rows * width));
        let sides = found
            .par_chunks(2 * rows)
            .zip(gradient.par_chunks(2 * rows))
            .zip(self.tokens.par_chunks(rows));
        pieces
            .zip(sides)
            .for_each(|((out, logits), ((found, gradient), tokens))| {
                wide(
                    #[inline(always)]
                    || {
                        let rows = out
                            .chunks_exact_mut(width)
                            .zip(logits.chunks_exact(width))
                            .zip(tokens);
                        let sides = found.chunks_exact(2).zip(gradient.chunks_exact(2));
                        for (((out, logits), token), (found, gradient)) in rows.zip(sides) {
                            differentiated(logits, *token, scale, [found, gradient], out);
                        }
                    },
                );
            });
        back.give(0, dlogits);
        Ok(())
    }
}
