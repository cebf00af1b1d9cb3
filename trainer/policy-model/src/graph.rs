//! Scores of tokens and the graph through which their gradients flow.

use candle_core::{Tensor, Var};

use crate::PolicyError;
use crate::chain::Chain;
use crate::gradients::Gradients;
use crate::ops::{ScoredRows, on_thread_pool};

/// Which entropies are computed with log-probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entropies {
    /// Entropies without a graph.
    Measured,
    /// Entropies with a graph, for losses that depend on them.
    Differentiated,
}

/// Log-probabilities of scored tokens and entropies, as in [`Scored`], without a graph.
pub struct Scores {
    /// Natural logarithms of the probabilities.
    pub log_probs: Tensor,
    /// Entropies.
    pub entropies: Tensor,
}

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

/// The graph from trained parameters to the inputs of a loss.
pub struct Graph {
    chain: Chain,
    end: End,
}

/// Where the graph of the loss begins.
enum End {
    /// At hidden states.
    States(Var),
    /// At log-probabilities and entropies.
    Scores {
        scored: ScoredRows,
        head: Tensor,
        log_probs: Var,
        entropies: Option<Var>,
    },
}

impl Graph {
    /// Hidden states as the input of a loss, and their graph.
    pub(crate) fn of_states(states: &Tensor, chain: Chain) -> candle_core::Result<(Tensor, Self)> {
        let variable = Var::from_tensor(states)?;
        let input = if chain.is_empty() {
            states.clone()
        } else {
            variable.as_tensor().clone()
        };
        let end = End::States(variable);
        Ok((input, Self { chain, end }))
    }

    /// Adds the gradients of all trained parameters of a loss to their sums.
    ///
    /// # Errors
    /// The loss is not a scalar or does not depend on a parameter, or the device is out of memory.
    pub fn backward(self, loss: &Tensor, gradients: &mut Gradients) -> Result<(), PolicyError> {
        let mut store = loss.backward()?;
        gradients.absorb(&mut store)?;
        let Self { chain, end } = self;
        on_thread_pool(|| {
            let gradient = match end {
                End::States(states) => store.remove(&states),
                End::Scores {
                    scored,
                    head,
                    log_probs,
                    entropies,
                } => {
                    let by = [
                        store.remove(&log_probs),
                        entropies.and_then(|entropies| store.remove(&entropies)),
                    ];
                    match by.each_ref().map(Option::as_ref) {
                        [None, None] => None,
                        by => Some(scored.backward(by, gradients, &head)?),
                    }
                }
            };
            drop(store);
            match gradient {
                Some(gradient) => chain.backward(gradient, gradients),
                None => Ok(()),
            }
        })?;
        gradients.end_pass()
    }
}

impl Scored {
    /// Scores as the inputs of a loss, and their graph. `head` is the head as a parameter.
    pub(crate) fn new(
        scored: ScoredRows,
        head: &Tensor,
        which: Entropies,
        chain: Chain,
    ) -> candle_core::Result<Self> {
        let log_probs = Var::from_tensor(&scored.log_probs)?;
        let entropies = match which {
            Entropies::Measured => None,
            Entropies::Differentiated => Some(Var::from_tensor(&scored.entropies)?),
        };
        Ok(Self {
            log_probs: log_probs.as_tensor().clone(),
            entropies: match &entropies {
                Some(entropies) => entropies.as_tensor().clone(),
                None => scored.entropies.clone(),
            },
            graph: Graph {
                chain,
                end: End::Scores {
                    scored,
                    head: head.clone(),
                    log_probs,
                    entropies,
                },
            },
        })
    }
}
