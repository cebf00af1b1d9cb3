//! The product with the head, log-probabilities of tokens and entropies of their distributions, in
//! chunks of rows, so that logits of all rows are never in memory. The backward pass computes the
//! logits of a chunk again, unless there is only one chunk.
//!
//! With logits `l` over the temperature, probabilities `p`, `log Z = log sum exp(l)`, entropy `H =
//! log Z - sum(p l)` and token `t`: `log p_t = l_t - log Z`, `d log p_t / d l_i = [i = t] - p_i`
//! and `d H / d l_i = - p_i (log p_i + H)`.

use std::ops::Range;
use std::sync::Arc;

use assay_kernels::{View, dot, largest, sum, wide};
use candle_core::{DType, Result, Tensor};
use rayon::prelude::*;

use super::fused::{Number, ReadGuard, by_type};
use super::linear::product;
use super::parallel::rows_per_chunk;
use crate::gradients::Gradients;

/// Numbers of the logits of a chunk on a CPU, 128 MiB in `f32`: the products are large enough to
/// hide the passes over the head.
const CPU_CHUNK: usize = 1 << 25;

/// The same on other devices, which need larger operations: 512 MiB in `f32`.
const DEVICE_CHUNK: usize = 1 << 27;

/// Rows of the head whose gradient is computed at a time by composed operations.
pub(crate) const HEAD_ROWS: usize = 1 << 14;

/// Number of rows of a chunk if none is given; at least 1.
pub(crate) fn default_rows(vocabulary: usize, is_cpu: bool) -> usize {
    let numbers = if is_cpu { CPU_CHUNK } else { DEVICE_CHUNK };
    (numbers / vocabulary.max(1)).max(1)
}

/// Which tokens are scored, and how.
#[derive(Debug, Clone)]
pub(crate) struct Vocabulary {
    /// The token of each row.
    pub(crate) tokens: Arc<[u32]>,
    /// 1 / temperature.
    pub(crate) scale: f64,
    /// Rows of a chunk; `None` for a size by the vocabulary.
    pub(crate) rows: Option<usize>,
    /// Computes with operations of candle, on a CPU too.
    pub(crate) composed: bool,
}

/// Log-probabilities and entropies of rows, and what their backward pass requires.
pub(crate) struct ScoredRows {
    /// Log-probabilities, `[rows]`, `f32` or `f64`.
    pub(crate) log_probs: Tensor,
    /// Entropies in nats, `[rows]`.
    pub(crate) entropies: Tensor,
    /// `log Z` of each row.
    log_totals: Tensor,
    /// Logits over the temperature as computed, if they fit in one chunk.
    logits: Option<Logits>,
    hidden: Tensor,
    head: Tensor,
    vocabulary: Vocabulary,
}

/// Logits of a chunk.
enum Logits {
    /// Not divided by the temperature.
    F32(Vec<f32>),
    /// Not divided by the temperature.
    F64(Vec<f64>),
    /// Divided by the temperature.
    Composed(Tensor),
}

/// A number type of logits.
trait LogitsType: Number {
    fn keep(logits: Vec<Self>) -> Logits;
    fn kept(logits: Logits) -> Option<Vec<Self>>;
}

impl LogitsType for f32 {
    fn keep(logits: Vec<Self>) -> Logits {
        Logits::F32(logits)
    }

    fn kept(logits: Logits) -> Option<Vec<Self>> {
        match logits {
            Logits::F32(logits) => Some(logits),
            _ => None,
        }
    }
}

impl LogitsType for f64 {
    fn keep(logits: Vec<Self>) -> Logits {
        Logits::F64(logits)
    }

    fn kept(logits: Logits) -> Option<Vec<Self>> {
        match logits {
            Logits::F64(logits) => Some(logits),
            _ => None,
        }
    }
}

/// Scores the tokens of rows of hidden states, `[rows, hidden]`, by a head of shape `[vocabulary,
/// hidden]`. `keeps` tells whether logits that fit in one chunk are kept for a backward pass.
pub(crate) fn score_rows(
    hidden: &Tensor,
    head: &Tensor,
    vocabulary: Vocabulary,
    keeps: bool,
) -> Result<ScoredRows> {
    let (rows, width) = hidden.dims2()?;
    let (size, same) = head.dims2()?;
    let tokens = &vocabulary.tokens;
    if rows != tokens.len() || width != same || tokens.iter().any(|token| *token as usize >= size) {
        candle_core::bail!(
            "{rows} rows of {width} numbers and a head of {size} x {same} do not match the {} \
             given tokens",
            tokens.len()
        );
    }
    let (hidden, head) = (hidden.detach(), head.detach());
    if vocabulary.composed {
        return composed::score(hidden, head, vocabulary, keeps);
    }
    by_type!(hidden.dtype(), T => score_in::<T>(hidden, head, vocabulary, keeps))
}

