//! Computes the totals of a batch.

use std::collections::BTreeMap;

use candle_core::DType;

use crate::batch::{Batch, Tokens};
use crate::demonstrations::Demonstrations;
use crate::tensor::number;
use crate::{Objective, ObjectiveError, Totals};

impl Objective {
    /// Denominators and normalisers of a whole batch.
    ///
    /// # Errors
    /// The batch lacks a required tensor, or a tensor has the wrong shape.
    pub fn totals(&self, batch: &Batch) -> Result<Totals, ObjectiveError> {
        let all = Tokens::new(batch, DType::F64)?;
        let tokens = policy_tokens(self, &all)?;
        let lengths: Vec<f64> = tokens.mask.sum(1)?.to_vec1()?;
        let live = |length: &&f64| **length > 0.0;
        let mut totals = Totals {
            tokens: lengths.iter().sum(),
            rows: lengths.iter().filter(live).map(|_| 1.0).sum(),
            imitated: number(&all.mask.sum_all()?.sub(&tokens.mask.sum_all()?)?)?,
            width: width(&tokens),
            entropy_threshold: None,
            mean_weight: None,
            groups: BTreeMap::new(),
        };
        for (group, _) in batch
            .groups
            .iter()
            .zip(&lengths)
            .filter(|(_, length)| live(length))
        {
            *totals.groups.entry(*group).or_default() += 1;
        }
        if let Some(share) = self.masks.top_entropy {
            let entropies = tokens.entropy()?.flatten_all()?.to_vec1::<f64>()?;
            let mask = tokens.mask.flatten_all()?.to_vec1::<f64>()?;
            let selected = entropies
                .into_iter()
                .zip(mask)
                .filter(|(_, mask)| *mask > 0.0)
                .map(|(entropy, _)| entropy);
            totals.entropy_threshold = Some(quantile(selected.collect(), 1.0 - share));
        }
        if self.correction.normalize {
            let weights = self.correction.weights(&tokens)?;
            let sum = number(&self.correction.sum(&weights, &tokens)?)?;
            totals.mean_weight = Some((sum / self.correction.count(&totals).max(1.0)).max(1e-8));
        }
        Ok(totals)
    }
}

/// The tokens of the policy loss: all except those of imitated demonstrations.
pub(crate) fn policy_tokens<'a>(
    objective: &Objective,
    all: &Tokens<'a>,
) -> Result<Tokens<'a>, ObjectiveError> {
    let keep = match objective.demonstrations {
        Demonstrations::Imitated { .. } => {
            let marked = all.row_values("demonstrations", all.batch().demonstrations.as_ref())?;
            crate::tensor::broadcast_column(&marked, &all.mask)?.eq(0.0)?
        }
        _ => all.live.clone(),
    };
    all.only(&keep)
}

fn width(tokens: &Tokens<'_>) -> f64 {
    tokens.shape().1 as f64
}

/// Quantile with linear interpolation between order statistics (definition 7 of Hyndman and Fan
/// 1996, doi 10.1080/00031305.1996.10473566); infinity for an empty list.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    // A position in a list, from 0 to its length.
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else {
        return f64::INFINITY;
    };
    let position = share.clamp(0.0, 1.0) * last as f64;
    let at = |index: usize| {
        values
            .get(index.min(last))
            .copied()
            .unwrap_or(f64::INFINITY)
    };
    let below = position.floor() as usize;
    at(below) + (position - position.floor()) * (at(below + 1) - at(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_quantiles() {
        // Of 1, 2, 4 at 0.75: position 1.5, halfway from 2 to 4.
        assert!((quantile(vec![4.0, 1.0, 2.0], 0.75) - 3.0).abs() < 1e-12);
        assert!((quantile(vec![4.0, 1.0, 2.0], 1.0) - 4.0).abs() < 1e-12);
        assert!((quantile(vec![4.0], 0.3) - 4.0).abs() < 1e-12);
        assert!(quantile(vec![], 0.5).is_infinite());
    }
}
