//! The tape: a record of the operations on trained parameters, in order, for reverse-mode
//! differentiation.
//!
//! Candle keeps such a record too, but it adds every gradient to zeros first, and its sums run on
//! separate threads that spin while they wait. For short rows that costs as much as the products.
//! On a CPU, this tape is used instead.

use std::collections::{HashMap, HashSet};

use candle_core::{Result, Tensor, TensorId};

use super::fused::{Number, ReadGuard, by_type};
use super::parallel::add_to;

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
}

struct Step {
    operation: Box<dyn Operation>,
    inputs: Vec<Tensor>,
    out: Tensor,
}

impl Tape {
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
                out: out.clone(),
            });
        }
        Ok(out)
    }

    fn requires_gradient(&self, tensor: &Tensor) -> bool {
        tensor.is_variable() || self.tracked.contains(&tensor.id())
    }

    /// Whether no operation was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Propagates the gradient of a loss by the last result to all trained parameters, and returns
    /// their gradients. Each step is dropped after use, which frees its tensors.
    pub(crate) fn backward(self, gradient: &Tensor) -> Result<Vec<(Tensor, Tensor)>> {
        by_type!(gradient.dtype(), T => self.backward_in::<T>(gradient))
    }

    fn backward_in<T: Number>(mut self, gradient: &Tensor) -> Result<Vec<(Tensor, Tensor)>>
    where
        dyn Operation: FusedOp<T>,
    {
        let mut sums = HashMap::new();
        let mut variables: Vec<Tensor> = Vec::new();
        if let Some(last) = self.steps.last() {
            sums.insert(
                last.out.id(),
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
            let Some(gradient) = sums.remove(&out.id()) else {
                continue;
            };
            let required = inputs
                .iter()
                .map(|input| self.requires_gradient(input))
                .collect();
            let guards: Vec<ReadGuard<'_>> = inputs.iter().map(ReadGuard::new).collect();
            let result = ReadGuard::new(&out);
            let slices = guards
                .iter()
                .map(ReadGuard::slice::<T>)
                .collect::<Result<Vec<_>>>()?;
            let mut backward = Backward {
                inputs: &slices,
                out: result.slice()?,
                tensors: &inputs,
                required,
                sums: &mut sums,
            };
            operation.backward(gradient, &mut backward)?;
            for input in inputs.iter().filter(|input| input.is_variable()) {
                if !variables.iter().any(|known| known.id() == input.id()) {
                    variables.push(input.clone());
                }
            }
        }
        let gradients = variables.into_iter().filter_map(|variable| {
            let sum = sums.remove(&variable.id())?;
            let gradient = Tensor::from_vec(sum, variable.shape(), variable.device());
            Some(gradient.map(|gradient| (variable, gradient)))
        });
        gradients.collect()
    }
}

/// The backward pass of one operation, which accumulates the gradients of its inputs.
pub(crate) struct Backward<'a, T> {
    pub(crate) inputs: &'a [&'a [T]],
    /// The result of the forward pass.
    pub(crate) out: &'a [T],
    tensors: &'a [Tensor],
    required: Vec<bool>,
    sums: &'a mut HashMap<TensorId, Vec<T>>,
}

impl<T: Number> Backward<'_, T> {
    /// Whether the gradient of an input is required.
    pub(crate) fn is_required(&self, input: usize) -> bool {
        self.required[input]
    }

    /// Adds a gradient to the sum of an input.
    pub(crate) fn add(&mut self, input: usize, gradient: Vec<T>) {
        if !self.is_required(input) {
            return;
        }
        match self.sums.get_mut(&self.tensors[input].id()) {
            Some(sum) => add_to(sum, &gradient, T::ONE),
            None => {
                self.sums.insert(self.tensors[input].id(), gradient);
            }
        }
    }

    /// The sum of the gradients of an input so far, initially zeros, to be added to in place.
    pub(crate) fn accumulator(&mut self, input: usize) -> &mut [T] {
        let tensor = &self.tensors[input];
        self.sums
            .entry(tensor.id())
            .or_insert_with(|| vec![T::ZERO; tensor.elem_count()])
    }
}
