//! The loss of PACS (arXiv 2509.02522): the score is the label of a binary classification whose
//! logit is computed from the change of the completion's log-probability.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::batch::Tokens;
use crate::error::ObjectiveError;
use crate::tensor::row_sums;
use crate::{Batch, Totals};

/// How the implicit reward of a completion is compared with those of its group (PACS, arXiv
/// 2509.02522).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// The reward minus the mean of the others.
    #[default]
    LeaveOneOut,
    /// (reward - mean) / (unbiased standard deviation + 1e-6).
    ZScore,
    /// The reward itself.
    None,
}

/// The groups of a micro-batch, from which matrices are built that compute sums over a group.
struct Members {
    rows: usize,
    /// For each row, the rows of its group that have tokens; empty if the row has none.
    peers: Vec<Vec<usize>>,
}

impl Members {
    fn new(batch: &Batch, live: &[bool], totals: &Totals) -> Result<Self, ObjectiveError> {
        if batch.groups.len() != live.len() {
            return Err(ObjectiveError::Missing("groups"));
        }
        let mut peers = Vec::with_capacity(live.len());
        for (group, row_is_live) in batch.groups.iter().zip(live) {
            let members = batch
                .groups
                .iter()
                .zip(live)
                .enumerate()
                .filter(|(_, (other, live))| *other == group && **live);
            let members: Vec<usize> = members.map(|(row, _)| row).collect();
            if *row_is_live && totals.groups.get(group) != Some(&members.len()) {
                return Err(ObjectiveError::CutGroup(*group));
            }
            peers.push(if *row_is_live { members } else { Vec::new() });
        }
        Ok(Self {
            rows: live.len(),
            peers,
        })
    }

    /// The matrix with entry `weight(i, j, size of the group)` for row i and its peer j, else 0.
    fn matrix(
        &self,
        like: &Tensor,
        weight: impl Fn(usize, usize, f64) -> f64,
    ) -> candle_core::Result<Tensor> {
        let mut entries = vec![0.0; self.rows * self.rows];
        for (row, peers) in self.peers.iter().enumerate() {
            let size = peers.len() as f64;
            for peer in peers {
                if let Some(entry) = entries.get_mut(row * self.rows + peer) {
                    *entry = weight(row, *peer, size);
                }
            }
        }
        Tensor::from_vec(entries, (self.rows, self.rows), like.device())?.to_dtype(like.dtype())
    }
}

/// The part of a micro-batch in the mean over completions of the binary cross-entropy. `log_ratio`
/// is `[rows, tokens]`, with its graph.
pub(crate) fn loss(
    log_ratio: &Tensor,
    tokens: &Tokens<'_>,
    totals: &Totals,
    (beta, comparison, balanced): (f64, Comparison, bool),
) -> Result<Tensor, ObjectiveError> {
    let batch = tokens.batch();
    let scores = tokens.row_values("scores", batch.scores.as_ref())?.detach();
    let live: Vec<bool> = tokens
        .live
        .max(1)?
        .to_vec1::<u8>()?
        .into_iter()
        .map(|live| live > 0)
        .collect();
    let members = Members::new(batch, &live, totals)?;
    let reward = row_sums(log_ratio)?.affine(beta, 0.0)?;
    let logits = match comparison {
        Comparison::None => reward,
        Comparison::LeaveOneOut => {
            let others = |row, peer, size: f64| if row == peer { 0.0 } else { 1.0 / (size - 1.0) };
            reward.sub(&members.matrix(&reward, others)?.matmul(&reward)?)?
        }
        Comparison::ZScore => {
            let centred = reward.sub(
                &members
                    .matrix(&reward, |_, _, size| 1.0 / size)?
                    .matmul(&reward)?,
            )?;
            let spread = members
                .matrix(&reward, |_, _, size| 1.0 / (size - 1.0).max(1.0))?
                .matmul(&centred.sqr()?)?;
            // 1e-24 keeps the gradient of the root finite when all rewards of the group are equal.
            centred.div(&spread.affine(1.0, 1e-24)?.sqrt()?.affine(1.0, 1e-6)?)?
        }
    };
    // log(1 + e^x) - x y, computed from -|x| so that the exponential cannot overflow.
    let sign = logits.detach().ge(0.0)?.to_dtype(logits.dtype())?;
    let size = logits.mul(&sign.affine(2.0, -1.0)?)?;
    let soft = size.neg()?.exp()?.affine(1.0, 1.0)?.log()?;
    let loss = soft.add(&logits.mul(&sign)?)?.sub(&logits.mul(&scores)?)?;
    let weights = weights(&members, &live, &scores, balanced)?;
    Ok((loss.mul(&weights)?.sum_all()? / totals.rows.max(1.0))?)
}

/// Weight of each row: 0 for rows without tokens, else 1. If `balanced` and the group has both
/// labels: members / (2 * members with the same label).
fn weights(
    members: &Members,
    live: &[bool],
    scores: &Tensor,
    balanced: bool,
) -> candle_core::Result<Tensor> {
    let right: Vec<bool> = scores
        .gt(0.5)?
        .flatten_all()?
        .to_vec1::<u8>()?
        .into_iter()
        .map(|right| right > 0)
        .collect();
    let label = |row: usize| right.get(row).copied().unwrap_or_default();
    let weight = |(row, live): (usize, &bool)| {
        let peers = members.peers.get(row).map_or(&[][..], Vec::as_slice);
        let same = peers
            .iter()
            .filter(|peer| label(**peer) == label(row))
            .count();
        match (*live, balanced && same < peers.len()) {
            (false, _) => 0.0,
            (true, false) => 1.0,
            (true, true) => peers.len() as f64 / (2.0 * same as f64),
        }
    };
    let weights: Vec<f64> = live.iter().enumerate().map(weight).collect();
    Tensor::from_vec(weights, (live.len(), 1), scores.device())?.to_dtype(scores.dtype())
}
