//! One training step: updates from completions with advantages. Independent of the service and of
//! texts.

use anyhow::Context;
use assay_objective::{Batch, Current, Metrics, Objective, Totals, staleness};
use assay_policy_model::optimiser::{AdamW, StepSummary};
use assay_policy_model::{Entropies, Gradients, Graph, PolicyModel, Scored, Text, TokenBatch};
use candle_core::{DType, Tensor};

/// A completion with the data for training.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Tokens of the prompt.
    pub prompt: Vec<u32>,
    /// Tokens of the completion; at least one.
    pub completion: Vec<u32>,
    /// Log-probability of each token when it was generated.
    pub behaviour: Vec<f32>,
    /// Whether each token of the completion is trained; `None` if all are.
    pub mask: Option<Vec<bool>>,
    /// Advantage of the completion, or of each of its tokens.
    pub advantages: Vec<f64>,
    /// Its group; rows of a group are contiguous.
    pub group: usize,
    /// Its score, for objectives that use scores.
    pub score: f64,
}

impl Row {
    /// 1 for each token that is trained, 0 for others.
    fn weights(&self) -> Vec<f32> {
        match &self.mask {
            Some(mask) => mask.iter().map(|one| f32::from(u8::from(*one))).collect(),
            None => vec![1.0; self.completion.len()],
        }
    }
}

/// How a step is split into updates and micro-batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepLayout {
    /// Passes over the rows.
    pub epochs: usize,
    /// Updates per pass.
    pub minibatches: usize,
    /// Maximum number of tokens per micro-batch.
    pub micro_tokens: usize,
    /// See [`Training::effective_share`](crate::config::Training::effective_share).
    pub effective_share: Option<f64>,
}

/// The policy model and the objective of a step.
pub struct Learner<'a> {
    /// The policy model.
    pub policy: &'a PolicyModel,
    /// The reference policy, if the objective requires one.
    pub reference: Option<&'a PolicyModel>,
    /// The objective.
    pub objective: &'a Objective,
    /// Temperature of log-probabilities.
    pub temperature: f64,
}

/// Result of a step.
#[derive(Debug, Clone, Default)]
pub struct StepResult {
    /// Metrics of the loss.
    pub metrics: Metrics,
    /// Summaries of the updates.
    pub updates: Vec<StepSummary>,
    /// Factor of the learning rate for staleness; 1 if there is none.
    pub rate_scale: f64,
}

/// Recorded log-probabilities and entropies of all rows.
#[derive(Default)]
struct Recorded {
    old: Option<Vec<Vec<f32>>>,
    entropy: Option<Vec<Vec<f32>>>,
    reference: Option<Vec<Vec<f32>>>,
}

