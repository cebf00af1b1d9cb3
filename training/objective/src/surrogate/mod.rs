//! The rule that turns a ratio into the surrogate f of the policy gradient: the loss of a token is
//! -(advantage * f).
//!
//! Below, r is the importance ratio at the objective's level, l the token's log-probability, A its
//! advantage, and sg(x) is x without its gradient.

mod rules;

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::batch::Tokens;
use crate::error::{MOST, ObjectiveError, within};
use crate::pacs::Standing;
use crate::tensor::{both, constant, or_else};
use rules::{clipped, dynamic_bounds, geometric, sequence_gamma, trust_region};

/// Divergence of a token's probability between the policy in training and the anchor, from the two
/// probabilities alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Divergence {
    /// |p - p_anchor|.
    Tv,
    /// Kullback-Leibler divergence of the two-point distributions (p_anchor, 1 - p_anchor) from (p,
    /// 1 - p), in nats.
    Kl,
}

/// On which side a token can leave the trust region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Where the update would push it farther: up for A > 0, down for the others.
    #[default]
    Pushed,
    /// Up or down, whatever the advantage.
    Both,
    /// Down only, whatever the advantage.
    Low,
}

/// Through what the gradient of a token in the trust region passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Through {
    /// f = sg(r) l.
    #[default]
    LogProbability,
    /// f = r, which has the same gradient and another value.
    Ratio,
}

/// The surrogate f. Bounds of `ppo`, `gppo` and `dcpo` are distances from 1; those of `cispo` are
/// ratios.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case", deny_unknown_fields)]
pub enum Surrogate {
    /// r, held at 1 + `high` for A > 0 and at 1 - `low` for A < 0 once beyond, without a gradient
    /// there (PPO, arXiv 1707.06347, equation 7; two bounds as in DAPO, arXiv 2503.14476, equation
    /// 10).
    Ppo {
        /// In \[0, 1\].
        #[serde(default = "fifth")]
        low: f64,
        /// From 0 up.
        #[serde(default = "fifth")]
        high: f64,
        /// Greatest r for A < 0 (dual clip, arXiv 1912.09729; "delta" in two-sided clipping, arXiv
        /// 2505.07291), above 1 + `high`. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dual: Option<f64>,
    },
    /// The value of `ppo`, with the gradient of bound * r / sg(r) beyond the bounds (GPPO, arXiv
    /// 2508.07629). At `dual` there is none.
    Gppo {
        /// In \[0, 1\].
        #[serde(default = "fifth")]
        low: f64,
        /// From 0 up.
        #[serde(default = "fifth")]
        high: f64,
        /// As in `ppo`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dual: Option<f64>,
    },
    /// sg(r held within `low` and `high`) l (CISPO, arXiv 2506.13585, equation 4).
    Cispo {
        /// Least ratio, from 0 up. Default: 0, which is no bound.
        #[serde(default)]
        low: f64,
        /// Greatest ratio.
        high: f64,
    },
    /// `ppo` with bounds for each token that are wider where the anchor gave it a low probability
    /// p: r up to (1 + sqrt(1 + 4 high / p)) / 2 and at most `cap`, down to (1 + sqrt(max(0, 1 - 4
    /// low / p))) / 2 (DCPO, arXiv 2509.02333).
    Dcpo {
        /// From 0 up; 0.16 in the paper.
        low: f64,
        /// From 0 up; 0.2 in the paper.
        high: f64,
        /// Greatest ratio for either sign of A, above 1; 10 in the paper.
        cap: f64,
    },
    /// 4 / t sigmoid(t (r - 1)), with t = `positive` for A > 0 and `negative` for others (SAPO,
    /// arXiv 2511.20347).
    Sapo {
        /// Above 0; 1 in the paper.
        positive: f64,
        /// Above 0; 1.05 in the paper.
        negative: f64,
    },
    /// r or sg(r) l inside a trust region of the token's probability, 0 outside (DPPO, arXiv
    /// 2602.04879).
    TrustRegion {
        /// What is bounded.
        divergence: Divergence,
        /// Default: `pushed`.
        #[serde(default)]
        side: Side,
        /// Bound on the way down, from 0 up.
        low: f64,
        /// Bound on the way up, from 0 up.
        high: f64,
        /// Greatest r in sg(r). Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<f64>,
        /// Default: `log_probability`.
        #[serde(default)]
        through: Through,
    },
    /// sg(w^k e^(lambda (1 - w))) l with the product w of the token ratios of the completion
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
        /// From 0 up. Default: 0.
        #[serde(default)]
        temperature: f64,
    },
    /// e to the mean over the completion of log r of tokens, each held at most `high` for A > 0 and
    /// at least -`low` for A < 0 (GMPO, arXiv 2507.20673). For advantages of rows.
    Gmpo {
        /// In nats, from 0 up.
        low: f64,
        /// In nats, from 0 up.
        high: f64,
    },
    /// No surrogate of tokens: the score is predicted by the sum of log r over the completion
    /// (PACS, arXiv 2509.02522). The loss is the mean over completions of the binary cross-entropy
    /// of sigmoid(standing in the group of beta sum log r).
    Pacs {
        /// Above 0; 1 in the paper.
        beta: f64,
        /// How a completion stands in its group. Default: `leave_one_out`.
        #[serde(default)]
        standing: Standing,
        /// Weighs rows so that right and wrong ones count the same in each group that has both.
        /// Default: no.
        #[serde(default)]
        balanced: bool,
    },
}