impl Vocabulary {
    /// The ranges of rows that are computed at a time.
    fn chunks(&self, vocabulary: usize, is_cpu: bool) -> impl Iterator<Item = Range<usize>> {
        let count = self.tokens.len();
        let rows = self
            .rows
            .unwrap_or_else(|| default_rows(vocabulary, is_cpu))
            .max(1);
        (0..count)
            .step_by(rows)
            .map(move |start| start..(start + rows).min(count))
    }
}

/// `log(sum(exp(l)))` of the scaled logits of a row, the log-probability of a token, and the
/// entropy of the row. `buffer` has the length of the row.
#[inline(always)]
fn scored<T: Number>(logits: &[T], token: u32, scale: T, buffer: &mut [T]) -> [T; 3] {
    let most = largest(logits) * scale;
    buffer
        .iter_mut()
        .zip(logits)
        .for_each(|(out, l)| *out = (*l * scale - most).exponential());
    let total = sum(buffer);
    let log_total = most + T::narrow(total.widen().ln());
    [
        log_total,
        logits[token as usize] * scale - log_total,
        log_total - dot(buffer, logits) / total * scale,
    ]
}

/// Replaces the logits of a row by the gradient by them. `row` has `log Z` and the entropy,
/// `gradient` the gradients by the log-probability and the entropy.
#[inline(always)]
fn differentiate<T: Number>(
    logits: &mut [T],
    token: u32,
    scale: T,
    [log_total, entropy]: [T; 2],
    gradient: [T; 2],
) {
    let [by_log_prob, by_entropy] = gradient.map(|gradient| gradient * scale);
    for l in logits.iter_mut() {
        let log_prob = *l * scale - log_total;
        *l = -log_prob.exponential() * (by_log_prob + by_entropy * (log_prob + entropy));
    }
    logits[token as usize] += by_log_prob;
}

fn score_in<T: LogitsType>(
    hidden: Tensor,
    head: Tensor,
    vocabulary: Vocabulary,
    keeps: bool,
) -> Result<ScoredRows> {
    let ((rows, inner), size) = (hidden.dims2()?, head.dim(0)?);
    let scale = T::narrow(vocabulary.scale);
    let mut out = vec![T::ZERO; 3 * rows];
    let mut logits = Vec::new();
    let mut chunks = 0;
    {
        let (x, w) = (ReadGuard::new(&hidden), ReadGuard::new(&head));
        let (x, w) = (x.slice::<T>()?, w.slice::<T>()?);
        for chunk in vocabulary.chunks(size, true) {
            chunks += 1;
            compute_logits(x, w, chunk.clone(), [inner, size], &mut logits);
            let tokens = &vocabulary.tokens[chunk.clone()];
            let piece = rows_per_chunk(size);
            let pieces = out[3 * chunk.start..3 * chunk.end]
                .par_chunks_mut(3 * piece)
                .zip(logits.par_chunks(piece * size))
                .zip(tokens.par_chunks(piece));
            pieces.for_each_init(
                || vec![T::ZERO; size],
                |buffer, ((out, logits), tokens)| {
                    wide(
                        #[inline(always)]
                        || {
                            let (outs, _) = out.as_chunks_mut::<3>();
                            let rows = outs.iter_mut().zip(logits.chunks_exact(size)).zip(tokens);
                            for ((out, logits), token) in rows {
                                *out = scored(logits, *token, scale, buffer);
                            }
                        },
                    );
                },
            );
        }
    }
    let column = |index: usize| {
        let numbers: Vec<T> = out.iter().skip(index).step_by(3).copied().collect();
        Tensor::from_vec(numbers, rows, hidden.device())
    };
    Ok(ScoredRows {
        log_totals: column(0)?,
        log_probs: column(1)?,
        entropies: column(2)?,
        logits: (keeps && chunks == 1).then(|| T::keep(logits)),
        hidden,
        head,
        vocabulary,
    })
}