impl Learner<'_> {
    /// Trains on rows. `gradients` are sums of gradients of the parameters of the policy model.
    /// `fresh` is true if the policy model has not changed since the rows were generated.
    ///
    /// # Errors
    /// The rows do not match the policy model or the objective, or the device is out of memory.
    pub fn step(
        &self,
        (optimiser, gradients): (&mut AdamW, &mut Gradients),
        rows: &[Row],
        rate: f64,
        layout: StepLayout,
        fresh: bool,
    ) -> anyhow::Result<StepResult> {
        let mut result = StepResult {
            rate_scale: 1.0,
            ..StepResult::default()
        };
        if rows.is_empty() {
            return Ok(result);
        }
        let recorded = self.record(rows, layout)?;
        if let Some(base) = layout.effective_share.filter(|_| !fresh) {
            result.rate_scale =
                staleness::learning_rate_scale(&self.log_ratios(rows, &recorded, layout)?, base);
        }
        let minibatches = split_by_groups(rows, layout.minibatches);
        for _ in 0..layout.epochs {
            for minibatch in &minibatches {
                let metrics =
                    self.differentiate(rows, minibatch.clone(), &recorded, layout, gradients)?;
                result.metrics.merge(&metrics);
                result
                    .updates
                    .push(optimiser.step(gradients.tensors(), rate * result.rate_scale)?);
            }
        }
        Ok(result)
    }

    /// Writes the gradients of the loss of some rows, summed over micro-batches, to `gradients`.
    fn differentiate(
        &self,
        rows: &[Row],
        range: std::ops::Range<usize>,
        recorded: &Recorded,
        layout: StepLayout,
        gradients: &mut Gradients,
    ) -> anyhow::Result<Metrics> {
        let whole = self.batch(rows, range.clone(), recorded)?;
        let totals = self.objective.totals(&whole)?;
        let mut metrics = Metrics::default();
        gradients.clear()?;
        for micro_batch in self.micro_batches(rows, range.clone(), layout.micro_tokens) {
            let batch = whole.rows(micro_batch.start - range.start, micro_batch.len())?;
            let (loss, graph) = self.loss(&rows[micro_batch], batch, &totals, &mut metrics)?;
            graph.backward(&loss, gradients)?;
        }
        Ok(metrics)
    }

    fn loss(
        &self,
        rows: &[Row],
        mut batch: Batch,
        totals: &Totals,
        metrics: &mut Metrics,
    ) -> anyhow::Result<(Tensor, Graph)> {
        let texts = self.texts(rows)?;
        let which = if self.objective.required_inputs().entropy {
            Entropies::Differentiated
        } else {
            Entropies::Measured
        };
        let Scored {
            log_probs,
            entropies,
            graph,
        } = self.policy.score(&texts, self.temperature, which)?;
        let width = batch.mask.dim(1)?;
        let logp = padded(&log_probs, texts.lengths(), width)?;
        if batch.old.is_none() {
            batch.old = Some(logp.detach());
        }
        let entropy = padded(&entropies, texts.lengths(), width)?;
        let loss = self.objective.loss(
            &Current {
                logp,
                entropy: Some(entropy),
            },
            &batch,
            totals,
        )?;
        metrics.merge(&loss.metrics);
        Ok((loss.loss, graph))
    }

    fn texts(&self, rows: &[Row]) -> anyhow::Result<TokenBatch> {
        let texts: Vec<Text<'_>> = rows
            .iter()
            .map(|row| Text {
                prompt: &row.prompt,
                completion: &row.completion,
            })
            .collect();
        Ok(TokenBatch::new(
            &texts,
            self.policy.vocabulary(),
            self.policy.device(),
        )?)
    }

    /// Records log-probabilities of the old policy and of the reference, if the objective requires
    /// them. With a single update, the old policy equals the current one, and its log-probabilities
    /// are required in advance only for values over the whole batch.
    fn record(&self, rows: &[Row], layout: StepLayout) -> anyhow::Result<Recorded> {
        let required = self.objective.required_inputs();
        let several = layout.epochs * layout.minibatches > 1 || layout.effective_share.is_some();
        let mut recorded = Recorded::default();
        if required.recorded_entropy || (required.old && (several || required.behaviour)) {
            let (old, entropy) = self.scores(self.policy, rows, layout)?;
            (recorded.old, recorded.entropy) = (Some(old), Some(entropy));
        }
        if required.reference {
            let reference = self
                .reference
                .context("the objective requires a reference, which is missing")?;
            recorded.reference = Some(self.scores(reference, rows, layout)?.0);
        }
        Ok(recorded)
    }

    /// Log-probabilities and entropies of all rows under a policy, without a graph.
    #[expect(clippy::type_complexity, reason = "two lists of rows")]
    fn scores(
        &self,
        policy: &PolicyModel,
        rows: &[Row],
        layout: StepLayout,
    ) -> anyhow::Result<(Vec<Vec<f32>>, Vec<Vec<f32>>)> {
        let (mut old, mut entropy) = (
            Vec::with_capacity(rows.len()),
            Vec::with_capacity(rows.len()),
        );
        for micro_batch in self.micro_batches(rows, 0..rows.len(), layout.micro_tokens) {
            let texts = self.texts(&rows[micro_batch])?;
            let scored = policy.score_only(&texts, self.temperature)?;
            for (tensor, out) in [
                (scored.log_probs, &mut old),
                (scored.entropies, &mut entropy),
            ] {
                let numbers = tensor.to_dtype(DType::F32)?.to_vec1::<f32>()?;
                let mut rest = numbers.as_slice();
                for length in texts.lengths() {
                    let (row, others) = rest.split_at(*length);
                    out.push(row.to_vec());
                    rest = others;
                }
            }
        }
        Ok((old, entropy))
    }

    /// Logarithms of the importance ratios of whole completions: old policy / behaviour policy.
    fn log_ratios(
        &self,
        rows: &[Row],
        recorded: &Recorded,
        layout: StepLayout,
    ) -> anyhow::Result<Vec<Option<f64>>> {
        let own;
        let old = match &recorded.old {
            Some(old) => old,
            None => {
                own = self.scores(self.policy, rows, layout)?.0;
                &own
            }
        };
        let ratio = |(row, old): (&Row, &Vec<f32>)| {
            let sum: f64 = old
                .iter()
                .zip(&row.behaviour)
                .zip(row.weights())
                .filter(|(_, weight)| *weight > 0.0)
                .map(|((old, behaviour), _)| f64::from(*old) - f64::from(*behaviour))
                .sum();
            Some(sum)
        };
        Ok(rows.iter().zip(old).map(ratio).collect())
    }

    /// The recorded data of some rows as a batch.
    fn batch(
        &self,
        rows: &[Row],
        range: std::ops::Range<usize>,
        recorded: &Recorded,
    ) -> anyhow::Result<Batch> {
        let part = &rows[range.clone()];
        let width = part
            .iter()
            .map(|row| row.completion.len())
            .max()
            .unwrap_or_default();
        let device = self.policy.device();
        let table = |row_values: &dyn Fn(usize) -> Vec<f32>| -> anyhow::Result<Tensor> {
            let mut numbers = Vec::with_capacity(part.len() * width);
            for index in 0..part.len() {
                let mut row = row_values(index);
                row.resize(width, 0.0);
                numbers.extend(row);
            }
            Ok(Tensor::from_vec(numbers, (part.len(), width), device)?)
        };
        // Advantages become the type of the loss.
        let advantages = table(&|index| {
            let row = &part[index];
            match row.advantages.as_slice() {
                [advantage] => vec![*advantage as f32; row.completion.len()],
                advantages => advantages
                    .iter()
                    .map(|advantage| *advantage as f32)
                    .collect(),
            }
        })?;
        let mut batch = Batch::new(table(&|index| part[index].weights())?, advantages);
        batch.behaviour = Some(table(&|index| part[index].behaviour.clone())?);
        let record = |rows: &Option<Vec<Vec<f32>>>| {
            rows.as_ref()
                .map(|rows| table(&|index| rows[range.start + index].clone()))
                .transpose()
        };
        batch.old = record(&recorded.old)?;
        batch.entropy = record(&recorded.entropy)?;
        batch.reference = record(&recorded.reference)?;
        let scores: Vec<f64> = part.iter().map(|row| row.score).collect();
        batch.scores = Some(Tensor::from_vec(scores, part.len(), device)?.to_dtype(DType::F32)?);
        batch.groups = part.iter().map(|row| row.group).collect();
        Ok(batch)
    }

    /// Splits rows into micro-batches of at most `tokens` tokens, or of one longer row. Groups are
    /// not split if the objective compares their members.
    fn micro_batches(
        &self,
        rows: &[Row],
        range: std::ops::Range<usize>,
        tokens: usize,
    ) -> Vec<std::ops::Range<usize>> {
        let whole_groups = self.objective.required_inputs().scores;
        let (mut micro_batches, mut start, mut size) = (Vec::new(), range.start, 0);
        let mut next = range.start;
        while next < range.end {
            let mut end = next + 1;
            while whole_groups && end < range.end && rows[end].group == rows[next].group {
                end += 1;
            }
            let added: usize = rows[next..end]
                .iter()
                .map(|row| row.prompt.len() + row.completion.len())
                .sum();
            if size > 0 && size + added > tokens {
                micro_batches.push(start..next);
                (start, size) = (next, 0);
            }
            size += added;
            next = end;
        }
        if start < range.end {
            micro_batches.push(start..range.end);
        }
        micro_batches
    }
}

