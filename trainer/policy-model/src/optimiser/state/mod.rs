//! Saving and restoring the state of an optimiser.
//!
//! The state consists of tensors by name, for a safetensors file: the moments
//! `exp_avg.<parameter>` and `exp_avg_sq.<parameter>` and, for 16-bit parameters, the master
//! weights `master.<parameter>`, all `f32`; and the counts `step` and `refused`, each one `i64`.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::{AdamW, OptimiserError};
use crate::in_place::overwrite;

const STEP: &str = "step";
const SKIPPED_STEPS: &str = "refused";
const MOMENTS: [&str; 2] = ["exp_avg", "exp_avg_sq"];
const MASTER: &str = "master";

impl AdamW {
    /// Everything that the next step depends on except the weights, as a copy on the CPU.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub fn state(&self) -> Result<BTreeMap<String, Tensor>, OptimiserError> {
        let mut state = BTreeMap::new();
        for (name, count) in [(STEP, self.steps), (SKIPPED_STEPS, self.skipped_steps)] {
            state.insert(
                name.to_owned(),
                Tensor::new(i64::try_from(count).unwrap_or(i64::MAX), &Device::Cpu)?,
            );
        }
        for (name, tensor) in self.tensors() {
            let copy = if tensor.device().is_cpu() {
                tensor.copy()
            } else {
                tensor.to_device(&Device::Cpu)
            };
            state.insert(name, copy?);
        }
        Ok(state)
    }

    /// Restores a [`state`](Self::state) of the same parameters. 16-bit parameters become rounded
    /// copies of the restored master weights. Other parameters are not changed, because they are
    /// saved with the model.
    ///
    /// # Errors
    ///
    /// A tensor is missing, unknown, or has an unexpected shape or type, or a count is negative. In
    /// these cases nothing has changed.
    pub fn restore(&mut self, state: &BTreeMap<String, Tensor>) -> Result<(), OptimiserError> {
        let (steps, skipped_steps) = (count(state, STEP)?, count(state, SKIPPED_STEPS)?);
        let expected: BTreeMap<String, Tensor> = self.tensors().collect();
        let known =
            |name: &str| name == STEP || name == SKIPPED_STEPS || expected.contains_key(name);
        if let Some(unknown) = state.keys().find(|name| !known(name)) {
            return Err(OptimiserError::new(format!(
                "the state has `{unknown}`, which belongs to no parameter"
            )));
        }
        for (name, of) in &expected {
            let tensor = tensor(state, name)?;
            if tensor.dims() != of.dims() || tensor.dtype() != DType::F32 {
                let (shape, expected) = (tensor.dims(), of.dims());
                let message = format!(
                    "`{name}` in the state is {} with shape {shape:?}; expected f32 with shape \
                     {expected:?}",
                    tensor.dtype().as_str()
                );
                return Err(OptimiserError::new(message));
            }
        }
        for (name, parameter) in &self.parameters {
            let device = parameter.moments[0].device().clone();
            let read = |kind: &str| -> Result<Tensor, OptimiserError> {
                Ok(tensor(state, &format!("{kind}.{name}"))?
                    .detach()
                    .to_device(&device)?)
            };
            for (kind, moment) in MOMENTS.into_iter().zip(&parameter.moments) {
                overwrite(moment, &read(kind)?)?;
            }
            if let Some(master) = &parameter.master {
                master.set(&read(MASTER)?)?;
            }
            parameter.round()?;
        }
        (self.steps, self.skipped_steps) = (steps, skipped_steps);
        Ok(())
    }

    /// Moments and master weights by their names in the state; they share storage with the
    /// optimiser.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (String, Tensor)> {
        self.parameters.iter().flat_map(|(name, parameter)| {
            let master = parameter
                .master
                .iter()
                .map(|master| (MASTER, master.as_detached_tensor()));
            let moments = MOMENTS.into_iter().zip(parameter.moments.iter().cloned());
            moments
                .chain(master)
                .map(move |(kind, tensor)| (format!("{kind}.{name}"), tensor))
        })
    }
}

fn tensor<'a>(
    state: &'a BTreeMap<String, Tensor>,
    name: &str,
) -> Result<&'a Tensor, OptimiserError> {
    state
        .get(name)
        .ok_or_else(|| OptimiserError::new(format!("the state lacks `{name}`")))
}

fn count(state: &BTreeMap<String, Tensor>, name: &str) -> Result<u64, OptimiserError> {
    let value = tensor(state, name)?
        .to_scalar::<i64>()
        .map_err(|_| OptimiserError::new(format!("`{name}` in the state must be one i64")))?;
    u64::try_from(value).map_err(|_| {
        OptimiserError::new(format!(
            "`{name}` in the state is {value}; it must be at least 0"
        ))
    })
}

#[cfg(test)]
mod tests;
