//! AdamW over named parameters: validation of gradients, clipping, and steps.

use std::collections::BTreeMap;

use candle_core::{DType, Tensor, Var};

use super::norm::norm;
use super::update::{Factors, update};
use super::{AdamWSettings, OptimiserError, decays};
use crate::in_place::replace;

/// AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101), with the same results as
/// `torch.optim.AdamW` after `torch.nn.utils.clip_grad_norm_`.
///
/// Moments are always `f32`. A 16-bit parameter is a rounded copy of an `f32` master weight, so
/// that updates too small for 16 bits are not lost. Results do not depend on the number of threads.
#[derive(Debug)]
pub struct AdamW {
    pub(super) settings: AdamWSettings,
    pub(super) parameters: BTreeMap<String, Parameter>,
    pub(super) steps: u64,
    pub(super) skipped_steps: u64,
    composed: bool,
}

/// A parameter with its optimiser state.
#[derive(Debug)]
pub(super) struct Parameter {
    variable: Var,
    /// The `f32` master weights, if the variable is not `f32`.
    pub(super) master: Option<Var>,
    /// Exponential moving averages of the gradients and of their squares, written in place.
    pub(super) moments: [Tensor; 2],
    decays: bool,
}

/// Summary of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSummary {
    /// Euclidean norm of all gradients together, before clipping.
    pub grad_norm: f64,
    /// Whether gradients were clipped.
    pub clipped: bool,
    /// False if the step was skipped because of its gradients and nothing changed.
    pub applied: bool,
}

impl AdamW {
    /// An optimiser for parameters by name. Steps write to the variables in place, so tensors that
    /// share their storage change as well.
    ///
    /// # Errors
    ///
    /// A setting is out of range, or a parameter is not `f32`, `bf16` or `f16`, not contiguous, or
    /// not on the same device as the others.
    pub fn new(
        settings: AdamWSettings,
        parameters: &BTreeMap<String, Var>,
    ) -> Result<Self, OptimiserError> {
        settings.check()?;
        let Some(device) = parameters
            .values()
            .next()
            .map(|parameter| parameter.device().clone())
        else {
            return Err(OptimiserError::new("no parameters to train"));
        };
        let mut all = BTreeMap::new();
        for (name, variable) in parameters {
            if !variable.device().same_device(&device) || !variable.is_contiguous() {
                let message = format!(
                    "parameter `{name}` must be contiguous and on the same device as the others"
                );
                return Err(OptimiserError::new(message));
            }
            all.insert(name.clone(), Parameter::new(name, variable)?);
        }
        Ok(Self {
            settings,
            parameters: all,
            steps: 0,
            skipped_steps: 0,
            composed: false,
        })
    }

    /// The same optimiser with updates composed of operations of candle on a CPU too, as on other
    /// devices; for tests.
    #[must_use]
    pub fn composed(self) -> Self {
        Self {
            composed: true,
            ..self
        }
    }

