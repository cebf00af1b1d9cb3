//! Scores of tokens and the graph through which their gradients flow.

use candle_core::backprop::GradStore;
use candle_core::{Tensor, Var};

use crate::PolicyError;
use crate::ops::{Tape, on_thread_pool};

/// Log-probabilities of scored tokens and the entropies of their distributions in nats, each
/// `[tokens]`.
pub struct Scored {
    /// Natural logarithms of the probabilities.
    pub log_probs: Tensor,
    /// Entropies.
    pub entropies: Tensor,
    /// The graph to the trained parameters.
    pub graph: Graph,
}

/// The graph of log-probabilities and entropies.
pub struct Graph {
    tape: Tape,
    /// The output of the tape, the input of losses; `None` if candle has the whole graph.
    output: Option<Var>,
}

impl Graph {
    /// The output of a tape as the input of losses, and the graph that continues it.
    pub(crate) fn new(output: &Tensor, tape: Tape) -> candle_core::Result<(Tensor, Self)> {
        if tape.is_empty() {
            let graph = Self { tape, output: None };
            return Ok((output.clone(), graph));
        }
        let variable = Var::from_tensor(output)?;
        let input = variable.as_tensor().clone();
        let graph = Self {
            tape,
            output: Some(variable),
        };
        Ok((input, graph))
    }

    /// Gradients by all trained parameters of a loss computed from these log-probabilities and
    /// entropies.
    ///
    /// # Errors
    /// The loss is not a scalar, or the device is out of memory.
    pub fn backward(self, loss: &Tensor) -> Result<GradStore, PolicyError> {
        let mut gradients = loss.backward()?;
        let Some(output) = self.output else {
            return Ok(gradients);
        };
        if let Some(gradient) = gradients.remove(&output) {
            for (variable, gradient) in on_thread_pool(|| self.tape.backward(&gradient))? {
                gradients.insert(&variable, gradient);
            }
        }
        Ok(gradients)
    }
}

impl Scored {
    /// Splits the output of the tape, `[tokens, 2]`, into log-probabilities and entropies.
    pub(crate) fn new(output: &Tensor, tape: Tape) -> candle_core::Result<Self> {
        let (output, graph) = Graph::new(output, tape)?;
        let (log_probs, entropies) = (
            output.narrow(1, 0, 1)?.squeeze(1)?,
            output.narrow(1, 1, 1)?.squeeze(1)?,
        );
        Ok(Self {
            log_probs,
            entropies,
            graph,
        })
    }
}
