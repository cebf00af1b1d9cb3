//! What of an optimiser goes to disk, and back.
//!
//! Tensors by name, as a safetensors file holds them: `exp_avg.<parameter>` and
//! `exp_avg_sq.<parameter>`, the moments, and `master.<parameter>`, the weights of a parameter of
//! 16 bits, all `f32`; `step` and `refused`, the counts, each one `i64`.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};

use super::{AdamW, OptimiserError};

const STEP: &str = "step";
const REFUSED: &str = "refused";
const MOMENTS: [&str; 2] = ["exp_avg", "exp_avg_sq"];
const MASTER: &str = "master";

impl AdamW {
    /// All that the next step depends on besides the weights, copied to the CPU: later steps do not
    /// change it.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub fn state(&self) -> Result<BTreeMap<String, Tensor>, OptimiserError> {
        let mut state = BTreeMap::new();
        for (name, count) in [(STEP, self.steps), (REFUSED, self.refused)] {
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

    /// Goes on from a [`state`](Self::state) of the same parameters. Parameters of 16 bits become
    /// the rounded copies of the master weights in it; others keep the weights they have, which are
    /// saved with the model.
    ///
    /// # Errors
    ///
    /// A tensor is missing, unknown, or of another shape or type than expected, or a count is
    /// negative. Nothing has changed then.
    pub fn restore(&mut self, state: &BTreeMap<String, Tensor>) -> Result<(), OptimiserError> {
        let (steps, refused) = (count(state, STEP)?, count(state, REFUSED)?);
        let expected: BTreeMap<String, Tensor> = self.tensors().collect();
        let known = |name: &str| name == STEP || name == REFUSED || expected.contains_key(name);
        if let Some(unknown) = state.keys().find(|name| !known(name)) {
            return Err(OptimiserError::new(format!(
                "state has `{unknown}`, which is of no parameter"
            )));
        }
        for (name, of) in &expected {
            let tensor = tensor(state, name)?;
            if tensor.dims() != of.dims() || tensor.dtype() != DType::F32 {
                let (shape, must) = (tensor.dims(), of.dims());
                let message = format!(
                    "state has `{name}` as {} of shape {shape:?}, and must have it as f32 of \
                     shape {must:?}",
                    tensor.dtype().as_str()
                );
                return Err(OptimiserError::new(message));
            }
        }
        for (name, parameter) in &mut self.parameters {
            let device = parameter.moments[0].device().clone();
            let read = |kind: &str| -> Result<Tensor, OptimiserError> {
                Ok(tensor(state, &format!("{kind}.{name}"))?
                    .detach()
                    .to_device(&device)?)
            };
            // Moments are stepped in place: they must not share storage with the state that was
            // given.
            let [first, second] = MOMENTS;
            parameter.moments = [
                read(first)?.force_contiguous()?,
                read(second)?.force_contiguous()?,
            ];
            if let Some(master) = &parameter.master {
                master.set(&read(MASTER)?)?;
            }
            parameter.round()?;
        }
        (self.steps, self.refused) = (steps, refused);
        Ok(())
    }

    /// Moments and master weights, by their names in the state, sharing storage with the
    /// optimiser's.
    fn tensors(&self) -> impl Iterator<Item = (String, Tensor)> {
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
        .ok_or_else(|| OptimiserError::new(format!("state has no `{name}`")))
}

fn count(state: &BTreeMap<String, Tensor>, name: &str) -> Result<u64, OptimiserError> {
    let value = tensor(state, name)?.to_scalar::<i64>().map_err(|_| {
        OptimiserError::new(format!("state has `{name}` as another thing than one i64"))
    })?;
    u64::try_from(value).map_err(|_| {
        OptimiserError::new(format!(
            "state has `{name}` = {value}, and must have 0 or more"
        ))
    })
}

#[cfg(test)]
mod tests;
