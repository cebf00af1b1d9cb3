//! Sums of gradients, in tensors that are allocated once and added to in place.

use std::collections::{BTreeMap, HashMap, HashSet};

use candle_core::backprop::GradStore;
use candle_core::{DType, Result, Tensor, TensorId, Var};

use crate::PolicyError;
use crate::in_place::{replace, write};
use crate::ops::{Number, ReadGuard, add_to};

/// One sum of gradients for each trained parameter, with its shape and device, `f32` (`f64` for
/// parameters in `f64`).
#[derive(Debug)]
pub struct Gradients {
    sums: BTreeMap<String, Tensor>,
    parameters: HashMap<TensorId, Parameter>,
    /// Parameters with a gradient from the current backward pass.
    reached: HashSet<TensorId>,
}

#[derive(Debug)]
struct Parameter {
    name: String,
    variable: Var,
}

impl Gradients {
    /// Sums of 0 for these parameters.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn new(parameters: &BTreeMap<String, Var>) -> std::result::Result<Self, PolicyError> {
        let mut sums = BTreeMap::new();
        let mut by_id = HashMap::new();
        for (name, variable) in parameters {
            let dtype = match variable.dtype() {
                DType::F64 => DType::F64,
                _ => DType::F32,
            };
            let sum = Tensor::zeros(variable.shape(), dtype, variable.device())?;
            sums.insert(name.clone(), sum);
            let parameter = Parameter {
                name: name.clone(),
                variable: variable.clone(),
            };
            by_id.insert(variable.id(), parameter);
        }
        Ok(Self {
            sums,
            parameters: by_id,
            reached: HashSet::new(),
        })
    }

    /// Sets all sums to 0, in place.
    ///
    /// # Errors
    /// The device fails.
    pub fn clear(&mut self) -> std::result::Result<(), PolicyError> {
        for sum in self.sums.values() {
            sum.zero_set()?;
        }
        Ok(())
    }

    /// The sums by the names of the parameters. They share storage with this value.
    #[must_use]
    pub fn tensors(&self) -> &BTreeMap<String, Tensor> {
        &self.sums
    }

    /// Whether a tensor is one of the parameters.
    pub(crate) fn contains(&self, parameter: &Tensor) -> bool {
        self.parameters.contains_key(&parameter.id())
    }

    fn sum(&mut self, id: TensorId) -> Result<&Tensor> {
        self.reached.insert(id);
        let parameter = self.parameters.get(&id);
        match parameter.and_then(|parameter| self.sums.get(&parameter.name)) {
            Some(sum) => Ok(sum),
            None => candle_core::bail!("a gradient of a tensor that is not a parameter"),
        }
    }

    /// Calls `work` with the sum of a parameter on a CPU.
    pub(crate) fn accumulate<T: Number>(
        &mut self,
        parameter: &Tensor,
        work: impl FnOnce(&mut [T]),
    ) -> Result<()> {
        write(self.sum(parameter.id())?, |sum| {
            work(sum);
            Ok(())
        })
    }

    /// Adds a gradient of any type to the sum of a parameter.
    fn add(&mut self, id: TensorId, gradient: &Tensor) -> Result<()> {
        let sum = self.sum(id)?;
        let gradient = gradient.detach().contiguous()?;
        if sum.device().is_cpu() && gradient.dtype() == sum.dtype() {
            let guard = ReadGuard::new(&gradient);
            return match sum.dtype() {
                DType::F64 => add_slice::<f64>(sum, guard.slice()?),
                _ => add_slice::<f32>(sum, guard.slice()?),
            };
        }
        replace(sum, |piece| {
            piece.of(sum)? + piece.of(&gradient)?.to_dtype(sum.dtype())?
        })
    }

    /// Adds rows from row `start` on to the sum of a parameter, a matrix.
    pub(crate) fn add_rows(
        &mut self,
        parameter: &Tensor,
        start: usize,
        gradient: &Tensor,
    ) -> Result<()> {
        let sum = self.sum(parameter.id())?;
        let rows = sum.narrow(0, start, gradient.dim(0)?)?;
        let rows = (rows + gradient.to_dtype(sum.dtype())?)?;
        sum.slice_set(&rows, 0, start)
    }

    /// Adds the gradients of parameters that candle computed, and removes them from its store one
    /// by one.
    pub(crate) fn absorb(&mut self, store: &mut GradStore) -> Result<()> {
        let gradients: Vec<(TensorId, Tensor)> = self
            .parameters
            .iter()
            .filter_map(|(id, parameter)| Some((*id, store.remove(&parameter.variable)?)))
            .collect();
        for (id, gradient) in gradients {
            self.add(id, &gradient)?;
        }
        Ok(())
    }

    /// Ends a backward pass.
    ///
    /// # Errors
    /// A parameter had no gradient: the loss does not depend on it, or the graph is cut.
    pub(crate) fn end_pass(&mut self) -> std::result::Result<(), PolicyError> {
        let reached = std::mem::take(&mut self.reached);
        let missing = self.parameters.iter().find(|(id, _)| !reached.contains(id));
        match missing {
            Some((_, Parameter { name, .. })) => Err(PolicyError::new(format!(
                "`{name}` has no gradient; the loss does not depend on it, or the graph is cut"
            ))),
            None => Ok(()),
        }
    }
}

fn add_slice<T: Number>(sum: &Tensor, gradient: &[T]) -> Result<()> {
    write::<T>(sum, |sum| {
        add_to(sum, gradient, T::ONE);
        Ok(())
    })
}
