//! The longer rules. [`Surrogate`](super::Surrogate) has their formulas and sources.

use candle_core::{Result, Tensor};

use super::rule::{Divergence, RuleInputs, RuleResult, Side, Through};
use crate::tensor::{MAX_NATS, both, bounded_exp, broadcast_column, constant, either, row_sums};

/// The rule of PPO with bounds per token (arXiv 1707.06347, equation 7); `keep_gradient` keeps the
/// gradient beyond the bounds (GPPO, arXiv 2508.07629).
pub(super) fn clipped(
    inputs: &RuleInputs<'_>,
    low: &Tensor,
    high: &Tensor,
    dual: Option<f64>,
    keep_gradient: bool,
) -> Result<RuleResult> {
    let &RuleInputs { tokens, ratio, .. } = inputs;
    let value = ratio.detach();
    let (up, down) = (tokens.advantages.gt(0.0)?, tokens.advantages.lt(0.0)?);
    let above = both(&value.gt(high)?, &up)?;
    let below = both(&value.lt(low)?, &down)?;
    let bound = high.minimum(&low.maximum(&value)?)?;
    let bound = if keep_gradient {
        bound.mul(&ratio.div(&value)?)?
    } else {
        bound
    };
    let mut surrogate = either(&above, &below)?.where_cond(&bound, ratio)?;
    let mut cut = tokens.live.zeros_like()?;
    if let Some(dual) = dual {
        cut = both(&value.gt(dual)?, &down)?;
        surrogate = cut.where_cond(&constant(ratio, dual)?, &surrogate)?;
    }
    Ok(RuleResult {
        surrogate,
        low: below,
        high: above,
        dual: cut,
    })
}

/// Lower and upper bound of the ratio of each token, from the anchor's log-probabilities (DCPO,
/// arXiv 2509.02333).
pub(super) fn dynamic_bounds(
    anchor: &Tensor,
    low: f64,
    high: f64,
    cap: f64,
) -> Result<(Tensor, Tensor)> {
    // 1 / p is limited to e^20, so that the root stays in range.
    let inverse_p = bounded_exp(&anchor.neg()?)?;
    let root = |inside: Tensor| inside.maximum(0.0)?.sqrt()?.affine(0.5, 0.5);
    let least = root(inverse_p.affine(-4.0 * low, 1.0)?)?;
    let most = root(inverse_p.affine(4.0 * high, 1.0)?)?.minimum(cap)?;
    Ok((least, most))
}

/// The trust region of DPPO (arXiv 2602.04879).
pub(super) fn trust_region(
    inputs: &RuleInputs<'_>,
    divergence: Divergence,
    side: Side,
    [low, high]: [f64; 2],
    cap: Option<f64>,
    through: Through,
) -> Result<RuleResult> {
    let &RuleInputs {
        tokens,
        logp,
        anchor,
        ratio,
    } = inputs;
    let (p, p_anchor) = (logp.detach().exp()?, anchor.exp()?);
    let moved = p.sub(&p_anchor)?;
    let distance = match divergence {
        Divergence::Tv => moved.abs()?,
        Divergence::Kl => {
            let rest = |p: &Tensor| p.affine(-1.0, 1.0 + 1e-8);
            let others = rest(&p_anchor)?.div(&rest(&p)?)?.log()?;
            p_anchor
                .mul(&anchor.sub(&logp.detach())?)?
                .add(&p_anchor.affine(-1.0, 1.0)?.mul(&others)?)?
        }
    };
    let above = both(&moved.gt(0.0)?, &distance.gt(high)?)?;
    let below = both(&moved.lt(0.0)?, &distance.gt(low)?)?;
    let up = tokens.advantages.gt(0.0)?;
    let (above, below) = match side {
        Side::Pushed => (both(&above, &up)?, both(&below, &up.eq(0u8)?)?),
        Side::Both => (above, below),
        Side::Low => (above.zeros_like()?, below),
    };
    let value = ratio.detach();
    let (capped, dual) = match cap {
        Some(cap) => (value.minimum(cap)?, value.gt(cap)?),
        None => (value, tokens.live.zeros_like()?),
    };
    let inside = match through {
        Through::LogProbability => capped.mul(logp)?,
        Through::Ratio => capped.mul(&ratio.div(&ratio.detach())?)?,
    };
    let surrogate = either(&above, &below)?.where_cond(&inside.zeros_like()?, &inside)?;
    Ok(RuleResult {
        surrogate,
        low: below,
        high: above,
        dual,
    })
}

/// The weight of VESPO (arXiv 2602.10693): the density of a gamma distribution at the product of
/// ratios, divided by its density at 1.
pub(super) fn sequence_gamma(
    inputs: &RuleInputs<'_>,
    positive: [f64; 2],
    negative: [f64; 2],
) -> Result<Tensor> {
    let &RuleInputs {
        tokens,
        logp,
        anchor,
        ..
    } = inputs;
    // Products below 1e-8 are raised to 1e-8.
    let least = 1e-8f64.ln();
    let delta = logp.detach().sub(anchor)?.clamp(-MAX_NATS, MAX_NATS)?;
    let log_w = broadcast_column(&row_sums(&delta)?.clamp(least, MAX_NATS)?, logp)?;
    let gamma = |[k, lambda]: [f64; 2]| {
        log_w
            .affine(k, lambda)?
            .sub(&log_w.exp()?.affine(lambda, 0.0)?)?
            .exp()
    };
    tokens
        .advantages
        .ge(0.0)?
        .where_cond(&gamma(positive)?, &gamma(negative)?)
}

/// The clipped geometric mean of token ratios (GMPO, arXiv 2507.20673).
pub(super) fn geometric(inputs: &RuleInputs<'_>, low: f64, high: f64) -> Result<RuleResult> {
    let &RuleInputs {
        tokens,
        logp,
        anchor,
        ..
    } = inputs;
    let delta = logp.sub(anchor)?;
    let value = delta.detach();
    let above = both(&value.gt(high)?, &tokens.advantages.gt(0.0)?)?;
    let below = both(&value.lt(-low)?, &tokens.advantages.lt(0.0)?)?;
    let limited = above.where_cond(
        &constant(&delta, high)?,
        &below.where_cond(&constant(&delta, -low)?, &delta)?,
    )?;
    let mean = row_sums(&limited)?.div(&tokens.lengths)?;
    let surrogate = broadcast_column(&bounded_exp(&mean)?, logp)?;
    Ok(RuleResult {
        surrogate,
        low: below,
        high: above,
        dual: tokens.live.zeros_like()?,
    })
}
