//! Level of the importance ratio between two policies: token or sequence.

use candle_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

use crate::batch::Tokens;
use crate::tensor::{MAX_NATS, broadcast_column, row_sums};

/// Level of the importance ratio of the policy model to the anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// p / p_anchor of each token (PPO, arXiv 1707.06347, section 3).
    Token,
    /// The geometric mean over the tokens of the completion, (p(y) / p_anchor(y))^(1 / length), the
    /// same for all its tokens (GSPO, arXiv 2507.18071, equation 7).
    Sequence,
    /// The value of [`Sequence`](Self::Sequence) with the gradient of each token's own
    /// log-probability (GSPO-token, arXiv 2507.18071, equation 14). It differs from `sequence` only
    /// if advantages differ within a row.
    SequenceToken,
}

impl Level {
    /// Log-ratio of every token, clamped to ±20 nats, with its graph; `[rows, tokens]`.
    pub(crate) fn log_ratio(
        self,
        logp: &Tensor,
        anchor: &Tensor,
        tokens: &Tokens<'_>,
    ) -> Result<Tensor> {
        let delta = logp.sub(anchor)?;
        let mean = || broadcast_column(&row_sums(&delta)?.div(&tokens.lengths)?, logp);
        match self {
            Self::Token => delta,
            Self::Sequence => mean()?,
            Self::SequenceToken => mean()?.detach().add(&logp.sub(&logp.detach())?)?,
        }
        .clamp(-MAX_NATS, MAX_NATS)
    }
}
