//! Surrogates f of the policy gradient: the loss of a token is -(advantage * f).
//!
//! Below, r is the importance ratio at the level of the objective, l the log-probability of the
//! token, A its advantage, and sg(x) is x without its gradient (stop-gradient).

mod rule;
mod rules;

use serde::{Deserialize, Serialize};

use crate::error::{MAX_PARAMETER, ObjectiveError, check_range};
use crate::pacs::Comparison;
use crate::tensor::{both, constant, or_else};
use rules::{clipped, dynamic_bounds, geometric, sequence_gamma, trust_region};

pub use rule::{Divergence, Side, Through};
pub(crate) use rule::{RuleInputs, RuleResult};

/// The surrogate f. Bounds of `ppo`, `gppo` and `dcpo` are distances from 1; those of `cispo` are
/// ratios.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case", deny_unknown_fields)]
pub enum Surrogate {
    /// r, clipped at 1 + `high` for A > 0 and at 1 - `low` for A < 0, without a gradient beyond the
    /// bound (PPO, arXiv 1707.06347, equation 7; separate bounds from DAPO, arXiv 2503.14476,
    /// equation 10).
    Ppo {
        /// In \[0, 1\].
        #[serde(default = "fifth")]
        low: f64,
        /// At least 0.
        #[serde(default = "fifth")]
        high: f64,
        /// Largest r for A < 0 (dual clip, arXiv 1912.09729; "delta" of two-sided clipping, arXiv
        /// 2505.07291), at least 1 + `high`. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dual: Option<f64>,
    },
    /// The value of `ppo`, with the gradient of bound * r / sg(r) beyond the bounds (GPPO, arXiv
    /// 2508.07629). There is no gradient beyond `dual`.
    Gppo {
        /// In \[0, 1\].
        #[serde(default = "fifth")]
        low: f64,
        /// At least 0.
        #[serde(default = "fifth")]
        high: f64,
        /// As in `ppo`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dual: Option<f64>,
    },
    /// sg(clip(r, `low`, `high`)) l (CISPO, arXiv 2506.13585, equation 4).
    Cispo {
        /// Smallest ratio, at least 0. Default: 0, which disables the bound.
        #[serde(default)]
        low: f64,
        /// Largest ratio.
        high: f64,
    },
    /// `ppo` with bounds that depend on the probability p of the token under the anchor, and are
    /// wider for a small p: the upper bound is (1 + sqrt(1 + 4 `high` / p)) / 2 and at most `cap`,
    /// the lower bound (1 + sqrt(max(0, 1 - 4 `low` / p))) / 2 (DCPO, arXiv 2509.02333).
    Dcpo {
        /// At least 0; 0.16 in the paper.
        low: f64,
        /// At least 0; 0.2 in the paper.
        high: f64,
        /// Largest ratio for either sign of A, at least 1; 10 in the paper.
        cap: f64,
    },
    /// 4 / t sigmoid(t (r - 1)), with t = `positive` for A > 0 and `negative` otherwise (SAPO,
    /// arXiv 2511.20347).
    Sapo {
        /// Above 0; 1 in the paper.
        positive: f64,
        /// Above 0; 1.05 in the paper.
        negative: f64,
    },
    /// r or sg(r) l inside a trust region around the anchor's probability, 0 outside (DPPO, arXiv
    /// 2602.04879).
    TrustRegion {
        /// The divergence that is bounded.
        divergence: Divergence,
        /// Default: `pushed`.
        #[serde(default)]
        side: Side,
        /// Bound for tokens that became less probable, at least 0.
        low: f64,
        /// Bound for tokens that became more probable, at least 0.
        high: f64,
        /// Largest r in sg(r). Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<f64>,
        /// Default: `log_probability`.
        #[serde(default)]
        through: Through,
    },
    /// sg(w^k e^(lambda (1 - w))) l, where w is the product of the token ratios of the completion
    /// (VESPO, arXiv 2602.10693).
    Vespo {
        /// k and lambda for A >= 0; 2 and 3 in the paper.
        positive: [f64; 2],
        /// k and lambda for A < 0; 3 and 2 in the paper.
        negative: [f64; 2],
    },
    /// l / (1 + temperature): the policy gradient itself (Williams 1992, doi 10.1007/BF00992696);
    /// with a temperature, online policy mirror descent (OPMD, arXiv 2505.17826).
    Reinforce {
        /// At least 0. Default: 0.
        #[serde(default)]
        temperature: f64,
    },
    /// exp of the mean over the completion of the tokens' log r, each limited to at most `high` for
    /// A > 0 and to at least -`low` for A < 0 (GMPO, arXiv 2507.20673). For advantages of rows.
    Gmpo {
        /// In nats, at least 0.
        low: f64,
        /// In nats, at least 0.
        high: f64,
    },
    /// No token surrogate: the implicit reward, `beta` times the sum of log r over the completion,
    /// predicts the score (PACS, arXiv 2509.02522). The loss is the mean over completions of the
    /// binary cross-entropy between the score and sigmoid(implicit reward compared by
    /// `comparison`).
    Pacs {
        /// Above 0; 1 in the paper.
        beta: f64,
        /// How the implicit reward is compared with its group. Default: `leave_one_out`.
        #[serde(default)]
        comparison: Comparison,
        /// Weights rows so that right and wrong ones have equal total weight in each group that has
        /// both. Default: false.
        #[serde(default)]
        balanced: bool,
    },
}

