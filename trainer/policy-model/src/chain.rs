//! The stages of a forward pass and their backward passes.
//!
//! A stage has one input and one output. It keeps what its backward pass requires, or, with
//! recomputation (arXiv 1604.06174), only its input: its backward pass then runs it again. Both
//! ways compute the same numbers. Gradients of parameters are added to their sums at the end of the
//! backward pass of each stage, so that at most one stage's gradients are in memory.

use candle_core::{Result, Tensor, Var};

use crate::gradients::Gradients;
use crate::ops::Tape;

/// Computes the output of a stage from its input.
pub(crate) type Stage = Box<dyn Fn(&Tensor, &mut Tape) -> Result<Tensor> + Send + Sync>;

/// The stages that depend on trained parameters, in order.
pub(crate) struct Chain {
    segments: Vec<Segment>,
    composed: bool,
    recomputes: bool,
}

/// A stage that depends on trained parameters.
enum Segment {
    /// The stage and its input. The gradient by the input is required if `inner`.
    Again {
        stage: Stage,
        input: Tensor,
        inner: bool,
    },
    Kept(Kept),
}

/// What the backward pass of a stage requires.
enum Kept {
    Fused {
        input: Tensor,
        tape: Tape,
    },
    /// The output has the graph of candle from the parameters and, if its gradient is required,
    /// from the input.
    Composed {
        input: Option<Var>,
        out: Tensor,
    },
}

impl Chain {
    /// An empty chain. With `composed`, stages are differentiated by candle.
    pub(crate) fn new(composed: bool, recomputes: bool) -> Self {
        Self {
            segments: Vec::new(),
            composed,
            recomputes,
        }
    }

    /// Whether no stage depends on trained parameters.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Runs a stage. `learns` tells whether it has trained parameters.
    pub(crate) fn run(&mut self, input: &Tensor, learns: bool, stage: Stage) -> Result<Tensor> {
        let inner = !self.segments.is_empty();
        let (out, kept) = run(self.composed, &stage, input, inner)?;
        if !inner && !learns {
            return Ok(out);
        }
        self.segments.push(if self.recomputes {
            Segment::Again {
                stage,
                input: input.clone(),
                inner,
            }
        } else {
            Segment::Kept(kept)
        });
        Ok(out)
    }

    /// Adds the gradients of parameters to their sums, from the gradient by the output of the last
    /// stage.
    pub(crate) fn backward(self, gradient: Tensor, gradients: &mut Gradients) -> Result<()> {
        let mut gradient = gradient;
        for segment in self.segments.into_iter().rev() {
            let kept = match segment {
                Segment::Kept(kept) => kept,
                Segment::Again {
                    stage,
                    input,
                    inner,
                } => run(self.composed, &stage, &input, inner)?.1,
            };
            match kept.backward(&gradient, gradients)? {
                Some(by_input) => gradient = by_input,
                None => break,
            }
        }
        Ok(())
    }
}

/// Runs a stage; `inner` tells whether its input depends on trained parameters. The output is
/// without a graph.
fn run(composed: bool, stage: &Stage, input: &Tensor, inner: bool) -> Result<(Tensor, Kept)> {
    if composed {
        let variable = inner.then(|| Var::from_tensor(input)).transpose()?;
        let from = variable.as_ref().map_or(input, Var::as_tensor);
        let out = stage(from, &mut Tape::composed())?;
        let kept = Kept::Composed {
            input: variable,
            out: out.clone(),
        };
        return Ok((out.detach(), kept));
    }
    let mut tape = Tape::default();
    if inner {
        tape.track(input);
    }
    let out = stage(input, &mut tape)?;
    let input = input.clone();
    Ok((out, Kept::Fused { input, tape }))
}

impl Kept {
    /// Adds the gradients of parameters to their sums, and returns the gradient by the input if it
    /// is required.
    fn backward(self, gradient: &Tensor, gradients: &mut Gradients) -> Result<Option<Tensor>> {
        match self {
            Self::Fused { input, tape } => tape.backward(gradient, gradients, &input),
            Self::Composed { input, out } => {
                let weighted = (&out * gradient)?.sum_all()?;
                drop(out);
                let mut store = weighted.backward()?;
                drop(weighted);
                gradients.absorb(&mut store)?;
                Ok(input.and_then(|input| store.remove(&input)))
            }
        }
    }
}