    /// Forgets the moments and the number of applied steps, as in a new optimiser. Master weights
    /// are kept.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub fn reset(&mut self) -> Result<(), OptimiserError> {
        for moment in self.parameters.values().flat_map(|own| &own.moments) {
            moment.zero_set()?;
        }
        self.steps = 0;
        Ok(())
    }

    /// Number of applied steps.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Number of steps skipped because of their gradients.
    #[must_use]
    pub fn skipped_steps(&self) -> u64 {
        self.skipped_steps
    }

    /// Takes one step with one gradient per parameter. The learning rate is between 0, which leaves
    /// the weights unchanged, and 1.
    ///
    /// If the norm of the gradients is not finite, or its square overflows `f32`, the step is
    /// skipped: only the count of skipped steps changes, and [`StepSummary::applied`] is false.
    ///
    /// # Errors
    ///
    /// The learning rate is out of range, or a gradient is missing, unknown, or has the wrong shape
    /// or device. In these cases nothing has changed. If the device fails during a step, only some
    /// parameters may have been updated.
    pub fn step(
        &mut self,
        gradients: &BTreeMap<String, Tensor>,
        learning_rate: f64,
    ) -> Result<StepSummary, OptimiserError> {
        if !(0.0..=1.0).contains(&learning_rate) {
            return Err(OptimiserError::new(format!(
                "learning rate is {learning_rate}; it must be between 0 and 1"
            )));
        }
        let gradients = self.matched(gradients)?;
        let grad_norm = norm(&gradients)?;
        let fits = grad_norm * grad_norm <= f64::from(f32::MAX);
        if !fits {
            self.skipped_steps += 1;
            return Ok(StepSummary {
                grad_norm,
                clipped: false,
                applied: false,
            });
        }

        let AdamWSettings {
            betas,
            eps,
            weight_decay,
            max_grad_norm,
        } = self.settings;
        // 1e-6 as in `torch.nn.utils.clip_grad_norm_`.
        let clip = if max_grad_norm > 0.0 {
            (max_grad_norm / (grad_norm + 1e-6)).min(1.0)
        } else {
            1.0
        };
        self.steps += 1;
        let [bias1, bias2] = betas.map(|beta| 1.0 - beta.powf(self.steps as f64));
        for (parameter, gradient) in self.parameters.values().zip(&gradients) {
            let decay = if parameter.decays { weight_decay } else { 0.0 };
            let keep = 1.0 - learning_rate * decay;
            parameter.step(
                gradient,
                Factors {
                    clip,
                    keep,
                    betas,
                    size: learning_rate / bias1,
                    root: bias2.sqrt(),
                    eps,
                },
                self.composed,
            )?;
        }
        // Memory that was freed on a GPU is reused only after a synchronisation.
        if let Some(parameter) = self.parameters.values().next() {
            parameter.variable.device().synchronize()?;
        }
        Ok(StepSummary {
            grad_norm,
            clipped: clip < 1.0,
            applied: true,
        })
    }

    /// The gradients in the order of the parameters, as contiguous `f32`.
    fn matched(&self, gradients: &BTreeMap<String, Tensor>) -> Result<Vec<Tensor>, OptimiserError> {
        if let Some(unknown) = gradients
            .keys()
            .find(|name| !self.parameters.contains_key(*name))
        {
            return Err(OptimiserError::new(format!(
                "gradient of `{unknown}`, which is not a parameter"
            )));
        }
        let matched = |(name, parameter): (&String, &Parameter)| {
            let Some(gradient) = gradients.get(name) else {
                let message = format!(
                    "parameter `{name}` has no gradient; the loss does not depend on it, or the \
                     graph is cut"
                );
                return Err(OptimiserError::new(message));
            };
            let variable = &parameter.variable;
            if gradient.dims() != variable.dims()
                || !gradient.device().same_device(variable.device())
            {
                let (shape, expected) = (gradient.dims(), variable.dims());
                let message = format!(
                    "gradient of `{name}` has shape {shape:?}; it must have shape {expected:?} and \
                     be on the device of the parameter"
                );
                return Err(OptimiserError::new(message));
            }
            Ok(gradient.detach().to_dtype(DType::F32)?.contiguous()?)
        };
        self.parameters.iter().map(matched).collect()
    }
}

impl Parameter {
    fn new(name: &str, variable: &Var) -> Result<Self, OptimiserError> {
        let master = match variable.dtype() {
            DType::F32 => None,
            DType::BF16 | DType::F16 => Some(Var::from_tensor(
                &variable.as_detached_tensor().to_dtype(DType::F32)?,
            )?),
            other => {
                let message = format!(
                    "parameter `{name}` is {}; it must be f32, bf16 or f16",
                    other.as_str()
                );
                return Err(OptimiserError::new(message));
            }
        };
        let zeros = || Tensor::zeros(variable.shape(), DType::F32, variable.device());
        let moments = [zeros()?, zeros()?];
        Ok(Self {
            variable: variable.clone(),
            master,
            moments,
            decays: decays(name, variable.rank()),
        })
    }

    fn step(
        &self,
        gradient: &Tensor,
        factors: Factors,
        composed: bool,
    ) -> Result<(), OptimiserError> {
        update(
            self.master.as_ref().unwrap_or(&self.variable),
            gradient,
            &self.moments,
            factors,
            composed,
        )?;
        self.round()
    }

    /// Updates a 16-bit variable from its master weights.
    pub(super) fn round(&self) -> Result<(), OptimiserError> {
        let Some(master) = &self.master else {
            return Ok(());
        };
        let dtype = self.variable.dtype();
        Ok(replace(&self.variable, |piece| {
            piece.of(master)?.to_dtype(dtype)
        })?)
    }
}

#[cfg(test)]
mod tests;
