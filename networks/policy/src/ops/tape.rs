//! What was computed of numbers that learn, in order, so that gradients find their way back through
//! it.
//!
//! The library keeps such a record too. It adds every gradient to zeros first, and its sums run on
//! threads of its own that wait in a loop for more; for rows as short as ours that costs as much as
//! the products. On a CPU the record is therefore kept here.

use std::collections::{HashMap, HashSet};

use candle_core::{Result, Tensor, TensorId};

use super::numbers::{Held, Number, by_type};
use super::passes::add_to;

/// An operation on matrices, each given and told row by row.
pub(crate) trait Pass<T> {
    /// The result and the width of its rows.
    fn forward(&self, inputs: &[&[T]]) -> Result<(Vec<T>, usize)>;

    /// Gives each input its share of the gradient by the result `out`.
    fn backward(
        &self,
        inputs: &[&[T]],
        out: &[T],
        gradient: Vec<T>,
        back: &mut Back<'_, T>,
    ) -> Result<()>;
}

/// An operation for all types there are passes for.
pub(crate) trait Operation: Pass<f32> + Pass<f64> + Send + Sync {}

impl<O: Pass<f32> + Pass<f64> + Send + Sync> Operation for O {}

/// The operations of a forward pass that something that learns went into.
#[derive(Default)]
pub(crate) struct Tape {
    steps: Vec<Step>,
    /// What was computed of something that learns.
    learned: HashSet<TensorId>,
}

struct Step {
    operation: Box<dyn Operation>,
    inputs: Vec<Tensor>,
    out: Tensor,
}

impl Tape {
    /// Runs an operation on tensors of a CPU, and remembers it where one of them learns.
    pub(crate) fn run(
        &mut self,
        operation: impl Operation + 'static,
        inputs: &[&Tensor],
    ) -> Result<Tensor> {
        let [first, ..] = inputs else {
            candle_core::bail!("an operation has an input")
        };
        let held: Vec<Held<'_>> = inputs.iter().map(|input| Held::new(input)).collect();
        let out = by_type!(first.dtype(), T => {
            let slices = held.iter().map(Held::slice::<T>).collect::<Result<Vec<_>>>()?;
            let (numbers, width) = Pass::<T>::forward(&operation, &slices)?;
            Tensor::from_vec(numbers, ((), width), first.device())?
        });
        if inputs.iter().any(|input| self.learns(input)) {
            self.learned.insert(out.id());
            let inputs = inputs.iter().copied().cloned().collect();
            self.steps.push(Step {
                operation: Box::new(operation),
                inputs,
                out: out.clone(),
            });
        }
        Ok(out)
    }

    fn learns(&self, tensor: &Tensor) -> bool {
        tensor.is_variable() || self.learned.contains(&tensor.id())
    }

    /// Whether nothing that learns went into anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Sends the gradient of a loss by what was computed last back to all that learns, and tells
    /// what arrived. Steps are forgotten on the way, and with them what only they held.
    pub(crate) fn backward(self, gradient: &Tensor) -> Result<Vec<(Tensor, Tensor)>> {
        by_type!(gradient.dtype(), T => self.backward_in::<T>(gradient))
    }

    fn backward_in<T: Number>(mut self, gradient: &Tensor) -> Result<Vec<(Tensor, Tensor)>>
    where
        dyn Operation: Pass<T>,
    {
        let mut sums = HashMap::new();
        let mut variables: Vec<Tensor> = Vec::new();
        if let Some(last) = self.steps.last() {
            sums.insert(
                last.out.id(),
                Held::new(&gradient.contiguous()?).slice::<T>()?.to_vec(),
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
            let learns = inputs.iter().map(|input| self.learns(input)).collect();
            let (held, result): (Vec<Held<'_>>, _) =
                (inputs.iter().map(Held::new).collect(), Held::new(&out));
            let slices = held
                .iter()
                .map(Held::slice::<T>)
                .collect::<Result<Vec<_>>>()?;
            let mut back = Back {
                inputs: &inputs,
                learns,
                sums: &mut sums,
            };
            operation.backward(&slices, result.slice()?, gradient, &mut back)?;
            for input in inputs.iter().filter(|input| input.is_variable()) {
                if !variables.iter().any(|known| known.id() == input.id()) {
                    variables.push(input.clone());
                }
            }
        }
        let arrived = variables.into_iter().filter_map(|variable| {
            let sum = sums.remove(&variable.id())?;
            let gradient = Tensor::from_vec(sum, variable.shape(), variable.device());
            Some(gradient.map(|gradient| (variable, gradient)))
        });
        arrived.collect()
    }
}

/// Where the gradients of the inputs of one operation go.
pub(crate) struct Back<'a, T> {
    inputs: &'a [Tensor],
    learns: Vec<bool>,
    sums: &'a mut HashMap<TensorId, Vec<T>>,
}

impl<T: Number> Back<'_, T> {
    /// Whether anybody wants the gradient of an input.
    pub(crate) fn wants(&self, input: usize) -> bool {
        self.learns[input]
    }

    /// Adds a gradient to those of an input.
    pub(crate) fn give(&mut self, input: usize, gradient: Vec<T>) {
        if !self.wants(input) {
            return;
        }
        match self.sums.get_mut(&self.inputs[input].id()) {
            Some(sum) => add_to(sum, &gradient, T::ONE),
            None => {
                self.sums.insert(self.inputs[input].id(), gradient);
            }
        }
    }

    /// The sum of the gradients of an input so far, zeros at first, for what is added in place.
    pub(crate) fn sum(&mut self, input: usize) -> &mut [T] {
        let tensor = &self.inputs[input];
        self.sums
            .entry(tensor.id())
            .or_insert_with(|| vec![T::ZERO; tensor.elem_count()])
    }
}