fn fifth() -> f64 {
    0.2
}

impl Surrogate {
    pub(crate) fn check(self) -> Result<(), ObjectiveError> {
        let positive =
            |name, value| check_range(name, value, f64::MIN_POSITIVE..=MAX_PARAMETER, "above 0");
        let non_negative =
            |name, value| check_range(name, value, 0.0..=MAX_PARAMETER, "at least 0");
        match self {
            Self::Ppo { low, high, dual } | Self::Gppo { low, high, dual } => {
                check_range("surrogate.low", low, 0.0..=1.0, "between 0 and 1")?;
                non_negative("surrogate.high", high)?;
                check_range(
                    "surrogate.dual",
                    dual.unwrap_or(MAX_PARAMETER),
                    1.0 + high..=MAX_PARAMETER,
                    "at least 1 + `high`",
                )
            }
            Self::Cispo { low, high } => {
                non_negative("surrogate.low", low)?;
                check_range(
                    "surrogate.high",
                    high,
                    low..=MAX_PARAMETER,
                    "at least `low`",
                )
            }
            Self::Dcpo { low, high, cap } => {
                non_negative("surrogate.low", low)?;
                non_negative("surrogate.high", high)?;
                check_range("surrogate.cap", cap, 1.0..=MAX_PARAMETER, "at least 1")
            }
            Self::Sapo {
                positive: up,
                negative,
            } => {
                positive("surrogate.positive", up)?;
                positive("surrogate.negative", negative)
            }
            Self::TrustRegion { low, high, cap, .. } => {
                non_negative("surrogate.low", low)?;
                non_negative("surrogate.high", high)?;
                positive("surrogate.cap", cap.unwrap_or(MAX_PARAMETER))
            }
            Self::Vespo {
                positive: up,
                negative,
            } => {
                up.into_iter()
                    .try_for_each(|value| non_negative("surrogate.positive", value))?;
                negative
                    .into_iter()
                    .try_for_each(|value| non_negative("surrogate.negative", value))
            }
            Self::Reinforce { temperature } => non_negative("surrogate.temperature", temperature),
            Self::Gmpo { low, high } => {
                non_negative("surrogate.low", low)?;
                non_negative("surrogate.high", high)
            }
            Self::Pacs { beta, .. } => positive("surrogate.beta", beta),
        }
    }

    /// The surrogate of every token; `None` for `pacs`, which has no token surrogate.
    pub(crate) fn apply(self, inputs: &RuleInputs<'_>) -> candle_core::Result<Option<RuleResult>> {
        let &RuleInputs {
            tokens,
            logp,
            ratio,
            ..
        } = inputs;
        let none = || tokens.live.zeros_like();
        let plain = |surrogate| {
            Ok(Some(RuleResult {
                surrogate,
                low: none()?,
                high: none()?,
                dual: none()?,
            }))
        };
        match self {
            Self::Ppo { low, high, dual } => {
                let (low, high) = (constant(ratio, 1.0 - low)?, constant(ratio, 1.0 + high)?);
                clipped(inputs, &low, &high, dual, false).map(Some)
            }
            Self::Gppo { low, high, dual } => {
                let (low, high) = (constant(ratio, 1.0 - low)?, constant(ratio, 1.0 + high)?);
                clipped(inputs, &low, &high, dual, true).map(Some)
            }
            Self::Dcpo { low, high, cap } => {
                let (low, high) = dynamic_bounds(inputs.anchor, low, high, cap)?;
                clipped(inputs, &low, &high, Some(cap), false).map(Some)
            }
            Self::Cispo { low, high } => {
                let weight = ratio.detach();
                let (up, down) = (tokens.advantages.gt(0.0)?, tokens.advantages.lt(0.0)?);
                Ok(Some(RuleResult {
                    surrogate: weight.clamp(low, high)?.mul(logp)?,
                    low: both(&weight.lt(low)?, &down)?,
                    high: both(&weight.gt(high)?, &up)?,
                    dual: both(&weight.gt(high)?, &down)?,
                }))
            }
            Self::Sapo { positive, negative } => {
                let up = tokens.advantages.gt(0.0)?;
                let heat = or_else(&up, &constant(ratio, positive)?, negative)?;
                let gate = ratio
                    .affine(1.0, -1.0)?
                    .mul(&heat)?
                    .neg()?
                    .exp()?
                    .affine(1.0, 1.0)?
                    .recip()?;
                plain(gate.div(&heat)?.affine(4.0, 0.0)?)
            }
            Self::TrustRegion {
                divergence,
                side,
                low,
                high,
                cap,
                through,
            } => {
                let result = trust_region(inputs, divergence, side, [low, high], cap, through)?;
                Ok(Some(result))
            }
            Self::Vespo { positive, negative } => {
                let weight = sequence_gamma(inputs, positive, negative)?;
                plain(weight.mul(logp)?)
            }
            Self::Reinforce { temperature } => plain(logp.affine(1.0 / (1.0 + temperature), 0.0)?),
            Self::Gmpo { low, high } => geometric(inputs, low, high).map(Some),
            Self::Pacs { .. } => Ok(None),
        }
    }
}