fn fifth() -> f64 {
    0.2
}

/// What a rule makes of a piece of a batch.
pub(crate) struct Term {
    /// f, `[rows, tokens]`.
    pub(crate) surrogate: Tensor,
    /// Where a bound below cuts.
    pub(crate) low: Tensor,
    /// Where a bound above cuts.
    pub(crate) high: Tensor,
    /// Where the dual bound or the cap cuts.
    pub(crate) dual: Tensor,
}

/// What every rule sees.
pub(crate) struct View<'a> {
    pub(crate) tokens: &'a Tokens<'a>,
    /// l, with its graph.
    pub(crate) logp: &'a Tensor,
    /// Log-probability by the anchor.
    pub(crate) anchor: &'a Tensor,
    /// r, with its graph.
    pub(crate) ratio: &'a Tensor,
}

impl Surrogate {
    pub(crate) fn check(self) -> Result<(), ObjectiveError> {
        let positive = |name, value| within(name, value, f64::MIN_POSITIVE..=MOST, "above 0");
        let from_zero = |name, value| within(name, value, 0.0..=MOST, "from 0 up");
        match self {
            Self::Ppo { low, high, dual } | Self::Gppo { low, high, dual } => {
                within("surrogate.low", low, 0.0..=1.0, "from 0 to 1")?;
                from_zero("surrogate.high", high)?;
                within(
                    "surrogate.dual",
                    dual.unwrap_or(MOST),
                    1.0 + high..=MOST,
                    "at least 1 + `high`",
                )
            }
            Self::Cispo { low, high } => {
                from_zero("surrogate.low", low)?;
                within("surrogate.high", high, low..=MOST, "from `low` up")
            }
            Self::Dcpo { low, high, cap } => {
                from_zero("surrogate.low", low)?;
                from_zero("surrogate.high", high)?;
                within("surrogate.cap", cap, 1.0..=MOST, "from 1 up")
            }
            Self::Sapo {
                positive: up,
                negative,
            } => {
                positive("surrogate.positive", up)?;
                positive("surrogate.negative", negative)
            }
            Self::TrustRegion { low, high, cap, .. } => {
                from_zero("surrogate.low", low)?;
                from_zero("surrogate.high", high)?;
                positive("surrogate.cap", cap.unwrap_or(MOST))
            }
            Self::Vespo {
                positive: up,
                negative,
            } => {
                up.into_iter()
                    .try_for_each(|value| from_zero("surrogate.positive", value))?;
                negative
                    .into_iter()
                    .try_for_each(|value| from_zero("surrogate.negative", value))
            }
            Self::Reinforce { temperature } => from_zero("surrogate.temperature", temperature),
            Self::Gmpo { low, high } => {
                from_zero("surrogate.low", low)?;
                from_zero("surrogate.high", high)
            }
            Self::Pacs { beta, .. } => positive("surrogate.beta", beta),
        }
    }

    /// The surrogate of every token; `None` for `pacs`, which has none.
    pub(crate) fn term(self, view: &View<'_>) -> candle_core::Result<Option<Term>> {
        let &View {
            tokens,
            logp,
            ratio,
            ..
        } = view;
        let none = || tokens.live.zeros_like();
        let plain = |surrogate| {
            Ok(Some(Term {
                surrogate,
                low: none()?,
                high: none()?,
                dual: none()?,
            }))
        };
        match self {
            Self::Ppo { low, high, dual } => {
                let (low, high) = (constant(ratio, 1.0 - low)?, constant(ratio, 1.0 + high)?);
                clipped(view, &low, &high, dual, false).map(Some)
            }
            Self::Gppo { low, high, dual } => {
                let (low, high) = (constant(ratio, 1.0 - low)?, constant(ratio, 1.0 + high)?);
                clipped(view, &low, &high, dual, true).map(Some)
            }
            Self::Dcpo { low, high, cap } => {
                let (low, high) = dynamic_bounds(view.anchor, low, high, cap)?;
                clipped(view, &low, &high, Some(cap), false).map(Some)
            }
            Self::Cispo { low, high } => {
                let weight = ratio.detach();
                let (up, down) = (tokens.advantages.gt(0.0)?, tokens.advantages.lt(0.0)?);
                Ok(Some(Term {
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
                let term = trust_region(view, divergence, side, [low, high], cap, through)?;
                Ok(Some(term))
            }
            Self::Vespo { positive, negative } => {
                let weight = sequence_gamma(view, positive, negative)?;
                plain(weight.mul(logp)?)
            }
            Self::Reinforce { temperature } => plain(logp.affine(1.0 / (1.0 + temperature), 0.0)?),
            Self::Gmpo { low, high } => geometric(view, low, high).map(Some),
            Self::Pacs { .. } => Ok(None),
        }
    }
}
