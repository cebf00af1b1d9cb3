//! Tokens excluded from the policy gradient. Penalties and denominators still include them.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::Totals;
use crate::batch::{PolicyVersion, Tokens};
use crate::error::{MAX_PARAMETER, ObjectiveError, check_range};
use crate::tensor::{both, broadcast_column, either, row_sums};

/// Off-policy sequence masking (DeepSeek-V3.2, arXiv 2512.02556, section 3.1): excludes completions
/// with a negative advantage for which the mean over tokens of log p_from - log p exceeds the
/// threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffPolicy {
    /// In nats per token.
    pub threshold: f64,
    /// The policy p_from. Default: `behaviour`, which covers both staleness and differences in
    /// arithmetic; `old` covers staleness only.
    #[serde(default = "behaviour")]
    pub from: PolicyVersion,
}

fn behaviour() -> PolicyVersion {
    PolicyVersion::Behaviour
}

/// Masks on the policy gradient. Void turns need no mask here: [`Batch::mask`](crate::Batch) is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Masks {
    /// Keeps only this share of the tokens, in (0, 1\]: those with the highest entropy (arXiv
    /// 2506.01939). The threshold is a quantile of the recorded entropies of the whole batch.
    /// Default: keeps all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_entropy: Option<f64>,
    /// Excludes stale completions with a negative advantage. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_policy: Option<OffPolicy>,
}

impl Masks {
    pub(crate) fn check(&self) -> Result<(), ObjectiveError> {
        if let Some(share) = self.top_entropy {
            check_range(
                "masks.top_entropy",
                share,
                f64::MIN_POSITIVE..=1.0,
                "above 0 and at most 1",
            )?;
        }
        match self.off_policy {
            Some(mask) => check_range(
                "masks.off_policy.threshold",
                mask.threshold,
                -MAX_PARAMETER..=MAX_PARAMETER,
                "a finite number",
            ),
            None => Ok(()),
        }
    }

    /// 1 for every token that is kept, as `u8`; `None` if all are.
    pub(crate) fn keep(
        &self,
        logp: &Tensor,
        tokens: &Tokens<'_>,
        totals: &Totals,
    ) -> Result<Option<Tensor>, ObjectiveError> {
        let mut keep = None;
        if let Some(threshold) = totals.entropy_threshold {
            keep = Some(tokens.entropy()?.ge(threshold)?);
        }
        if let Some(mask) = self.off_policy {
            let from = tokens.recorded(mask.from)?;
            let drift = row_sums(&from.sub(&logp.detach())?)?.div(&tokens.lengths)?;
            let near = broadcast_column(&drift, logp)?.le(mask.threshold)?;
            let kept = either(&tokens.advantages.ge(0.0)?, &near)?;
            keep = Some(keep.map_or(Ok(kept.clone()), |keep: Tensor| both(&keep, &kept))?);
        }
        Ok(keep)
    }
}
