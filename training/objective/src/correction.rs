//! Correction for tokens that another policy wrote than the one the ratio is anchored to: an older
//! version, or the same weights in other arithmetic.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::Totals;
use crate::batch::{PolicyVersion, Tokens};
use crate::error::{MOST, ObjectiveError, within};
use crate::tensor::{both, bounded_exp, or_else, row_sums, spread};

/// Over what the ratio of the old to the behaviour policy is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// Each token for itself: p_old / p_behaviour.
    Token,
    /// The product over the tokens of the completion: unbiased, of great variance.
    Sequence,
    /// The geometric mean over the tokens of the completion: the product without the effect of
    /// length.
    Geometric,
}

/// What becomes of a ratio beyond the bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// It counts as the bound (truncated importance sampling).
    #[default]
    Truncate,
    /// It counts as 0: the token, or the whole completion, teaches nothing. It still counts in
    /// denominators.
    Drop,
}

/// Completions or tokens that are dropped by a ratio which does not weigh.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The ratio that is looked at.
    pub span: Span,
    /// Least ratio that is kept, from 0 up. Default: 0.
    #[serde(default)]
    pub low: f64,
    /// Greatest ratio that is kept. Default: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// Importance weights w of the old over the behaviour policy (decoupled PPO, arXiv 2110.00641). No
/// gradient passes through them.
///
/// | known as | settings |
/// |---|---|
/// | truncated importance sampling | `weight = "token"` or `"sequence"`, `high = 2` |
/// | IcePop | `weight = "token"`, `low = 0.5`, `high = 5`, `beyond = "drop"` |
/// | decoupled with a mask | `weight = "token"`, `high = 5`, `beyond = "drop"` |
/// | sequence mask with token weights | `weight = "token"`, `gate = { span = "geometric", low = 0.99, high = 1.01 }` |
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// The ratio that weighs. Default: none, every weight is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Span>,
    /// Lower bound, from 0 up. Default: 0.
    #[serde(default)]
    pub low: f64,
    /// Upper bound. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What becomes of a ratio beyond the bounds. Default: `truncate`.
    #[serde(default)]
    pub beyond: Beyond,
    /// Divides by the mean weight of the whole batch: over tokens for weights of tokens, over
    /// completions for others. Default: no.
    #[serde(default)]
    pub normalize: bool,
    /// A second ratio that only drops. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

impl Correction {
    pub(crate) fn is_off(&self) -> bool {
        self.weight.is_none() && self.gate.is_none()
    }

    pub(crate) fn check(&self) -> Result<(), ObjectiveError> {
        within("correction.low", self.low, 0.0..=MOST, "from 0 up")?;
        within(
            "correction.high",
            self.high.unwrap_or(MOST),
            self.low..=MOST,
            "from `low` up",
        )?;
        if let Some(gate) = self.gate {
            within("correction.gate.low", gate.low, 0.0..=MOST, "from 0 up")?;
            within(
                "correction.gate.high",
                gate.high.unwrap_or(MOST),
                gate.low..=MOST,
                "from `low` up",
            )?;
        }
        Ok(())
    }

    /// Weights before normalisation, `[rows, tokens]`, 0 outside of the mask.
    pub(crate) fn weights(&self, tokens: &Tokens<'_>) -> Result<Tensor, ObjectiveError> {
        let delta = tokens
            .recorded(PolicyVersion::Old)?
            .sub(&tokens.recorded(PolicyVersion::Behaviour)?)?;
        let mut weights = match self.weight {
            Some(span) => {
                let ratio = span.ratio(&delta, tokens)?;
                match (self.beyond, self.high) {
                    (Beyond::Truncate, None) => ratio.maximum(self.low)?,
                    (Beyond::Truncate, Some(high)) => ratio.clamp(self.low, high)?,
                    (Beyond::Drop, high) => or_else(&inside(&ratio, self.low, high)?, &ratio, 0.0)?,
                }
            }
            None => delta.ones_like()?,
        };
        if let Some(gate) = self.gate {
            let kept = inside(&gate.span.ratio(&delta, tokens)?, gate.low, gate.high)?;
            weights = or_else(&kept, &weights, 0.0)?;
        }
        Ok(weights.mul(&tokens.mask)?.detach())
    }

    /// Sum of the weights that the normaliser averages.
    pub(crate) fn sum(&self, weights: &Tensor, tokens: &Tokens<'_>) -> candle_core::Result<Tensor> {
        match self.weight {
            Some(Span::Token) | None => weights.sum_all(),
            Some(Span::Sequence | Span::Geometric) => {
                row_sums(weights)?.div(&tokens.lengths)?.sum_all()
            }
        }
    }

    /// How many weights those are.
    pub(crate) fn count(&self, totals: &Totals) -> f64 {
        match self.weight {
            Some(Span::Token) | None => totals.tokens,
            Some(Span::Sequence | Span::Geometric) => totals.rows,
        }
    }
}

impl Span {
    fn ratio(self, delta: &Tensor, tokens: &Tokens<'_>) -> candle_core::Result<Tensor> {
        let log = match self {
            Self::Token => delta.clone(),
            Self::Sequence => spread(&row_sums(delta)?, delta)?,
            Self::Geometric => spread(&row_sums(delta)?.div(&tokens.lengths)?, delta)?,
        };
        bounded_exp(&log)
    }
}

fn inside(ratio: &Tensor, low: f64, high: Option<f64>) -> candle_core::Result<Tensor> {
    let above = ratio.ge(low)?;
    high.map_or(Ok(above.clone()), |high| both(&above, &ratio.le(high)?))
}
