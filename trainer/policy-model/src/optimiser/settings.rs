//! Settings of AdamW, and the parameters to which weight decay applies.

use serde::{Deserialize, Serialize};

use super::OptimiserError;

/// Settings of [`AdamW`](super::AdamW), with the symbols of Loshchilov and Hutter (2019, arXiv
/// 1711.05101, algorithm 2). The learning rate comes from the [`Schedule`](super::Schedule).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdamWSettings {
    /// β₁ and β₂, the decay rates of the first and second moment, each at least 0 and below 1.
    /// Default: 0.9 and 0.999.
    pub betas: [f64; 2],
    /// ε, added to the root of the second moment, above 0. Default: 1e-8.
    pub eps: f64,
    /// λ, at least 0: a step multiplies weights that [`decays`] selects by 1 - learning rate * λ.
    /// Default: 0.01.
    pub weight_decay: f64,
    /// Maximum Euclidean norm of all gradients together, to which larger ones are scaled. 0
    /// disables clipping. Default: 1.
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
    /// Validates the ranges.
    ///
    /// # Errors
    ///
    /// The first setting that is out of range.
    pub fn check(&self) -> Result<(), OptimiserError> {
        let not_negative = |value: f64| value.is_finite() && value >= 0.0;
        if self.betas.iter().any(|beta| !(0.0..1.0).contains(beta)) {
            return Err(OptimiserError::new(format!(
                "`betas` are {:?}; they must be at least 0 and below 1",
                self.betas
            )));
        }
        // The arithmetic is done in `f32`.
        if !self.eps.is_finite() || self.eps < f64::from(f32::MIN_POSITIVE) {
            return Err(OptimiserError::new(format!(
                "`eps` is {}; it must be at least 1.2e-38",
                self.eps
            )));
        }
        for (name, value) in [
            ("weight_decay", self.weight_decay),
            ("max_grad_norm", self.max_grad_norm),
        ] {
            if !not_negative(value) {
                return Err(OptimiserError::new(format!(
                    "`{name}` is {value}; it must be at least 0"
                )));
            }
        }
        Ok(())
    }
}

/// Whether weight decay applies to a parameter: to matrices, except embeddings, which have `embed`
/// in their names. It does not apply to vectors, that is, norm scales and biases.
#[must_use]
pub fn decays(name: &str, rank: usize) -> bool {
    rank >= 2 && !name.contains("embed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_decay_only_to_matrices_other_than_embeddings() {
        assert!(decays("model.layers.0.self_attn.q_proj.weight", 2) && decays("lm_head.weight", 2));
        assert!(decays("model.layers.0.mlp.up_proj.lora_A.weight", 2));
        assert!(!decays("model.embed_tokens.weight", 2));
        assert!(
            !decays("model.layers.0.self_attn.q_norm.weight", 1)
                && !decays("model.layers.0.self_attn.q_proj.bias", 1)
        );
    }

    #[test]
    fn fills_in_defaults_and_rejects_unknown_fields() {
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
    fn reports_settings_out_of_range() {
        let default = AdamWSettings::default();
        default.check().unwrap();
        for (settings, name) in [
            (
                AdamWSettings {
                    betas: [0.9, 1.0],
                    ..default.clone()
                },
                "betas",
            ),
            (
                AdamWSettings {
                    betas: [f64::NAN, 0.9],
                    ..default.clone()
                },
                "betas",
            ),
            (
                AdamWSettings {
                    eps: 0.0,
                    ..default.clone()
                },
                "eps",
            ),
            (
                AdamWSettings {
                    weight_decay: -0.1,
                    ..default.clone()
                },
                "weight_decay",
            ),
            (
                AdamWSettings {
                    max_grad_norm: f64::INFINITY,
                    ..default
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
