//! What a policy says of tokens, and the way back from there to what it learned it with.

use candle_core::backprop::GradStore;
use candle_core::{Tensor, Var};

use crate::PolicyError;
use crate::ops::{Tape, on_workers};

/// Log-probabilities of scored tokens and the entropies of the distributions they come from, in
/// nats, each `[tokens]`.
pub struct Scored {
    /// Natural logarithms of probabilities.
    pub log_probs: Tensor,
    /// Entropies.
    pub entropies: Tensor,
    /// The way back from them to what learns.
    pub graph: Graph,
}

/// How log-probabilities and entropies came about.
pub struct Graph {
    tape: Tape,
    /// Both as the tape has them, where a loss starts from; `None` where the library has the whole
    /// graph.
    found: Option<Var>,
}

impl Graph {
    /// Gradients of a loss that was made of these log-probabilities and entropies, by everything
    /// that learns.
    ///
    /// # Errors
    /// The loss is no single number; the device has no room.
    pub fn backward(self, loss: &Tensor) -> Result<GradStore, PolicyError> {
        let mut gradients = loss.backward()?;
        let Some(found) = self.found else {
            return Ok(gradients);
        };
        if let Some(gradient) = gradients.remove(&found) {
            for (variable, gradient) in on_workers(|| self.tape.backward(&gradient))? {
                gradients.insert(&variable, gradient);
            }
        }
        Ok(gradients)
    }
}

impl Scored {
    /// Of log-probabilities and entropies, `[tokens, 2]`, as the tape has them.
    pub(crate) fn new(found: &Tensor, tape: Tape) -> candle_core::Result<Self> {
        let start = if tape.is_empty() {
            None
        } else {
            Some(Var::from_tensor(found)?)
        };
        let found = start.as_ref().map_or(found, |start| start.as_tensor());
        let (log_probs, entropies) = (
            found.narrow(1, 0, 1)?.squeeze(1)?,
            found.narrow(1, 1, 1)?.squeeze(1)?,
        );
        Ok(Self {
            log_probs,
            entropies,
            graph: Graph { tape, found: start },
        })
    }
}
