//! Rotary position embeddings: the angle by which each pair of dimensions is rotated per token.

use serde_json::Value;

use super::fields::Fields;
use crate::LoadError;

/// Rotary position embedding of one layer type.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Base of the frequencies, above 0.
    pub theta: f64,
    /// How frequencies are scaled for long sequences.
    pub scaling: Scaling,
}

/// How frequencies are scaled for long sequences.
#[derive(Debug, Clone, PartialEq)]
pub enum Scaling {
    /// Not scaled.
    None,
    /// All frequencies are divided by this factor.
    Linear(f64),
    /// Low frequencies are divided, high ones are unchanged, and those between are interpolated
    /// (Llama 3.1).
    Llama3 {
        /// Divisor of low frequencies.
        factor: f64,
        /// A frequency is low if it completes fewer than this number of rotations in `original`
        /// tokens.
        low: f64,
        /// A frequency is high if it completes more than this number of rotations in `original`
        /// tokens.
        high: f64,
        /// Maximum sequence length before scaling, in tokens.
        original: f64,
    },
}

impl Rope {
    /// Reads either layout of the configuration: `rope_parameters`, or `rope_theta` with
    /// `rope_scaling`.
    ///
    /// # Errors
    /// [`LoadError`] names the field that is invalid or the scaling that is not supported.
    pub fn read(fields: Fields<'_>, default_theta: f64) -> Result<Self, LoadError> {
        let parameters = fields.object("rope_parameters");
        let scaling = parameters.or_else(|| fields.object("rope_scaling"));
        let top_level = fields.number_or("rope_theta", default_theta)?;
        let theta = parameters.map_or(Ok(top_level), |parameters| {
            Fields(parameters).number_or("rope_theta", top_level)
        })?;
        Ok(Self {
            theta: positive(theta, "rope_theta")?,
            scaling: scaling.map_or(Ok(Scaling::None), Scaling::read)?,
        })
    }

    /// Reads `rope_parameters` of one layer type.
    ///
    /// # Errors
    /// As [`Rope::read`].
    pub fn of_layers(parameters: &Value, default_theta: f64) -> Result<Self, LoadError> {
        let theta = Fields(parameters).number_or("rope_theta", default_theta)?;
        Ok(Self {
            theta: positive(theta, "rope_theta")?,
            scaling: Scaling::read(parameters)?,
        })
    }

    /// Angle per token, in radians, of each pair of the `head_dim` dimensions: `theta^(-2 i /
    /// head_dim)` for pair `i` (RoFormer, arXiv:2104.09864, section 3.2.2), scaled.
    #[must_use]
    pub fn frequencies(&self, head_dim: usize) -> Vec<f32> {
        // Other implementations compute it in f32.
        let unscaled = (0..head_dim / 2).map(|at| {
            let exponent = (2 * at) as f32 / head_dim as f32;
            1.0 / (self.theta as f32).powf(exponent)
        });
        match self.scaling {
            Scaling::None => unscaled.collect(),
            Scaling::Linear(factor) => unscaled
                .map(|frequency| frequency / factor as f32)
                .collect(),
            Scaling::Llama3 {
                factor,
                low,
                high,
                original,
            } => unscaled
                .map(|frequency| {
                    let wavelength = std::f32::consts::TAU / frequency;
                    if f64::from(wavelength) > original / low {
                        return frequency / factor as f32;
                    }
                    if f64::from(wavelength) < original / high {
                        return frequency;
                    }
                    let smooth = (original as f32 / wavelength - low as f32) / (high - low) as f32;
                    (1.0 - smooth) * frequency / factor as f32 + smooth * frequency
                })
                .collect(),
        }
    }
}

impl Scaling {
    fn read(value: &Value) -> Result<Self, LoadError> {
        let fields = Fields(value);
        let kind = fields
            .text("rope_type")
            .or_else(|| fields.text("type"))
            .unwrap_or("default");
        let number = |name: &str| {
            let value = value.get(name).and_then(Value::as_f64);
            positive(
                value.ok_or_else(|| {
                    LoadError::new(format!("rotary scaling `{kind}` has no `{name}`"))
                })?,
                name,
            )
        };
        if fields.number_or("partial_rotary_factor", 1.0)? != 1.0 {
            return Err(LoadError::new(
                "`partial_rotary_factor` other than 1 is not supported",
            ));
        }
        match kind {
            "default" => Ok(Self::None),
            "linear" => Ok(Self::Linear(number("factor")?)),
            "llama3" => Ok(Self::Llama3 {
                factor: number("factor")?,
                low: number("low_freq_factor")?,
                high: number("high_freq_factor")?,
                original: number("original_max_position_embeddings")?,
            }),
            other => Err(LoadError::new(format!(
                "rotary scaling `{other}` is not supported; `default`, `linear` and `llama3` are"
            ))),
        }
    }
}

fn positive(number: f64, name: &str) -> Result<f64, LoadError> {
    if number.is_finite() && number > 0.0 {
        return Ok(number);
    }
    Err(LoadError::new(format!(
        "`{name}` must be above 0: {number}"
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(config: &Value) -> Rope {
        Rope::read(Fields(config), 10_000.0).unwrap()
    }

    #[test]
    fn reads_the_base_in_either_layout() {
        assert_eq!(
            read(&json!({})),
            Rope {
                theta: 10_000.0,
                scaling: Scaling::None
            }
        );
        let linear = Rope {
            theta: 5e5,
            scaling: Scaling::Linear(4.0),
        };
        assert_eq!(
            read(&json!({"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 4}})),
            linear
        );
        assert_eq!(
            read(
                &json!({"rope_parameters": {"rope_theta": 5e5, "rope_type": "linear", "factor": 4}})
            ),
            linear
        );
        assert!(Rope::read(Fields(&json!({"rope_theta": 0})), 1.0).is_err());
    }

    #[test]
    fn llama3_scaling_divides_low_frequencies_only() {
        let unscaled = read(&json!({"rope_theta": 100})).frequencies(4);
        assert_eq!(unscaled, [1.0, 0.1]);
        let linear =
            read(&json!({"rope_theta": 100, "rope_scaling": {"type": "linear", "factor": 2}}));
        assert_eq!(linear.frequencies(4), [0.5, 0.05]);
        // In 32 tokens the first pair completes 5.1 rotations, the second 0.5.
        let llama3 = read(&json!({"rope_theta": 100, "rope_scaling": {
            "rope_type": "llama3", "factor": 2, "low_freq_factor": 1, "high_freq_factor": 4,
            "original_max_position_embeddings": 32,
        }}));
        assert_eq!(llama3.frequencies(4), [1.0, 0.05]);
    }
}
