//! AdamW over named parameters: what is checked before a step, and what a step tells.

use std::collections::BTreeMap;

use candle_core::{DType, Tensor, Var};

use super::norm::norm;
use super::update::{Factors, update};
use super::{AdamWSettings, OptimiserError, decays};

/// AdamW (Loshchilov and Hutter 2019) with the numbers of `torch.optim.AdamW` after
/// `torch.nn.utils.clip_grad_norm_`.
///
/// Moments are `f32` whatever the parameters are, and a parameter of 16 bits is the rounded copy of
/// an `f32` master weight: an update too small for 16 bits is not lost. What a step does to weights
/// depends on no thread.
#[derive(Debug)]
pub struct AdamW {
    pub(super) settings: AdamWSettings,
    pub(super) parameters: BTreeMap<String, Parameter>,
    pub(super) steps: u64,
    pub(super) refused: u64,
}

/// One parameter and what is known of its gradients.
#[derive(Debug)]
pub(super) struct Parameter {
    variable: Var,
    /// The `f32` weights that are stepped, if the variable's are not such.
    pub(super) master: Option<Var>,
    /// Means of gradients and of their squares, each with a memory of its own.
    pub(super) moments: [Tensor; 2],
    decays: bool,
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFacts {
    /// Euclidean norm of all gradients together, before clipping.
    pub grad_norm: f64,
    /// Whether gradients were shortened.
    pub clipped: bool,
    /// False if the step was refused because of its gradients: nothing changed.
    pub applied: bool,
}

impl AdamW {
    /// An optimiser of these parameters, by name, that has taken no step. Keeps the variables and
    /// writes to them in place: tensors that share their storage follow.
    ///
    /// # Errors
    ///
    /// Settings are out of range, or a parameter is none of `f32`, `bf16` and `f16`, not
    /// contiguous, or on another device than the others.
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
            return Err(OptimiserError::new("there is no parameter to train"));
        };
        let mut all = BTreeMap::new();
        for (name, variable) in parameters {
            if !variable.device().same_device(&device) || !variable.is_contiguous() {
                let message = format!(
                    "parameter `{name}` is not contiguous, or on another device than the others"
                );
                return Err(OptimiserError::new(message));
            }
            all.insert(name.clone(), Parameter::new(name, variable)?);
        }
        Ok(Self {
            settings,
            parameters: all,
            steps: 0,
            refused: 0,
        })
    }

    /// How many steps changed the weights.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How many steps were refused because of their gradients.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes one step against these gradients, one for every parameter. The learning rate is from
    /// 0, which leaves weights as they are, to 1.
    ///
    /// Where the norm of the gradients is not finite, or too large for its square to be an `f32`,
    /// the step is refused: nothing changes but the count, and [`StepFacts::applied`] is false.
    ///
    /// # Errors
    ///
    /// The learning rate is out of range, or gradients are not those of the parameters: one is
    /// missing, unknown, or of another shape or device. Nothing has changed then. If the device
    /// fails in the middle of a step, some parameters have taken it and some not.
    pub fn step(
        &mut self,
        gradients: &BTreeMap<String, Tensor>,
        learning_rate: f64,
    ) -> Result<StepFacts, OptimiserError> {
        if !(0.0..=1.0).contains(&learning_rate) {
            return Err(OptimiserError::new(format!(
                "learning rate is {learning_rate}, and must be from 0 to 1"
            )));
        }
        let gradients = self.matched(gradients)?;
        let grad_norm = norm(&gradients)?;
        let fits = grad_norm * grad_norm <= f64::from(f32::MAX);
        if !fits {
            self.refused += 1;
            return Ok(StepFacts {
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
        // The small number is PyTorch's, so that steps agree with it.
        let clip = if max_grad_norm > 0.0 {
            (max_grad_norm / (grad_norm + 1e-6)).min(1.0)
        } else {
            1.0
        };
        self.steps += 1;
        let [bias1, bias2] = betas.map(|beta| 1.0 - beta.powf(self.steps as f64));
        for (parameter, gradient) in self.parameters.values_mut().zip(&gradients) {
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
            )?;
        }
        Ok(StepFacts {
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
                "there is a gradient of `{unknown}`, which is no parameter"
            )));
        }
        let one = |(name, parameter): (&String, &Parameter)| {
            let Some(gradient) = gradients.get(name) else {
                let message = format!(
                    "parameter `{name}` has no gradient: the loss does not depend on it, or not \
                     visibly"
                );
                return Err(OptimiserError::new(message));
            };
            let variable = &parameter.variable;
            if gradient.dims() != variable.dims()
                || !gradient.device().same_device(variable.device())
            {
                let (is, must) = (gradient.dims(), variable.dims());
                let message = format!(
                    "gradient of `{name}` has shape {is:?}, and must have {must:?} and be on the \
                     same device"
                );
                return Err(OptimiserError::new(message));
            }
            Ok(gradient.detach().to_dtype(DType::F32)?.contiguous()?)
        };
        self.parameters.iter().map(one).collect()
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
                    "parameter `{name}` is {}, and must be f32, bf16 or f16",
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

    fn step(&mut self, gradient: &Tensor, factors: Factors) -> Result<(), OptimiserError> {
        update(
            self.master.as_ref().unwrap_or(&self.variable),
            gradient,
            &mut self.moments,
            factors,
        )?;
        self.round()
    }

    /// Makes a variable of 16 bits the rounded copy of its master weights.
    pub(super) fn round(&self) -> Result<(), OptimiserError> {
        let Some(master) = &self.master else {
            return Ok(());
        };
        Ok(self.variable.set(
            &master
                .as_detached_tensor()
                .to_dtype(self.variable.dtype())?,
        )?)
    }
}

#[cfg(test)]
mod tests;