/// Writes `x * w^T` of some rows to `logits`.
fn compute_logits<T: Number>(
    x: &[T],
    w: &[T],
    chunk: Range<usize>,
    [inner, size]: [usize; 2],
    logits: &mut Vec<T>,
) {
    logits.resize(chunk.len() * size, T::ZERO);
    product(
        (chunk.len(), size, inner),
        (
            &x[chunk.start * inner..chunk.end * inner],
            View::rows(inner),
        ),
        (w, View::rows(inner).transposed()),
        logits,
        false,
    );
}

impl ScoredRows {
    /// Adds the gradient by the head to its sum if the head is trained, and returns the gradient by
    /// the hidden states. `by` has the gradients by log-probabilities and entropies; one that is
    /// missing is 0.
    pub(crate) fn backward(
        self,
        by: [Option<&Tensor>; 2],
        gradients: &mut Gradients,
        trained: &Tensor,
    ) -> Result<Tensor> {
        if self.vocabulary.composed {
            return composed::backward(self, by, gradients, trained);
        }
        by_type!(self.hidden.dtype(), T => self.backward_in::<T>(by, gradients, trained))
    }

    fn backward_in<T: LogitsType>(
        self,
        by: [Option<&Tensor>; 2],
        gradients: &mut Gradients,
        trained: &Tensor,
    ) -> Result<Tensor> {
        let ((rows, inner), size) = (self.hidden.dims2()?, self.head.dim(0)?);
        let scale = T::narrow(self.vocabulary.scale);
        let numbers = |tensor: Option<&Tensor>| match tensor {
            Some(tensor) => tensor.contiguous()?.to_vec1::<T>(),
            None => Ok(vec![T::ZERO; rows]),
        };
        let [by_log_prob, by_entropy] = by;
        let (by_log_prob, by_entropy) = (numbers(by_log_prob)?, numbers(by_entropy)?);
        let (log_totals, entropies) = (
            numbers(Some(&self.log_totals))?,
            numbers(Some(&self.entropies))?,
        );
        let (x, w) = (ReadGuard::new(&self.hidden), ReadGuard::new(&self.head));
        let (x, w) = (x.slice::<T>()?, w.slice::<T>()?);
        let mut kept = self.logits.and_then(T::kept);
        let mut logits = Vec::new();
        let mut dx = vec![T::ZERO; rows * inner];
        for chunk in self.vocabulary.chunks(size, true) {
            match kept.take() {
                Some(kept) => logits = kept,
                None => compute_logits(x, w, chunk.clone(), [inner, size], &mut logits),
            }
            logits
                .par_chunks_mut(size)
                .zip(chunk.clone())
                .with_min_len(rows_per_chunk(size))
                .for_each(|(logits, row)| {
                    wide(
                        #[inline(always)]
                        || {
                            differentiate(
                                logits,
                                self.vocabulary.tokens[row],
                                scale,
                                [log_totals[row], entropies[row]],
                                [by_log_prob[row], by_entropy[row]],
                            );
                        },
                    );
                });
            let part = chunk.start * inner..chunk.end * inner;
            product(
                (chunk.len(), inner, size),
                (&logits, View::rows(size)),
                (w, View::rows(inner)),
                &mut dx[part.clone()],
                false,
            );
            if gradients.contains(trained) {
                gradients.accumulate::<T>(trained, |sum| {
                    product(
                        (size, inner, chunk.len()),
                        (&logits, View::rows(size).transposed()),
                        (&x[part], View::rows(inner)),
                        sum,
                        true,
                    );
                })?;
            }
        }
        Tensor::from_vec(dx, (rows, inner), self.hidden.device())
    }
}

/// The same, composed of operations of candle, without its differentiation.
mod composed {
    use super::*;

    /// The type in which probabilities are computed.
    fn exact(dtype: DType) -> DType {
        match dtype {
            DType::F64 => DType::F64,
            _ => DType::F32,
        }
    }

    /// Logits over the temperature.
    fn logits(hidden: &Tensor, head: &Tensor, scale: f64) -> Result<Tensor> {
        hidden
            .matmul(&head.t()?)?
            .to_dtype(exact(hidden.dtype()))?
            .affine(scale, 0.0)
    }

    fn tokens(vocabulary: &Vocabulary, chunk: &Range<usize>, like: &Tensor) -> Result<Tensor> {
        let tokens = &vocabulary.tokens[chunk.clone()];
        Tensor::from_slice(tokens, (tokens.len(), 1), like.device())
    }

