//! Reduction of token losses to one number.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::Totals;
use crate::batch::Tokens;
use crate::error::{MAX_PARAMETER, ObjectiveError, check_range};
use crate::tensor::row_sums;

/// Aggregation of token losses x over the tokens of the mask. Denominators are those of the whole
/// batch ([`Totals`]), are at least 1, and include tokens that a
/// [`Correction`](crate::Correction) or [`Masks`](crate::Masks) exclude.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Aggregation {
    /// Sum of x / number of tokens of the batch (DAPO, arXiv 2503.14476, equation 12).
    TokenMean {},
    /// Sum of x, for callers that normalise themselves.
    TokenSum {},
    /// Mean over completions of the mean of x (GRPO, arXiv 2402.03300, equation 3). Rows without
    /// tokens are not counted.
    SeqMeanTokenMean {},
    /// Mean over completions of the sum of x. With a sequence-level ratio, this weights each
    /// completion by its length (LUSPO, arXiv 2602.05261).
    SeqMeanTokenSum {},
    /// Mean over completions of the sum of x, divided by a constant length (Dr. GRPO, arXiv
    /// 2503.20783, section 3.2).
    SeqMeanTokenSumNorm {
        /// The constant in tokens, above 0; usually the longest completion allowed. Default: the
        /// width of the batch, which is constant only if every batch is padded to the same width.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<f64>,
    },
}

impl Aggregation {
    pub(crate) fn check(self) -> Result<(), ObjectiveError> {
        match self {
            Self::SeqMeanTokenSumNorm {
                length: Some(length),
            } => check_range(
                "aggregation.length",
                length,
                f64::MIN_POSITIVE..=MAX_PARAMETER,
                "above 0",
            ),
            _ => Ok(()),
        }
    }

    /// The part of this micro-batch in the aggregate of the whole batch: a scalar.
    pub(crate) fn aggregate(
        self,
        x: &Tensor,
        tokens: &Tokens<'_>,
        totals: &Totals,
    ) -> candle_core::Result<Tensor> {
        let x = x.mul(&tokens.mask)?;
        let (sum, denominator) = match self {
            Self::TokenMean {} => (x.sum_all()?, totals.tokens.max(1.0)),
            Self::TokenSum {} => (x.sum_all()?, 1.0),
            Self::SeqMeanTokenMean {} => (
                row_sums(&x)?.div(&tokens.lengths)?.sum_all()?,
                totals.rows.max(1.0),
            ),
            Self::SeqMeanTokenSum {} => (x.sum_all()?, totals.rows.max(1.0)),
            Self::SeqMeanTokenSumNorm { length } => (
                x.sum_all()?,
                totals.rows.max(1.0) * length.unwrap_or(totals.width).max(1.0),
            ),
        };
        sum / denominator
    }
}