/// Splits rows between groups into at most `parts` non-empty parts of similar size.
fn split_by_groups(rows: &[Row], parts: usize) -> Vec<std::ops::Range<usize>> {
    let borders: Vec<usize> = (1..rows.len())
        .filter(|index| rows[*index].group != rows[index - 1].group)
        .chain([rows.len()])
        .collect();
    let (mut ranges, mut start) = (Vec::with_capacity(parts), 0);
    for part in 1..=parts {
        let target = rows.len() * part / parts;
        let end = borders
            .iter()
            .copied()
            .find(|border| *border >= target)
            .unwrap_or(rows.len());
        if end > start {
            ranges.push(start..end);
            start = end;
        }
    }
    ranges
}

/// Pads concatenated rows with zeros to `[rows, width]`; gradients flow through.
fn padded(flat: &Tensor, lengths: &[usize], width: usize) -> anyhow::Result<Tensor> {
    let zero = Tensor::zeros(1, flat.dtype(), flat.device())?;
    let padding = u32::try_from(flat.dim(0)?)?;
    let mut indices = Vec::with_capacity(lengths.len() * width);
    let mut start = 0u32;
    for length in lengths {
        let length = u32::try_from(*length)?;
        indices.extend(start..start + length);
        indices.resize(indices.len() + width - length as usize, padding);
        start += length;
    }
    let count = indices.len();
    let indices = Tensor::from_vec(indices, count, flat.device())?;
    Ok(Tensor::cat(&[flat, &zero], 0)?
        .index_select(&indices, 0)?
        .reshape((lengths.len(), width))?)
}
