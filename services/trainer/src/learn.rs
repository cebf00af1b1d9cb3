//! One step of learning: completions with their advantages to smaller losses. Knows no service and
//! no prompt's text.

use std::collections::BTreeMap;

use anyhow::Context;
use assay_objective::{Batch, Current, Metrics, Objective, Totals, staleness};
use assay_policy::optimiser::{AdamW, StepFacts};
use assay_policy::{Batch as Texts, Graph, PolicyModel, Scored, Text};
use candle_core::{DType, Tensor};

/// A completion as it is learned from.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Tokens of the prompt.
    pub prompt: Vec<u32>,
    /// Tokens of the completion; at least one.
    pub completion: Vec<u32>,
    /// Log-probability of each token of the completion when it was written.
    pub behaviour: Vec<f32>,
    /// Advantage of the completion, or of each of its tokens.
    pub advantages: Vec<f64>,
    /// Its group: rows of one group follow each other.
    pub group: usize,
    /// Its score, where the objective compares scores.
    pub score: f64,
}

/// How a step is cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pieces {
    /// Times the rows are gone through.
    pub epochs: usize,
    /// Updates in one pass.
    pub minibatches: usize,
    /// Tokens whose graph is held at a time.
    pub micro_tokens: usize,
    /// As [`Training::effective_share`](crate::config::Training::effective_share).
    pub effective_share: Option<f64>,
}

/// What learns, and towards what.
pub struct Learner<'a> {
    /// The policy.
    pub policy: &'a PolicyModel,
    /// The policy the objective stays near, where it asks for one.
    pub reference: Option<&'a PolicyModel>,
    /// What is minimised.
    pub objective: &'a Objective,
    /// Temperature the log-probabilities are taken under.
    pub temperature: f64,
}

/// What a step did.
#[derive(Debug, Clone, Default)]
pub struct Learned {
    /// Numbers of the loss.
    pub metrics: Metrics,
    /// Updates, with what each did.
    pub updates: Vec<StepFacts>,
    /// Factor the learning rate had for staleness; 1 without.
    pub rate_scale: f64,
}

/// What recorded policies say of all rows, row by row.
#[derive(Default)]
struct Recorded {
    old: Option<Vec<Vec<f32>>>,
    entropy: Option<Vec<Vec<f32>>>,
    reference: Option<Vec<Vec<f32>>>,
}

