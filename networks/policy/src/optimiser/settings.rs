//! What of AdamW can be set, and which parameters decay.

use serde::{Deserialize, Serialize};

use super::OptimiserError;

/// Settings of [`AdamW`](super::AdamW), with the letters of Loshchilov and Hutter (2019, algorithm
/// 2). The learning rate is the [`Schedule`](super::Schedule)'s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdamWSettings {
    /// β₁ and β₂, the memory of the first and the second moment, each from 0 to below 1. Default:
    /// 0.9 and 0.999.
    pub betas: [f64; 2],
    /// ε, added to the root of the second moment, above 0. Default: 1e-8.
    pub eps: f64,
    /// λ, 0 or more: a step takes this share, times the learning rate, from every weight that
    /// [`decays`]. Default: 0.01.
    pub weight_decay: f64,
    /// Largest Euclidean norm of all gradients together; longer ones are shortened to it. 0 leaves
    /// them as they are. Default: 1.
    pub max_grad_norm: f64,
}

impl Default for AdamWSettings {
    fn default() -> Self {
        Self {
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: 0.01,
            max_grad_norm: 1.0,
        }
    }
}

impl AdamWSettings {
    /// Checks the ranges.
    ///
    /// # Errors
    ///
    /// Names the first setting that is out of range.
    pub fn check(&self) -> Result<(), OptimiserError> {
        let not_negative = |value: f64| value.is_finite() && value >= 0.0;
        if self.betas.iter().any(|beta| !(0.0..1.0).contains(beta)) {
            return Err(OptimiserError::new(format!(
                "`betas` are {:?}, and must be from 0 to below 1",
                self.betas
            )));
        }
        // The arithmetic is done in `f32`.
        if !self.eps.is_finite() || self.eps < f64::from(f32::MIN_POSITIVE) {
            return Err(OptimiserError::new(format!(
                "`eps` is {}, and must be 1.2e-38 or more",
                self.eps
            )));
        }
        for (name, value) in [
            ("weight_decay", self.weight_decay),
            ("max_grad_norm", self.max_grad_norm),
        ] {
            if !not_negative(value) {
                return Err(OptimiserError::new(format!(
                    "`{name}` is {value}, and must be 0 or more"
                )));
            }
        }
        Ok(())
    }
}

/// Whether weight decay applies to a parameter: to matrices, but not to those that embed tokens,
/// which have a part of the name with `embed` in it. Scales of norms and biases are vectors and
/// keep their size.
#[must_use]
pub fn decays(name: &str, rank: usize) -> bool {
    rank >= 2 && !name.contains("embed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_matrices_that_do_not_embed_decay() {
        assert!(decays("model.layers.0.self_attn.q_proj.weight", 2) && decays("lm_head.weight", 2));
        assert!(decays("model.layers.0.mlp.up_proj.lora_A.weight", 2));
        assert!(!decays("model.embed_tokens.weight", 2));
        assert!(
            !decays("model.layers.0.self_attn.q_norm.weight", 1)
                && !decays("model.layers.0.self_attn.q_proj.bias", 1)
        );
    }

    #[test]
    fn what_is_not_said_has_its_default_and_what_is_unknown_is_refused() {
        let read = |text: &str| serde_json::from_str::<AdamWSettings>(text);
        let wide = AdamWSettings {
            betas: [0.9, 0.95],
            ..AdamWSettings::default()
        };
        assert_eq!(read(r#"{"betas": [0.9, 0.95]}"#).unwrap(), wide);
        assert_eq!(read(&serde_json::to_string(&wide).unwrap()).unwrap(), wide);
        assert!(
            read(r#"{"beta1": 0.9}"#)
                .unwrap_err()
                .to_string()
                .contains("beta1")
        );
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let at = AdamWSettings::default();
        at.check().unwrap();
        for (settings, name) in [
            (
                AdamWSettings {
                    betas: [0.9, 1.0],
                    ..at.clone()
                },
                "betas",
            ),
            (
                AdamWSettings {
                    betas: [f64::NAN, 0.9],
                    ..at.clone()
                },
                "betas",
            ),
            (
                AdamWSettings {
                    eps: 0.0,
                    ..at.clone()
                },
                "eps",
            ),
            (
                AdamWSettings {
                    weight_decay: -0.1,
                    ..at.clone()
                },
                "weight_decay",
            ),
            (
                AdamWSettings {
                    max_grad_norm: f64::INFINITY,
                    ..at
                },
                "max_grad_norm",
            ),
        ] {
            assert!(
                settings.check().unwrap_err().to_string().contains(name),
                "{name}"
            );
        }
    }
}