    pub(super) fn score(
        hidden: Tensor,
        head: Tensor,
        vocabulary: Vocabulary,
        keeps: bool,
    ) -> Result<ScoredRows> {
        let mut parts = [const { Vec::new() }; 3];
        let mut last = None;
        for chunk in vocabulary.chunks(head.dim(0)?, hidden.device().is_cpu()) {
            let x = hidden.narrow(0, chunk.start, chunk.len())?;
            let logits = logits(&x, &head, vocabulary.scale)?;
            let most = logits.max_keepdim(1)?;
            let log_totals = {
                let totals = logits.broadcast_sub(&most)?.exp()?.sum_keepdim(1)?;
                (totals.log()? + most)?
            };
            let chosen = logits.gather(&tokens(&vocabulary, &chunk, &hidden)?, 1)?;
            let means = {
                let probabilities = logits.broadcast_sub(&log_totals)?.exp()?;
                (probabilities * &logits)?.sum_keepdim(1)?
            };
            parts[1].push((chosen - &log_totals)?);
            parts[2].push((&log_totals - means)?);
            parts[0].push(log_totals);
            last = Some(logits);
        }
        let kept = last.filter(|_| keeps && parts[0].len() == 1);
        let [log_totals, log_probs, entropies] =
            parts.map(|parts| Tensor::cat(&parts, 0)?.squeeze(1));
        Ok(ScoredRows {
            log_probs: log_probs?,
            entropies: entropies?,
            log_totals: log_totals?,
            logits: kept.map(Logits::Composed),
            hidden,
            head,
            vocabulary,
        })
    }

    pub(super) fn backward(
        scored: ScoredRows,
        by: [Option<&Tensor>; 2],
        gradients: &mut Gradients,
        trained: &Tensor,
    ) -> Result<Tensor> {
        let ScoredRows {
            entropies,
            log_totals,
            logits: kept,
            hidden,
            head,
            vocabulary,
            ..
        } = scored;
        let mut kept = kept.and_then(|logits| match logits {
            Logits::Composed(logits) => Some(logits),
            _ => None,
        });
        let size = head.dim(0)?;
        let mut dx = Vec::new();
        for chunk in vocabulary.chunks(size, hidden.device().is_cpu()) {
            let column = |tensor: &Tensor| {
                tensor
                    .narrow(0, chunk.start, chunk.len())?
                    .unsqueeze(1)?
                    .contiguous()
            };
            let x = hidden.narrow(0, chunk.start, chunk.len())?;
            let logits = match kept.take() {
                Some(logits) => logits,
                None => logits(&x, &head, vocabulary.scale)?,
            };
            let log_probs = logits.broadcast_sub(&column(&log_totals)?)?;
            drop(logits);
            let probabilities = log_probs.exp()?;
            let [by_log_prob, by_entropy] = by.map(|by| by.map(column).transpose());
            let by_log_prob = by_log_prob?;
            let factors = match by_entropy? {
                None => None,
                Some(by_entropy) => Some(
                    log_probs
                        .broadcast_add(&column(&entropies)?)?
                        .broadcast_mul(&by_entropy)?,
                ),
            };
            drop(log_probs);
            let by_logits = match (factors, &by_log_prob) {
                (None, None) => probabilities.zeros_like()?,
                (None, Some(by)) => probabilities.broadcast_mul(&by.neg()?)?,
                (Some(factors), None) => (&probabilities * factors.neg()?)?,
                (Some(factors), Some(by)) => {
                    (&probabilities * factors.broadcast_add(by)?.neg()?)?
                }
            };
            if let Some(by) = &by_log_prob {
                by_logits.scatter_add_set(&tokens(&vocabulary, &chunk, &hidden)?, by, 1)?;
            }
            drop(probabilities);
            let scaled = by_logits.affine(vocabulary.scale, 0.0)?;
            drop(by_logits);
            let by_logits = scaled.to_dtype(head.dtype())?;
            drop(scaled);
            dx.push(by_logits.matmul(&head)?);
            if gradients.contains(trained) {
                for start in (0..size).step_by(HEAD_ROWS) {
                    let count = HEAD_ROWS.min(size - start);
                    let by_rows = by_logits.narrow(1, start, count)?.t()?.contiguous()?;
                    gradients.add_rows(trained, start, &by_rows.matmul(&x)?)?;
                }
            }
        }
        Tensor::cat(&dx, 0)
    }
}