impl Learner<'_> {
    /// Learns from rows. `fresh` says that the policy has not changed since they were written.
    ///
    /// # Errors
    /// The rows do not fit the policy or the objective, no room on the device.
    pub fn step(
        &self,
        optimiser: &mut AdamW,
        rows: &[Row],
        rate: f64,
        pieces: Pieces,
        fresh: bool,
    ) -> anyhow::Result<Learned> {
        let mut learned = Learned {
            rate_scale: 1.0,
            ..Learned::default()
        };
        if rows.is_empty() {
            return Ok(learned);
        }
        let recorded = self.record(rows, pieces)?;
        if let Some(base) = pieces.effective_share.filter(|_| !fresh) {
            learned.rate_scale =
                staleness::learning_rate_scale(&self.ratios(rows, &recorded, pieces)?, base);
        }
        let minibatches = by_groups(rows, pieces.minibatches);
        for _ in 0..pieces.epochs {
            for minibatch in &minibatches {
                let (gradients, metrics) =
                    self.gradients(rows, minibatch.clone(), &recorded, pieces)?;
                learned.metrics.merge(&metrics);
                learned
                    .updates
                    .push(optimiser.step(&gradients, rate * learned.rate_scale)?);
            }
        }
        Ok(learned)
    }

    /// Gradients of the loss of some rows, summed over pieces.
    fn gradients(
        &self,
        rows: &[Row],
        range: std::ops::Range<usize>,
        recorded: &Recorded,
        pieces: Pieces,
    ) -> anyhow::Result<(BTreeMap<String, Tensor>, Metrics)> {
        let whole = self.batch(rows, range.clone(), recorded)?;
        let totals = self.objective.totals(&whole)?;
        let mut sums: BTreeMap<String, Tensor> = BTreeMap::new();
        let mut metrics = Metrics::default();
        for piece in self.cut(rows, range.clone(), pieces.micro_tokens) {
            let batch = whole.rows(piece.start - range.start, piece.len())?;
            let (loss, graph) = self.loss(&rows[piece], batch, &totals, &mut metrics)?;
            add_gradients(self.policy, &loss, graph, &mut sums)?;
        }
        Ok((sums, metrics))
    }

    fn loss(
        &self,
        rows: &[Row],
        mut batch: Batch,
        totals: &Totals,
        metrics: &mut Metrics,
    ) -> anyhow::Result<(Tensor, Graph)> {
        let texts = self.texts(rows)?;
        let Scored {
            log_probs,
            entropies,
            graph,
        } = self.policy.score(&texts, self.temperature)?;
        let width = batch.mask.dim(1)?;
        let logp = padded(&log_probs, texts.lengths(), width)?;
        if batch.old.is_none() {
            batch.old = Some(logp.detach());
        }
        let entropy = padded(&entropies, texts.lengths(), width)?;
        // A part of the graph nobody asks for would be differentiated for nothing.
        let entropy = if self.objective.needs().entropy {
            entropy
        } else {
            entropy.detach()
        };
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

    fn texts(&self, rows: &[Row]) -> anyhow::Result<Texts> {
        let texts: Vec<Text<'_>> = rows
            .iter()
            .map(|row| Text {
                prompt: &row.prompt,
                completion: &row.completion,
            })
            .collect();
        Ok(Texts::new(
            &texts,
            self.policy.vocabulary(),
            self.policy.device(),
        )?)
    }

    /// What the policy before this step and the reference say, where the objective asks. A single
    /// update needs no record of the policy before it but for what is weighed over the whole batch.
    fn record(&self, rows: &[Row], pieces: Pieces) -> anyhow::Result<Recorded> {
        let needs = self.objective.needs();
        let several = pieces.epochs * pieces.minibatches > 1 || pieces.effective_share.is_some();
        let mut recorded = Recorded::default();
        if needs.recorded_entropy || (needs.old && (several || needs.behaviour)) {
            let (old, entropy) = self.scores(self.policy, rows, pieces)?;
            (recorded.old, recorded.entropy) = (Some(old), Some(entropy));
        }
        if needs.reference {
            let reference = self
                .reference
                .context("the objective asks for a reference, and there is none")?;
            recorded.reference = Some(self.scores(reference, rows, pieces)?.0);
        }
        Ok(recorded)
    }

    /// Log-probabilities and entropies of every row by a policy, without a graph.
    #[expect(clippy::type_complexity, reason = "two lists of rows")]
    fn scores(
        &self,
        by: &PolicyModel,
        rows: &[Row],
        pieces: Pieces,
    ) -> anyhow::Result<(Vec<Vec<f32>>, Vec<Vec<f32>>)> {
        let (mut old, mut entropy) = (
            Vec::with_capacity(rows.len()),
            Vec::with_capacity(rows.len()),
        );
        for piece in self.cut(rows, 0..rows.len(), pieces.micro_tokens) {
            let texts = self.texts(&rows[piece])?;
            let scored = by.score_only(&texts, self.temperature)?;
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

    /// Importance ratios of whole completions between the policy before this step and the one that
    /// wrote them.
    fn ratios(
        &self,
        rows: &[Row],
        recorded: &Recorded,
        pieces: Pieces,
    ) -> anyhow::Result<Vec<Option<f64>>> {
        let own;
        let old = match &recorded.old {
            Some(old) => old,
            None => {
                own = self.scores(self.policy, rows, pieces)?.0;
                &own
            }
        };
        let ratio = |(row, old): (&Row, &Vec<f32>)| {
            let sum: f64 = old
                .iter()
                .zip(&row.behaviour)
                .map(|(old, then)| f64::from(*old) - f64::from(*then))
                .sum();
            Some(sum.exp())
        };
        Ok(rows.iter().zip(old).map(ratio).collect())
    }

    /// The batch of some rows, without the policy in training.
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
        let table = |of: &dyn Fn(usize) -> Vec<f32>| -> anyhow::Result<Tensor> {
            let mut numbers = Vec::with_capacity(part.len() * width);
            for at in 0..part.len() {
                let mut row = of(at);
                row.resize(width, 0.0);
                numbers.extend(row);
            }
            Ok(Tensor::from_vec(numbers, (part.len(), width), device)?)
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "advantages become the type of the loss"
        )]
        let advantages = table(&|at| {
            let row = &part[at];
            match row.advantages.as_slice() {
                [one] => vec![*one as f32; row.completion.len()],
                many => many.iter().map(|one| *one as f32).collect(),
            }
        })?;
        let mut batch = Batch::new(
            table(&|at| vec![1.0; part[at].completion.len()])?,
            advantages,
        );
        batch.behaviour = Some(table(&|at| part[at].behaviour.clone())?);
        let record = |of: &Option<Vec<Vec<f32>>>| {
            of.as_ref()
                .map(|of| table(&|at| of[range.start + at].clone()))
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

    /// Pieces of at most so many tokens, or of one row that has more; of whole groups where the
    /// objective compares their members.
    fn cut(
        &self,
        rows: &[Row],
        range: std::ops::Range<usize>,
        tokens: usize,
    ) -> Vec<std::ops::Range<usize>> {
        let whole = self.objective.needs().scores;
        let (mut pieces, mut start, mut held) = (Vec::new(), range.start, 0);
        let mut at = range.start;
        while at < range.end {
            let mut end = at + 1;
            while whole && end < range.end && rows[end].group == rows[at].group {
                end += 1;
            }
            let more: usize = rows[at..end]
                .iter()
                .map(|row| row.prompt.len() + row.completion.len())
                .sum();
            if held > 0 && held + more > tokens {
                pieces.push(start..at);
                (start, held) = (at, 0);
            }
            held += more;
            at = end;
        }
        if start < range.end {
            pieces.push(start..range.end);
        }
        pieces
    }
}

/// Adds the gradients of a loss to sums by the names of the parameters; `graph` says how the
/// policy's part of it came about.
///
/// # Errors
/// The loss does not depend on a parameter.
pub fn add_gradients(
    policy: &PolicyModel,
    loss: &Tensor,
    graph: Graph,
    sums: &mut BTreeMap<String, Tensor>,
) -> anyhow::Result<()> {
    let mut gradients = graph.backward(loss)?;
    for (name, var) in policy.parameters() {
        let gradient = gradients
            .remove(var)
            .with_context(|| format!("`{name}` has no gradient"))?;
        let sum = match sums.remove(name) {
            Some(sum) => (sum + gradient)?,
            None => gradient,
        };
        sums.insert(name.clone(), sum.detach());
    }
    Ok(())
}

/// So many parts of about as many rows, none of them empty, cut between groups.
fn by_groups(rows: &[Row], parts: usize) -> Vec<std::ops::Range<usize>> {
    let borders: Vec<usize> = (1..rows.len())
        .filter(|at| rows[*at].group != rows[at - 1].group)
        .chain([rows.len()])
        .collect();
    let (mut found, mut start) = (Vec::with_capacity(parts), 0);
    for part in 1..=parts {
        let aim = rows.len() * part / parts;
        let end = borders
            .iter()
            .copied()
            .find(|border| *border >= aim)
            .unwrap_or(rows.len());
        if end > start {
            found.push(start..end);
            start = end;
        }
    }
    found
}

/// One row behind the other to `[rows, width]`, 0 behind the end of each; the graph goes along.
fn padded(flat: &Tensor, lengths: &[usize], width: usize) -> anyhow::Result<Tensor> {
    let zero = Tensor::zeros(1, flat.dtype(), flat.device())?;
    let none = u32::try_from(flat.dim(0)?)?;
    let mut places = Vec::with_capacity(lengths.len() * width);
    let mut start = 0u32;
    for length in lengths {
        let length = u32::try_from(*length)?;
        places.extend(start..start + length);
        places.resize(places.len() + width - length as usize, none);
        start += length;
    }
    let count = places.len();
    let places = Tensor::from_vec(places, count, flat.device())?;
    Ok(Tensor::cat(&[flat, &zero], 0)?
        .index_select(&places, 0)?
        .reshape((lengths.len(), width))?)
}
