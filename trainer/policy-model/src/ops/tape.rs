//! The tape: a record of the operations on trained parameters, in order, for reverse-mode
//! differentiation.
//!
//! Candle keeps such a record too, but it adds every gradient to zeros first, and its sums run on
//! separate threads that spin while they wait. For short rows that costs as much as the products.
//! On a CPU, this tape is used instead.

use std::collections::{HashMap, HashSet};

use candle_core::{Result, Tensor, TensorId};

use super::fused::{Number, ReadGuard, by_type, is_fused};
use super::parallel::add_to;
use crate::gradients::Gradients;

/// A fused operation on matrices, given as row-major slices.
pub(crate) trait FusedOp<T> {
    /// Returns the result and the width of its rows.
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)>;

    /// Adds the gradient by each input, from the gradient by the result.
    fn backward(&self, gradient: Vec<T>, backward: &mut Backward<'_, T>) -> Result<()>;
}

/// A fused operation for all supported number types.
pub(crate) trait Operation: FusedOp<f32> + FusedOp<f64> + Send + Sync {}

impl<O: FusedOp<f32> + FusedOp<f64> + Send + Sync> Operation for O {}

/// The operations of a forward pass that depend on trained parameters.
#[derive(Default)]
pub(crate) struct Tape {
    steps: Vec<Step>,
    /// Results that depend on trained parameters.
    tracked: HashSet<TensorId>,
    /// Whether all operations are composed of those of candle, on a CPU too.
    composed: bool,
}

struct Step {
    operation: Box<dyn Operation>,
    inputs: Vec<Tensor>,
    out: TensorId,
}

impl Tape {
    /// A tape on which every operation is composed of those of candle.
    pub(crate) fn composed() -> Self {
        Self {
            composed: true,
            ..Self::default()
        }
    }

    /// Whether operations on this tensor are fused.
    pub(crate) fn fuses(&self, x: &Tensor) -> bool {
        !self.composed && is_fused(x.device(), x.dtype())
    }

    /// Marks an input as dependent on trained parameters, so that its gradient is computed.
    pub(crate) fn track(&mut self, input: &Tensor) {
        self.tracked.insert(input.id());
    }

    /// Runs an operation on CPU tensors, and records it if an input depends on trained parameters.
    pub(crate) fn run(
        &mut self,
        operation: impl Operation + 'static,
        inputs: &[&Tensor],
    ) -> Result<Tensor> {
        let [first, ..] = inputs else {
            candle_core::bail!("an operation must have an input")
        };
        let guards: Vec<ReadGuard<'_>> = inputs.iter().map(|input| ReadGuard::new(input)).collect();
        let out = by_type!(first.dtype(), T => {
            let slices = guards.iter().map(ReadGuard::slice::<T>).collect::<Result<Vec<_>>>()?;
            let (numbers, width) = FusedOp::<T>::forward(&operation, &slices)?;
            Tensor::from_vec(numbers, ((), width), first.device())?
        });
        if inputs.iter().any(|input| self.requires_gradient(input)) {
            self.tracked.insert(out.id());
            let inputs = inputs.iter().copied().cloned().collect();
            self.steps.push(Step {
                operation: Box::new(operation),
                inputs,
                out: out.id(),
            });
        }
        Ok(out)
    }

    fn requires_gradient(&self, tensor: &Tensor) -> bool {
        tensor.is_variable() || self.tracked.contains(&tensor.id())
    }

    /// Whether no operation was recorded.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Propagates the gradient of a loss by the last result. Adds the gradients of parameters to
    /// their sums, and returns the gradient by `input` if the tape tracks it. Each step is dropped
    /// after use, which frees its tensors.
    pub(crate) fn backward(
        self,
        gradient: &Tensor,
        gradients: &mut Gradients,
        input: &Tensor,
    ) -> Result<Option<Tensor>> {
        by_type!(gradient.dtype(), T => self.backward_in::<T>(gradient, gradients, input))
    }

    fn backward_in<T: Number>(
        mut self,
        gradient: &Tensor,
        gradients: &mut Gradients,
        input: &Tensor,
    ) -> Result<Option<Tensor>>
    where
        dyn Operation: FusedOp<T>,
    {
        let mut sums = HashMap::new();
        if let Some(last) = self.steps.last() {
            sums.insert(
                last.out,
                ReadGuard::new(&gradient.contiguous()?)
                    .slice::<T>()?
                    .to_vec(),
            );
        }
        while let Some(Step {
            operation,
            inputs,
            out,
        }) = self.steps.pop()
        {
            let Some(gradient) = sums.remove(&out) else {
                continue;
            };
            let required = inputs
                .iter()
                .map(|input| gradients.contains(input) || self.tracked.contains(&input.id()))
                .collect();
            let guards: Vec<ReadGuard<'_>> = inputs.iter().map(ReadGuard::new).collect();
            let slices = guards
                .iter()
                .map(ReadGuard::slice::<T>)
                .collect::<Result<Vec<_>>>()?;
            let mut backward = Backward {
                inputs: &slices,
                tensors: &inputs,
                required,
                sums: &mut sums,
                gradients,
            };
            operation.backward(gradient, &mut backward)?;
        }
        let by_input = sums.remove(&input.id());
        by_input
            .map(|sum| Tensor::from_vec(sum, input.shape(), input.device()))
            .transpose()
    }
}

/// The backward pass of one operation, which accumulates the gradients of its inputs.
pub(crate) struct Backward<'a, T> {
    pub(crate) inputs: &'a [&'a [T]],
    tensors: &'a [Tensor],
    required: Vec<bool>,
    /// Gradients of results.
    sums: &'a mut HashMap<TensorId, Vec<T>>,
    /// Gradients of parameters.
    gradients: &'a mut Gradients,
}

impl<T: Number> Backward<'_, T> {
    /// Whether the gradient of an input is required.
    pub(crate) fn is_required(&self, input: usize) -> bool {
        self.required[input]
    }

    /// Adds a gradient to the sum of an input.
    pub(crate) fn add(&mut self, input: usize, gradient: Vec<T>) -> Result<()> {
        if !self.is_required(input) {
            return Ok(());
        }
        let tensor = &self.tensors[input];
        if self.gradients.contains(tensor) || self.sums.contains_key(&tensor.id()) {
            return self.accumulate(input, |sum| add_to(sum, &gradient, T::ONE));
        }
        self.sums.insert(tensor.id(), gradient);
        Ok(())
    }

    /// Calls `work` with the sum of the gradients of an input so far, initially zeros, to be added
    /// to in place.
    pub(crate) fn accumulate(&mut self, input: usize, work: impl FnOnce(&mut [T])) -> Result<()> {
        let tensor = &self.tensors[input];
        if self.gradients.contains(tensor) {
            return self.gradients.accumulate(tensor, work);
        }
        let zeros = || vec![T::ZERO; tensor.elem_count()];
        work(self.sums.entry(tensor.id()).or_insert_with(zeros));
        Ok(())
    }
}
